// The file of a study: a line of JSON a result, written whole or not at all, so that a study that
// is killed goes on where it was.
//
//   FIEL_TRY(StudyFile file, StudyFile::open("study.jsonl", header));
//   if (!file.has(key)) FIEL_TRY_STATUS(file.add(record));
//
// The first line says how the study is made. A file of another study is refused, never mixed. A
// last line that was cut off is dropped.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "mutate/record.h"

namespace fiel::mutate {

class StudyFile {
 public:
  /// Without a path nothing is kept.
  static Result<StudyFile> open(const std::filesystem::path& path, const Json& header);

  bool has(const std::string& key) const { return keys_.contains(key); }
  const SubjectRecord* subject(const Subject& subject) const;
  Status add(SubjectRecord record);
  Status add(MutantRecord record);
  const std::vector<SubjectRecord>& subjects() const { return subjects_; }
  const std::vector<MutantRecord>& mutants() const { return mutants_; }

 private:
  Status append(const Json& line) const;
  Status read_line(const std::filesystem::path& path, const Json& line);

  Fd fd_;
  std::vector<SubjectRecord> subjects_;
  std::vector<MutantRecord> mutants_;
  std::set<std::string> keys_;
};

}  // namespace fiel::mutate
