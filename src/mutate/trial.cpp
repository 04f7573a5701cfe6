#include "mutate/trial.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "build/sources.h"

namespace fiel::mutate {
namespace fs = std::filesystem;
namespace {

using judge::Effort;
using judge::Protocol;
using judge::Verdict;
using judge::VerdictStatus;

constexpr uint64_t kMaxPtx = 64u << 20;

ProbeAt place_of(const judge::ProbeResult& r) {
  return {std::string(judge::name_of(r.probe)), r.shape_set};
}

std::vector<ProbeAt> failed_probes(const Verdict& v) {
  std::vector<ProbeAt> list;
  for (const judge::ProbeResult& r : v.probes)
    if (r.outcome == judge::ProbeOutcome::failed) list.push_back(place_of(r));
  return list;
}

/// What rejected it; the minimised witness keeps its probe and shape set.
Opinion opinion_of(const Verdict& v) {
  Opinion o{v.status == VerdictStatus::correct, std::string(judge::name_of(v.status)), {}};
  const std::vector<ProbeAt> failed = failed_probes(v);
  if (!failed.empty()) o.first = failed.front();
  return o;
}

Status write_beside(const fs::path& folder, const fs::path& name, std::string_view bytes) {
  std::error_code ec;
  fs::create_directories((folder / name).parent_path(), ec);
  return write_file_atomic(folder / name, bytes);
}

Result<std::shared_ptr<const judge::ShapePlan>> plan_of(const task::Task& task,
                                                        judge::Groundwork& groundwork,
                                                        Effort effort) {
  judge::JudgeOptions options;
  options.effort = effort;
  return groundwork.plan([&] { return judge::plan_shapes(task, options); });
}

}  // namespace

std::string code_of(std::string_view ptx) {
  std::string code;
  for (std::string_view line : split(ptx, '\n')) {
    const std::string_view t = trim(line);
    if (t.empty() || t.starts_with("//") || t.starts_with(".loc") || t.starts_with(".file"))
      continue;
    code += t;
    code += '\n';
  }
  return code;
}

Result<std::unique_ptr<TaskBench>> TaskBench::open(const std::string& task_file,
                                                   const TrialOptions& options) {
  auto bench = std::make_unique<TaskBench>();
  FIEL_TRY(bench->task, task::load_task(task_file));
  bench->quick = std::make_shared<judge::Groundwork>();
  bench->standard = std::make_shared<judge::Groundwork>();
  // Planned at the default budget: what either of the two runs at is not the search's.
  FIEL_TRY(const auto plan, plan_of(bench->task, *bench->standard, Effort::standard));
  FIEL_TRY(bench->inputs, WitnessInputs::make(bench->task, *plan, options.witness));
  return bench;
}

Result<Trial> Trial::open(const TaskBench& shared, const Subject& subject,
                          const TrialOptions& options) {
  FIEL_TRY(const build::SourceSet sources, build::collect_sources(subject.kernel));
  FIEL_TRY(TempDir folder, TempDir::create("fiel-mutate"));
  Trial trial(shared, options, std::move(folder));
  trial.record_.subject = subject;
  trial.name_ = sources.files.front().name.string();
  trial.source_ = sources.files.front().bytes;
  for (const build::SourceFile& f : sources.files)
    FIEL_TRY_STATUS(write_beside(trial.folder_.path(), f.name, f.bytes));
  auto mutants = mutants_of(trial.source_);
  if (!mutants) return fail(std::move(mutants.error()).with_context("reading " + subject.kernel));
  trial.mutants_ = std::move(*mutants);
  FIEL_TRY_STATUS(trial.look_at_original());
  return trial;
}

/// A subject is right under strict (at quick: a study is of kernels that are known to be right),
/// and its search has something to stand on.
Status Trial::look_at_original() {
  record_.mutants = mutants_.size();
  record_.inputs = shared_->inputs.inputs.size();
  FIEL_TRY(const judge::Compiled built, compile(source_));
  if (!built.start) {
    record_.unfit = "it does not compile";
    return {};
  }
  FIEL_TRY(const std::string ptx, read_file(built.built->kernel.ptx, kMaxPtx));
  code_ = code_of(ptx);
  FIEL_TRY(const Verdict v, ask(built.start, Protocol::strict, Effort::quick));
  if (v.status != VerdictStatus::correct) {
    record_.unfit = fmt::format("strict calls it {}", judge::name_of(v.status));
    return {};
  }
  for (const judge::ProbeResult& r : v.probes)
    record_.calls[std::string(judge::name_of(r.probe))] += r.calls;
  FIEL_TRY(search_, WitnessSearch::create(shared_->inputs, built.start));
  record_.sound = search_->sound();
  if (record_.sound == 0) record_.unfit = "it is wrong on every input of the search";
  return {};
}

Result<judge::Compiled> Trial::compile(const std::string& text) const {
  FIEL_TRY_STATUS(write_beside(folder_.path(), name_, text));
  FIEL_TRY(judge::Compiled c,
           judge::compile_candidate((folder_.path() / name_).string(), options_.request));
  // A crowded machine is no fault of the mutant's: it is tried again, not counted.
  if (c.built && (c.built->status == build::CompileStatus::timeout ||
                  c.built->status == build::CompileStatus::limit))
    return fail(ErrorCode::environment, "compiling a mutant: " + c.built->message,
                "the same command goes on once the machine has more to give");
  return c;
}

Result<Verdict> Trial::ask(const judge::SessionStarter& start, Protocol protocol,
                           Effort effort) const {
  judge::JudgeOptions options = options_.request.options;
  options.protocol = protocol;
  options.effort = effort;
  if (protocol == Protocol::strict) {
    options.groundwork = effort == Effort::quick ? shared_->quick : shared_->standard;
    options.survey = effort == Effort::quick;
  }
  FIEL_TRY(Verdict v, judge::judge_sessions(shared_->task, start, options, Verdict()));
  if (v.status == VerdictStatus::harness_fault)
    return fail(ErrorCode::environment,
                fmt::format("judging {}: {}", record_.subject.kernel, v.reason));
  return v;
}

Status Trial::ask_protocols(const judge::SessionStarter& start, MutantRecord& record) const {
  for (Protocol p : judge::all_protocols()) {
    if (p == Protocol::strict) continue;
    FIEL_TRY(const Verdict v, ask(start, p, Effort::standard));
    record.opinions[std::string(judge::name_of(p))] = opinion_of(v);
  }
  return {};
}

/// What quick rejects the default budget rejects too: its probes under this seed are among those.
Status Trial::ask_strict(const judge::SessionStarter& start, MutantRecord& record) const {
  FIEL_TRY(const Verdict quick, ask(start, Protocol::strict, Effort::quick));
  Opinion o = opinion_of(quick);
  record.seen_by = failed_probes(quick);
  record.opinions[std::string(kStrictQuick)] = o;
  if (o.accepted && record.witness) {
    FIEL_TRY(const Verdict v, ask(start, Protocol::strict, Effort::standard));
    o = opinion_of(v);
  }
  record.opinions[std::string(judge::name_of(Protocol::strict))] = o;
  return {};
}

Result<MutantRecord> Trial::run(const Mutant& mutant) const {
  MutantRecord record;
  record.subject = record_.subject;
  record.mutant = mutant;
  FIEL_TRY(const judge::Compiled built, compile(mutated(source_, mutant)));
  if (!built.start) {
    record.fate = Fate::not_compiled;
    return record;
  }
  FIEL_TRY(const std::string ptx, read_file(built.built->kernel.ptx, kMaxPtx));
  if (code_of(ptx) == code_) {
    record.fate = Fate::same_code;
    return record;
  }
  FIEL_TRY(const SearchResult found, search_->find(built.start));
  record.witness = found.witness;
  record.searched = found.calls;
  if (found.witness && found.witness->how == judge::name_of(VerdictStatus::unsupported)) {
    record.witness.reset();
    record.fate = Fate::not_compiled;  // for this device
    return record;
  }
  // Nobody is to be blamed for accepting what nothing shows to be wrong.
  if (found.witness) FIEL_TRY_STATUS(ask_protocols(built.start, record));
  FIEL_TRY_STATUS(ask_strict(built.start, record));
  return record;
}

}  // namespace fiel::mutate
