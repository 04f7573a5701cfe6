#include "mutate/study_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace fiel::mutate {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxBytes = 256u << 20;

tl::unexpected<Error> refused(const fs::path& path, const char* what) {
  return fail(ErrorCode::io, fmt::format("{} {}: {}", what, path.string(), std::strerror(errno)));
}

/// What is there, up to its last whole line.
Result<std::string> whole_lines(const fs::path& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) return std::string();
  FIEL_TRY(std::string text, read_file(path, kMaxBytes));
  const size_t end = text.rfind('\n');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

}  // namespace

Status StudyFile::read_line(const fs::path& path, const Json& line) {
  const std::string& what = line["line"].as_string();
  if (what == "subject") {
    FIEL_TRY(SubjectRecord r, read_subject(line));
    subjects_.push_back(std::move(r));
  } else if (what == "mutant") {
    FIEL_TRY(MutantRecord r, read_mutant(line));
    keys_.insert(key_of(r.subject, r.mutant));
    mutants_.push_back(std::move(r));
  } else {
    return fail(ErrorCode::parse,
                fmt::format("{}: '{}' is no line of a study", path.string(), printable(what, 40)));
  }
  return {};
}

Result<StudyFile> StudyFile::open(const fs::path& path, const Json& header) {
  StudyFile file;
  if (path.empty()) return file;
  FIEL_TRY(const std::string text, whole_lines(path));
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    ++number;
    const auto json = Json::parse(line);
    if (!json)
      return fail(ErrorCode::parse,
                  fmt::format("{}:{}: {}", path.string(), number, to_string(json.error())));
    if (number == 1) {
      if (json->dump() == header.dump()) continue;
      return fail(ErrorCode::usage, path.string() + " holds another study",
                  "the same seed, kernels and flags go on with it; else name another file");
    }
    FIEL_TRY_STATUS(file.read_line(path, *json));
  }
  file.fd_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.fd_) return refused(path, "cannot write");
  if (::flock(file.fd_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::usage, "another process works on " + path.string());
  if (::ftruncate(file.fd_.get(), static_cast<off_t>(text.size())) != 0)
    return refused(path, "cannot cut the torn end of");
  if (number == 0) FIEL_TRY_STATUS(file.append(header));
  return file;
}

Status StudyFile::append(const Json& line) const {
  if (!fd_) return {};
  const std::string text = line.dump() + "\n";
  const ssize_t n = ::write(fd_.get(), text.data(), text.size());
  if (n == static_cast<ssize_t>(text.size()) && ::fdatasync(fd_.get()) == 0) return {};
  return fail(ErrorCode::io, fmt::format("writing a result: {}", std::strerror(errno)));
}

const SubjectRecord* StudyFile::subject(const Subject& subject) const {
  const auto at = std::find_if(subjects_.begin(), subjects_.end(),
                               [&](const SubjectRecord& r) { return r.subject == subject; });
  return at == subjects_.end() ? nullptr : &*at;
}

Status StudyFile::add(SubjectRecord record) {
  FIEL_TRY_STATUS(append(to_json(record)));
  subjects_.push_back(std::move(record));
  return {};
}

Status StudyFile::add(MutantRecord record) {
  FIEL_TRY_STATUS(append(to_json(record)));
  keys_.insert(key_of(record.subject, record.mutant));
  mutants_.push_back(std::move(record));
  return {};
}

}  // namespace fiel::mutate
