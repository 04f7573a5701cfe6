// fiel mutate: which wrong kernels each protocol would let through, on mutants of right ones.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "build/sources.h"
#include "cli/command.h"
#include "cli/kernel_files.h"
#include "cli/output_file.h"
#include "cli/pairing.h"
#include "cli/progress.h"
#include "mutate/score.h"
#include "mutate/study.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;
using mutate::StudyEnd;
using mutate::Subject;

// The dearest call of a right kernel at the default budget takes about 8e8: what needs ten times as
// much does not end.
constexpr uint64_t kInstructionBudget = 8'000'000'000ull;

int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::string normal(const std::string& path) { return fs::path(path).lexically_normal().string(); }

Result<std::vector<Subject>> subjects_of(const Arguments& arguments) {
  std::vector<Subject> subjects;
  if (const auto manifest = arguments.value("--manifest")) {
    if (!arguments.positional.empty())
      return fail(ErrorCode::usage, "name kernels either in a manifest or by place, not both");
    FIEL_TRY(const auto entries, read_manifest(*manifest));
    for (const store::Entry& e : entries) subjects.push_back({normal(e.task), normal(e.kernel)});
  } else {
    if (arguments.positional.size() < 2)
      return fail(ErrorCode::usage, "'fiel mutate' needs a task and at least one kernel",
                  "fiel mutate tasks/softmax.toml examples/softmax/online.cu");
    FIEL_TRY(const KernelFiles files,
             find_kernels({arguments.positional.begin() + 1, arguments.positional.end()}));
    for (const std::string& path : files.paths)
      subjects.push_back({normal(arguments.positional.front()), normal(path)});
  }
  for (const Subject& s : subjects)
    if (!s.kernel.ends_with(".cu"))
      return fail(ErrorCode::usage, printable(s.kernel, 300) + ": only .cu files are mutated");
  return subjects;
}

Result<std::vector<mutate::Kind>> kinds_of(const Arguments& arguments) {
  std::vector<mutate::Kind> kinds;
  const auto words = arguments.value("--kinds");
  if (!words) return kinds;
  for (std::string_view word : split(*words, ',')) {
    const auto kind = mutate::parse_kind(trim(word));
    if (!kind)
      return fail(ErrorCode::usage, fmt::format("'{}' is no kind of mutant", printable(word, 60)),
                  "bounds, index, operation, constant, barrier, term, precision, neutral");
    kinds.push_back(*kind);
  }
  return kinds;
}

