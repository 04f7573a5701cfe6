#include "cli/redteam/case_folder.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/text.h"
#include "base/toml.h"
#include "judge/codes.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxExpect = 64u << 10;
constexpr std::array<std::string_view, 10> kKeys = {"id",      "title", "task",      "kernel",
                                                    "devices", "needs", "arguments", "caught_by",
                                                    "status",  "fooled"};

class Reader {
 public:
  Reader(std::string text, std::string file) : text_(std::move(text)), file_(std::move(file)) {}

  Result<CaseFolder> read();

 private:
  tl::unexpected<Error> wrong(const TomlValue& at, const std::string& why) const {
    return fail(ErrorCode::parse, caret(text_, file_, at.line, at.column, why));
  }
  Result<std::string> text_of(const TomlValue& doc, std::string_view key) const;
  Result<std::vector<std::string>> list(const TomlValue& doc, std::string_view key) const;
  Result<std::vector<std::string>> words(const TomlValue& value) const;
  Result<std::vector<std::string>> statuses(const TomlValue& value) const;
  Status read_status(const TomlValue& doc, CaseFolder& c) const;
  Status read_fooled(const TomlValue& doc, CaseFolder& c) const;

  std::string text_, file_;
};

Result<std::string> Reader::text_of(const TomlValue& doc, std::string_view key) const {
  const TomlValue* v = doc.find(key);
  if (v == nullptr) return wrong(doc, fmt::format("'{}' is missing", key));
  if (!v->is_string() || v->string.empty()) return wrong(*v, "a text is expected");
  return v->string;
}

Result<std::vector<std::string>> Reader::words(const TomlValue& value) const {
  std::vector<std::string> found;
  if (!value.is_array()) return wrong(value, "a list of texts is expected");
  for (const TomlValue& item : value.items) {
    if (!item.is_string()) return wrong(item, "a text is expected");
    found.push_back(item.string);
  }
  return found;
}

Result<std::vector<std::string>> Reader::list(const TomlValue& doc, std::string_view key) const {
  const TomlValue* v = doc.find(key);
  return v == nullptr ? std::vector<std::string>() : words(*v);
}

Result<std::vector<std::string>> Reader::statuses(const TomlValue& value) const {
  FIEL_TRY(const auto names,
           value.is_string() ? std::vector<std::string>{value.string} : words(value));
  for (const std::string& n : names)
    if (!judge::parse_status(n)) return wrong(value, fmt::format("'{}' is no status", n));
  return names;
}

Status Reader::read_status(const TomlValue& doc, CaseFolder& c) const {
  const TomlValue* v = doc.find("status");
  if (v == nullptr) return wrong(doc, "'status' is missing");
  if (!v->is_table()) {
    FIEL_TRY(c.status[""], statuses(*v));
    return {};
  }
  for (const auto& [device, value] : v->members) {
    FIEL_TRY(c.status[device], statuses(value));
  }
  return {};
}

Status Reader::read_fooled(const TomlValue& doc, CaseFolder& c) const {
  const TomlValue* v = doc.find("fooled");
  if (v == nullptr) return {};
  if (!v->is_table()) return wrong(*v, "a table of protocols is expected");
  for (const auto& [name, value] : v->members) {
    const auto protocol = judge::parse_protocol(name);
    if (!protocol || *protocol == judge::Protocol::strict)
      return wrong(value, fmt::format("'{}' is no other protocol", name));
    const bool yes = value.is_boolean() ? value.boolean : value.string == "yes";
    if (!value.is_boolean() && value.string != "yes" && value.string != "no")
      return wrong(value, "\"yes\" or \"no\" is expected");
    c.fooled[*protocol] = yes;
  }
  return {};
}

