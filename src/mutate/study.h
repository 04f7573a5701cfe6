// A study over many kernels: samples their mutants, tries each once, keeps what it learns.
//
//   FIEL_TRY(StudyFile file, StudyFile::open(path, header_of(subjects, options)));
//   FIEL_TRY(StudyEnd end, run_study(subjects, options, file));
//   Score score = score_of(file.subjects(), file.mutants());
#pragma once

#include <functional>
#include <vector>

#include "mutate/study_file.h"
#include "mutate/trial.h"

namespace fiel::mutate {

struct StudyOptions {
  TrialOptions trial;
  uint64_t seed = 1;  ///< of sampling, of the search and, derived, of every judgement
  size_t per_kernel = 30;
  std::vector<Kind> kinds;                                                           ///< empty: all
  int64_t stop_after_ms = 0;                                                         ///< 0: never
  std::function<void(const std::string& what, size_t done, size_t total)> progress;  ///< or empty
  std::function<bool()> interrupted;                                                 ///< or empty
  std::function<int64_t()> now_ms;  ///< a clock that never goes back
};

enum class StudyEnd : uint8_t { complete, time_is_up, interrupted };

/// What makes two studies the same: seed, search, and the kernels' and tasks' content. More mutants
/// of each kernel are the same study: a smaller choice is part of a larger.
Result<Json> header_of(const std::vector<Subject>& subjects, const StudyOptions& options);

Result<StudyEnd> run_study(const std::vector<Subject>& subjects, const StudyOptions& options,
                           StudyFile& file);

/// The mutants of one source that a study tries.
std::vector<Mutant> chosen_mutants(const std::vector<Mutant>& all, const Subject& subject,
                                   const StudyOptions& options);

}  // namespace fiel::mutate
