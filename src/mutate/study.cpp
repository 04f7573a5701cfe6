#include "mutate/study.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.h"
#include "build/sources.h"
#include "judge/probe_inputs.h"

namespace fiel::mutate {
namespace {

constexpr uint64_t kMaxTask = 4u << 20;

/// Why it stopped, where it did: between calls, too.
class Stopper {
 public:
  explicit Stopper(const StudyOptions& options) : options_(options) {
    if (options_.now_ms) begin_ms_ = options_.now_ms();
  }
  std::optional<StudyEnd> reason() const {
    if (options_.interrupted && options_.interrupted()) return StudyEnd::interrupted;
    if (options_.stop_after_ms > 0 && options_.now_ms &&
        options_.now_ms() - begin_ms_ >= options_.stop_after_ms)
      return StudyEnd::time_is_up;
    return std::nullopt;
  }

 private:
  const StudyOptions& options_;
  int64_t begin_ms_ = 0;
};

class Runner {
 public:
  Runner(const StudyOptions& options, StudyFile& file)
      : options_(options), trial_(options.trial), file_(file), stopper_(options) {
    trial_.witness.seed = judge::derive_seed(options.seed, 1);
    trial_.request.options.seed = judge::derive_seed(options.seed, 2);
    trial_.witness.poll = [this]() -> Status {
      if (!stopper_.reason()) return {};
      return fail(ErrorCode::interrupted, "the study was stopped");
    };
    trial_.request.options.interrupted = [this] { return stopper_.reason().has_value(); };
  }

  Result<StudyEnd> run(const std::vector<Subject>& subjects) {
    total_ = subjects.size();
    for (const Subject& subject : subjects) {
      const Status done = one(subject);
      if (const auto reason = stopper_.reason()) return *reason;
      if (!done) return fail(done.error());
      ++place_;
    }
    return StudyEnd::complete;
  }

 private:
  Status one(const Subject& subject);
  void show(const std::string& what) const {
    if (options_.progress) options_.progress(what, place_, total_);
  }

  const StudyOptions& options_;
  TrialOptions trial_;
  StudyFile& file_;
  Stopper stopper_;
  std::string task_;
  std::unique_ptr<TaskBench> bench_;
  size_t place_ = 0, total_ = 0;
};

Status Runner::one(const Subject& subject) {
  FIEL_TRY(const build::SourceSet sources, build::collect_sources(subject.kernel));
  FIEL_TRY(const auto all, mutants_of(sources.files.front().bytes));
  std::vector<Mutant> open = chosen_mutants(all, subject, options_);
  std::erase_if(open, [&](const Mutant& m) { return file_.has(key_of(subject, m)); });
  const SubjectRecord* known = file_.subject(subject);
  if (known != nullptr && (open.empty() || !known->unfit.empty())) return {};
  show(subject.kernel + ": inputs and answers of " + subject.task);
  if (bench_ == nullptr || task_ != subject.task) {
    bench_.reset();
    FIEL_TRY(bench_, TaskBench::open(subject.task, trial_));
    task_ = subject.task;
  }
  FIEL_TRY(const Trial trial, Trial::open(*bench_, subject, trial_));
  if (known == nullptr) FIEL_TRY_STATUS(file_.add(trial.record()));
  if (!trial.record().unfit.empty()) return {};
  for (size_t i = 0; i < open.size(); ++i) {
    show(fmt::format("{} {} of {}: {}", subject.kernel, i + 1, open.size(), open[i].label()));
    FIEL_TRY(MutantRecord record, trial.run(open[i]));
    // Judged while the study was being stopped: it may have been cut short.
    if (stopper_.reason()) return {};
    FIEL_TRY_STATUS(file_.add(std::move(record)));
  }
  return {};
}

}  // namespace

std::vector<Mutant> chosen_mutants(const std::vector<Mutant>& all, const Subject& subject,
                                   const StudyOptions& options) {
  std::vector<Mutant> mutants;
  for (const Mutant& m : all)
    if (options.kinds.empty() ||
        std::find(options.kinds.begin(), options.kinds.end(), m.kind) != options.kinds.end())
      mutants.push_back(m);
  uint64_t seed = options.seed;
  for (char c : subject.kernel) seed = judge::derive_seed(seed, static_cast<unsigned char>(c));
  return sample(mutants, options.per_kernel, seed);
}

Result<Json> header_of(const std::vector<Subject>& subjects, const StudyOptions& options) {
  Json j = Json::object({{"line", "study"},
                         {"format", kStudyFormat},
                         {"seed", options.seed},
                         {"draws", options.trial.witness.draws},
                         {"shapes", options.trial.witness.shapes},
                         {"kinds", Json::array()},
                         {"subjects", Json::array()}});
  for (Kind k : options.kinds) j["kinds"].push_back(name_of(k));
  for (const Subject& s : subjects) {
    FIEL_TRY(const std::string task, read_file(s.task, kMaxTask));
    FIEL_TRY(const build::SourceSet sources, build::collect_sources(s.kernel));
    j["subjects"].push_back(
        Json::object({{"task", s.task},
                      {"kernel", s.kernel},
                      {"digest", Digest().add(task).add(sources.digest).hex().substr(0, 16)}}));
  }
  return j;
}

Result<StudyEnd> run_study(const std::vector<Subject>& subjects, const StudyOptions& options,
                           StudyFile& file) {
  Runner runner(options, file);
  return runner.run(subjects);
}

}  // namespace fiel::mutate