Result<mutate::StudyOptions> options_of(const Arguments& arguments, const Context& context) {
  mutate::StudyOptions o;
  FIEL_TRY(o.seed, unsigned_value(arguments, "--seed", 1, INT64_MAX));
  FIEL_TRY(const uint64_t count, unsigned_value(arguments, "--per-kernel", 30, 100'000));
  o.per_kernel = count;
  FIEL_TRY(o.kinds, kinds_of(arguments));
  FIEL_TRY(const uint64_t draws, unsigned_value(arguments, "--draws", 2, 100));
  FIEL_TRY(const uint64_t shapes, unsigned_value(arguments, "--search-shapes", 24, 1000));
  o.trial.witness.draws = static_cast<uint32_t>(std::max<uint64_t>(draws, 1));
  o.trial.witness.shapes = std::max<uint64_t>(shapes, 1);
  FIEL_TRY(const uint64_t seconds, unsigned_value(arguments, "--stop-after", 0, 1'000'000'000));
  o.stop_after_ms = static_cast<int64_t>(seconds) * 1000;
  o.trial.request.instruction_budget = kInstructionBudget;
  o.interrupted = context.interrupted;
  o.now_ms = now_ms;
  return o;
}

/// The mutants alone: nothing is compiled.
Result<int> list_mutants(const std::vector<Subject>& subjects, const mutate::StudyOptions& options,
                         const Arguments& arguments, const Context& context) {
  Json all = Json::array();
  std::string text;
  for (const Subject& s : subjects) {
    FIEL_TRY(const build::SourceSet sources, build::collect_sources(s.kernel));
    FIEL_TRY(const auto mutants, mutate::mutants_of(sources.files.front().bytes));
    for (const mutate::Mutant& m : mutate::chosen_mutants(mutants, s, options)) {
      std::string line = fmt::format("{}:{}  {} -> {}", printable(s.kernel, 300), m.label(),
                                     printable(m.original, 80), printable(m.replacement, 80));
      std::replace(line.begin(), line.end(), '\n', ' ');
      text += line + "\n";
      all.push_back(Json::object({{"kernel", s.kernel},
                                  {"kind", mutate::name_of(m.kind)},
                                  {"rule", m.rule},
                                  {"line", m.line},
                                  {"column", m.column},
                                  {"original", m.original},
                                  {"replacement", m.replacement}}));
    }
  }
  if (arguments.has("--json")) {
    context.print_json(Json::object({{"schema_version", 1}, {"mutants", std::move(all)}}));
  } else {
    context.print(text);
  }
  return 0;
}

Result<int> finish(const mutate::StudyFile& file, StudyEnd end, const Arguments& arguments,
                   const Context& context) {
  if (const auto csv = arguments.value("--csv"))
    FIEL_TRY_STATUS(write_output(*csv, mutate::to_csv(file.mutants())));
  const mutate::Score score = mutate::score_of(file.subjects(), file.mutants());
  if (arguments.has("--json")) {
    Json j = Json::object({{"schema_version", 1}, {"complete", end == StudyEnd::complete}});
    const Json scored = mutate::to_json(score);
    for (const auto& [key, value] : scored.members()) j[key] = value;
    context.print_json(j);
  } else {
    context.print(arguments.has("--markdown") ? mutate::to_markdown(score)
                                              : mutate::to_text(score));
  }
  for (const mutate::SubjectRecord& s : file.subjects())
    if (!s.unfit.empty())
      context.story(fmt::format("fiel: {} was left out: {}\n", printable(s.subject.kernel, 300),
                                printable(s.unfit, 300)));
  if (end != StudyEnd::complete)
    context.story(arguments.has("--out") ? "fiel: stopped; the same command goes on\n"
                                         : "fiel: stopped\n");
  if (end == StudyEnd::interrupted) return 130;
  return end == StudyEnd::complete && score.subjects == 0 ? 5 : 0;
}

Result<int> run(const Arguments& arguments, const Context& context) {
  FIEL_TRY(const std::vector<Subject> subjects, subjects_of(arguments));
  if (subjects.empty()) {
    context.story("fiel: there is no kernel to mutate\n");
    return 5;
  }
  FIEL_TRY(mutate::StudyOptions options, options_of(arguments, context));
  if (arguments.has("--list")) return list_mutants(subjects, options, arguments, context);
  FIEL_TRY(const Json header, mutate::header_of(subjects, options));
  FIEL_TRY(mutate::StudyFile file,
           mutate::StudyFile::open(arguments.value("--out").value_or(""), header));
  StatusLine line(context);
  options.progress = [&](const std::string& what, size_t done, size_t total) {
    line.show(what, static_cast<uint32_t>(done), static_cast<uint32_t>(total));
  };
  FIEL_TRY(const StudyEnd end, mutate::run_study(subjects, options, file));
  line.clear();
  return finish(file, end, arguments, context);
}

}  // namespace

Command mutate_command() {
  return {
      {"mutate",
       "TASK KERNEL...",
       "wrong kernels made from right ones: which of them each protocol misses",
       {{"--manifest", "FILE", "pairs as JSON lines: {\"task\": …, \"kernel\": …}"},
        {"--out", "FILE", "results as JSON lines; the same command goes on with it"},
        {"--list", "", "only print the mutants"},
        {"--per-kernel", "N", "mutants tried of each kernel, the kinds in turn (30)"},
        {"--kinds", "A,B", "bounds, index, operation, constant, barrier, term, precision, neutral"},
        {"--seed", "N", "of the choice, the search and the judgements (1)"},
        {"--draws", "N", "input sets of the search: of each style at each shape (2)"},
        {"--search-shapes", "N", "shapes of the search (24)"},
        {"--stop-after", "SECONDS", "stop, with what there is"},
        {"--markdown", "", "tables as a page has them"},
        {"--csv", "FILE", "also write a line a mutant"},
        kJsonFlag},
       "Each mutant changes a device function in one place. It counts where a search of its own "
       "finds\nan input on which it is wrong and its original is right; docs/mutation-study.md "
       "says how.\nOn the virtual device. Exit code 0 whatever is missed: it is a measurement."},
      run};
}

}  // namespace fiel::cli