Result<CaseFolder> Reader::read() {
  FIEL_TRY(const TomlValue doc, parse_toml(text_, file_));
  for (const auto& [key, value] : doc.members)
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      return wrong(value, fmt::format("'{}' is no key of a case", key));
  CaseFolder c;
  FIEL_TRY(c.id, text_of(doc, "id"));
  FIEL_TRY(c.title, text_of(doc, "title"));
  FIEL_TRY(c.task, text_of(doc, "task"));
  FIEL_TRY(c.kernel, text_of(doc, "kernel"));
  FIEL_TRY(c.devices, list(doc, "devices"));
  FIEL_TRY(c.needs, list(doc, "needs"));
  FIEL_TRY(c.arguments, list(doc, "arguments"));
  FIEL_TRY(c.caught_by, list(doc, "caught_by"));
  FIEL_TRY_STATUS(read_status(doc, c));
  FIEL_TRY_STATUS(read_fooled(doc, c));
  return c;
}

bool matches(const std::string& only, const std::string& name) {
  if (only.empty()) return true;
  const std::string last = fs::path(name).filename().string();
  return ::fnmatch(only.c_str(), name.c_str(), 0) == 0 ||
         ::fnmatch(only.c_str(), last.c_str(), 0) == 0;
}

}  // namespace

std::string kind_of_device(const std::string& device) { return device.substr(0, device.find(':')); }

const std::vector<std::string>& CaseFolder::allowed(const std::string& device) const {
  static const std::vector<std::string> none;
  const auto own = status.find(kind_of_device(device));
  if (own != status.end()) return own->second;
  const auto all = status.find("");
  return all != status.end() ? all->second : none;
}

bool CaseFolder::harmless(const std::string& device) const {
  const auto& list = allowed(device);
  return !honest && std::find(list.begin(), list.end(), "correct") != list.end();
}

Result<CaseFolder> read_case(const fs::path& root, const fs::path& folder) {
  const fs::path file = root / folder / "expect.toml";
  FIEL_TRY(std::string text, read_file(file, kMaxExpect));
  FIEL_TRY(CaseFolder c, Reader(std::move(text), (folder / "expect.toml").string()).read());
  c.name = folder.string();
  c.honest = c.name.starts_with("honest/");
  c.task = (folder / c.task).lexically_normal().string();
  c.kernel = (folder / c.kernel).lexically_normal().string();
  return c;
}

Result<std::vector<CaseFolder>> read_cases(const fs::path& root, const std::string& only) {
  std::vector<CaseFolder> cases;
  for (const char* kind : {"exploits", "honest"}) {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator it(root / kind, error), end; !error && it != end;
         it.increment(error))
      if (fs::exists(it->path() / "expect.toml"))
        names.push_back((fs::path(kind) / it->path().filename()).string());
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (!matches(only, name)) continue;
      FIEL_TRY(CaseFolder c, read_case(root, name));
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

Status scaffold_case(const fs::path& folder) {
  std::error_code error;
  const std::string name = folder.filename().string();
  const bool honest = folder.parent_path().filename() == "honest";
  if (!honest && folder.parent_path().filename() != "exploits")
    return fail(ErrorCode::usage, "a case lies in exploits/ or in honest/",
                "fiel redteam --add exploits/M02_pointer_memo");
  if (fs::exists(folder / "expect.toml", error))
    return fail(ErrorCode::usage, fmt::format("there is a case '{}'", printable(name, 100)));
  fs::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, "cannot make " + folder.string() + ": " + error.message());
  const std::string id = name.substr(0, name.find('_'));
  const std::string status = honest ? "status = [\"correct\"]\n"
                                    : "\n[status]\nvirtual = [\"incorrect\"]\ncuda = "
                                      "[\"incorrect\"]\n\n[fooled]\nnaive = \"yes\"\n";
  FIEL_TRY_STATUS(
      write_file_atomic(folder / "expect.toml",
                        fmt::format("id = \"{}\"\ntitle = \"what it does, in one line\"\n"
                                    "task = \"../../tasks/softmax.toml\"\nkernel = \"kernel.cu\"\n"
                                    "devices = [\"virtual\", \"cuda\"]\nneeds = []\n{}",
                                    printable(id, 20), status)));
  return write_file_atomic(folder / "kernel.cu",
                           "// What it does, and whose incident it re-creates.\n"
                           "#include <fiel/kernel.h>\n\n"
                           "FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, "
                           "fiel_tensor* outputs,\n                         int n_outputs, "
                           "cudaStream_t stream) {\n  return FIEL_UNSUPPORTED;\n}\n");
}

}  // namespace fiel::cli
