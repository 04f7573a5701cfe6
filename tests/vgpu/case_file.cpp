#include "case_file.h"

#include <algorithm>

#include "base/files.h"
#include "base/toml.h"

namespace fiel::vgpu::test {
namespace {

std::string text_of(const TomlValue& table, const char* key, std::string fallback = {}) {
  const TomlValue* value = table.find(key);
  return value == nullptr ? fallback : value->string;
}
double number_of(const TomlValue& table, const char* key, double fallback) {
  const TomlValue* value = table.find(key);
  return value == nullptr ? fallback : value->number;
}
bool flag_of(const TomlValue& table, const char* key, bool fallback = false) {
  const TomlValue* value = table.find(key);
  return value == nullptr ? fallback : value->boolean;
}
std::vector<double> numbers_of(const TomlValue& table, const char* key) {
  std::vector<double> out;
  if (const TomlValue* value = table.find(key))
    for (const TomlValue& item : value->items) out.push_back(item.number);
  return out;
}
std::vector<std::string> texts_of(const TomlValue& table, const char* key) {
  std::vector<std::string> out;
  if (const TomlValue* value = table.find(key))
    for (const TomlValue& item : value->items) out.push_back(item.string);
  return out;
}
Dim3 extent_of(const TomlValue& table, const char* key) {
  Dim3 out;
  const std::vector<double> n = numbers_of(table, key);
  uint32_t* to[3] = {&out.x, &out.y, &out.z};
  for (size_t i = 0; i < n.size() && i < 3; ++i) *to[i] = static_cast<uint32_t>(n[i]);
  return out;
}

CaseBuffer read_buffer(const std::string& name, const TomlValue& table) {
  CaseBuffer buffer;
  buffer.name = name;
  buffer.type = text_of(table, "type", "i32");
  buffer.count = static_cast<uint64_t>(number_of(table, "count", 0));
  buffer.fill = text_of(table, "fill", "none");
  buffer.start = number_of(table, "start", 0);
  buffer.step = number_of(table, "step", 1);
  buffer.values = numbers_of(table, "values");
  if (!buffer.values.empty()) buffer.fill = "values";
  if (buffer.count == 0) buffer.count = buffer.values.size();
  buffer.fill_count = static_cast<uint64_t>(number_of(table, "fill_count", -1.0) < 0
                                                ? static_cast<double>(buffer.count)
                                                : number_of(table, "fill_count", 0));
  buffer.output = flag_of(table, "output");
  buffer.freed = flag_of(table, "freed");
  buffer.differs = text_of(table, "differs");
  return buffer;
}

CaseLaunch read_launch(const TomlValue& table) {
  CaseLaunch launch;
  launch.kernel = text_of(table, "kernel");
  launch.grid = extent_of(table, "grid");
  launch.block = extent_of(table, "block");
  launch.shared = static_cast<uint32_t>(number_of(table, "shared", 0));
  launch.cooperative = flag_of(table, "cooperative");
  launch.args = texts_of(table, "args");
  launch.budget = static_cast<uint64_t>(number_of(table, "budget", 2e11));
  return launch;
}

CaseExpect::Finding read_finding(const TomlValue& table) {
  CaseExpect::Finding finding;
  finding.code = text_of(table, "code");
  finding.grade = text_of(table, "grade");
  finding.detail = text_of(table, "detail");
  finding.block = text_of(table, "block");
  finding.thread = text_of(table, "thread");
  finding.source = text_of(table, "source");
  finding.frames = texts_of(table, "frames");
  finding.of = text_of(table, "of");
  finding.address_offset = static_cast<int64_t>(number_of(table, "address_offset", 0));
  finding.bytes = static_cast<int64_t>(number_of(table, "bytes", -1));
  finding.count = static_cast<int64_t>(number_of(table, "count", -1));
  finding.line = static_cast<int64_t>(number_of(table, "line", -1));
  return finding;
}

void read_expect(const TomlValue& table, CaseExpect& expect) {
  expect.status = text_of(table, "status", "completed");
  expect.refusal = text_of(table, "refusal");
  expect.message = text_of(table, "message");
  expect.unsupported = text_of(table, "unsupported");
  expect.printed_given = table.find("printed") != nullptr;
  expect.printed = text_of(table, "printed");
  expect.printed_bytes = static_cast<int64_t>(number_of(table, "printed_bytes", -1));
  expect.printed_end = text_of(table, "printed_end");
  if (const TomlValue* list = table.find("buffer"))
    for (const TomlValue& item : list->items) {
      CaseExpect::Buffer buffer;
      buffer.name = text_of(item, "name");
      buffer.rule = text_of(item, "rule", "values");
      buffer.start = number_of(item, "start", 0);
      buffer.step = number_of(item, "step", 0);
      buffer.values = numbers_of(item, "values");
      buffer.of = texts_of(item, "of");
      expect.buffers.push_back(std::move(buffer));
    }
  if (const TomlValue* list = table.find("finding"))
    for (const TomlValue& item : list->items) expect.findings.push_back(read_finding(item));
  if (const TomlValue* list = table.find("coverage"))
    for (const TomlValue& item : list->items)
      expect.coverage.push_back(
          {text_of(item, "name"), static_cast<int64_t>(number_of(item, "written", -1)),
           static_cast<int64_t>(number_of(item, "twice", -1)), numbers_of(item, "missing")});
  if (const TomlValue* metrics = table.find("metrics"))
    for (const auto& [name, value] : metrics->members) expect.metrics[name] = value.number;
  if (const TomlValue* lines = table.find("line"))
    for (const TomlValue& item : lines->items)
      for (const auto& [name, value] : item.members)
        if (name != "line")
          expect.lines[static_cast<uint32_t>(number_of(item, "line", 0))][name] = value.number;
}

}  // namespace

uint64_t bytes_of_type(const std::string& type) {
  if (type == "i8" || type == "u8") return 1;
  if (type == "i16" || type == "u16" || type == "f16" || type == "bf16") return 2;
  if (type == "i64" || type == "u64" || type == "f64") return 8;
  return 4;
}

std::vector<std::string> case_names(const std::filesystem::path& root) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (std::filesystem::exists(entry.path() / "case.toml"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Result<Case> read_case(const std::filesystem::path& folder) {
  FIEL_TRY(const std::string text, read_file(folder / "case.toml"));
  FIEL_TRY(const TomlValue toml, parse_toml(text, (folder / "case.toml").string()));
  Case test;
  test.name = folder.filename().string();
  test.virtual_only = text_of(toml, "virtual_only");
  std::vector<std::string> modules = texts_of(toml, "modules");
  if (modules.empty()) modules = {text_of(toml, "module", "kernel.ptx")};
  for (const std::string& name : modules) {
    FIEL_TRY(std::string ptx, read_file(folder / name));
    test.modules.push_back({name, std::move(ptx)});
  }
  if (const TomlValue* buffers = toml.find("buffers"))
    for (const auto& [name, value] : buffers->members)
      test.buffers.push_back(read_buffer(name, value));
  if (const TomlValue* launches = toml.find("launch"))
    for (const TomlValue& item : launches->items) test.launches.push_back(read_launch(item));
  if (const TomlValue* expect = toml.find("expect")) read_expect(*expect, test.expect);
  const TomlValue nothing;
  const TomlValue* checks = toml.find("checks");
  if (checks == nullptr) checks = &nothing;
  test.checks.global_races = flag_of(*checks, "global_races");
  test.checks.shared_races = flag_of(*checks, "shared_races", true);
  test.options.memory_bytes = 1ull << 30;
  test.options.heap_bytes = static_cast<uint64_t>(number_of(toml, "heap", 1 << 20));
  test.options.stack_bytes = static_cast<uint32_t>(number_of(toml, "stack", 16384));
  test.schedules.push_back({});
  if (const TomlValue* schedules = toml.find("schedule"))
    for (const TomlValue& item : schedules->items)
      test.schedules.push_back({static_cast<uint64_t>(number_of(item, "seed", 0)),
                                flag_of(item, "reverse_blocks"), flag_of(item, "reverse_warps"),
                                static_cast<uint32_t>(number_of(item, "quantum", 0))});
  return test;
}

}  // namespace fiel::vgpu::test
