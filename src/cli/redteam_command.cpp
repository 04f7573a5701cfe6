// fiel redteam: every known cheat and its honest twin under every protocol.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/pair_judging.h"
#include "cli/progress.h"
#include "cli/redteam/case_folder.h"
#include "cli/redteam/machine.h"
#include "cli/redteam/matrix.h"
#include "cli/run_keeper.h"
#include "worker/python_environment.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;
using judge::Protocol;

constexpr uint64_t kMaxSource = 16u << 20;

/// One judgement to be made.
struct Task {
  const CaseFolder* c = nullptr;
  std::string device;
  Protocol protocol{};
  std::string label() const {
    return fmt::format("{} {} {}", c->name, judge::name_of(protocol), device);
  }
};

Result<std::vector<Protocol>> protocols_of(const Arguments& arguments) {
  const auto words = arguments.value("--protocol");
  if (!words) return judge::all_protocols();
  std::vector<Protocol> chosen;
  for (std::string_view word : split(*words, ',')) {
    const auto p = judge::parse_protocol(trim(word));
    if (!p)
      return fail(ErrorCode::usage, fmt::format("'{}' is no protocol", printable(word, 60)),
                  "strict, naive, kernelbench, cuda-agent, kernelbench-verified");
    chosen.push_back(*p);
  }
  return chosen;
}

/// Devices that a case is judged on: the one that was asked for, or those that need no GPU.
std::vector<std::string> devices_of(const CaseFolder& c, const std::optional<std::string>& asked,
                                    bool torch) {
  const auto listed = [&](const std::string& kind) {
    return std::find(c.devices.begin(), c.devices.end(), kind) != c.devices.end();
  };
  if (asked)
    return listed(kind_of_device(*asked)) ? std::vector{*asked} : std::vector<std::string>();
  std::vector<std::string> devices;
  if (listed("virtual")) devices.emplace_back("virtual");
  if (listed("cpu") && torch) devices.emplace_back("cpu");
  return devices;
}

class RedTeam {
 public:
  RedTeam(const Arguments& arguments, const Context& context)
      : arguments_(arguments), context_(context), line_(context) {}

  Result<int> run();

 private:
  Status choose();
  Status keep_or_resume();
  /// A case may have got another task since.
  bool still_that_case(const JudgePair& pair) const;
  Status judge_all();
  Result<PairJudging*> judging_for(const std::vector<std::string>& words);
  Result<Json> judge_one(const Task& task, size_t place);
  Result<int> finish(bool stopped);
  Status write_page() const;

  const Arguments& arguments_;
  const Context& context_;
  StatusLine line_;
  std::vector<CaseFolder> cases_;
  std::vector<Task> tasks_;
  std::vector<std::string> left_out_;
  JudgePlan plan_;
  struct Judging {
    Arguments arguments;  ///< the judging keeps a reference
    std::optional<PairJudging> judging;
  };
  std::map<std::vector<std::string>, Judging> judgings_;
  std::map<std::string, Json> done_;  ///< verdicts by label
  std::map<std::string, size_t> places_;
  std::optional<RunKeeper> keeper_;
  Matrix matrix_;
};

Status RedTeam::choose() {
  FIEL_TRY(matrix_.protocols, protocols_of(arguments_));
  FIEL_TRY(const auto asked, device_of(arguments_));
  FIEL_TRY(cases_, read_cases(".", arguments_.value("--only").value_or("")));
  const auto python = worker::find_python(arguments_.value("--python").value_or(""));
  const std::string interpreter = python ? python->executable.string() : "";
  for (const CaseFolder& c : cases_) {
    const std::vector<std::string> devices = devices_of(c, asked, python.has_value());
    const std::string missing = first_missing(c.needs, interpreter);
    if (devices.empty() || !missing.empty()) {
      left_out_.push_back(c.name +
                          (missing.empty() ? ": not for this device" : ": needs " + missing));
      continue;
    }
    for (const std::string& device : devices)
      for (Protocol p : matrix_.protocols) tasks_.push_back({&c, device, p});
  }
  return {};
}

bool RedTeam::still_that_case(const JudgePair& pair) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& t) {
    return t.label() == pair.problem && fs::path(pair.task).lexically_normal() == t.c->task &&
           fs::path(pair.kernel).lexically_normal() == t.c->kernel;
  });
}

Status RedTeam::keep_or_resume() {
  plan_.arguments = arguments_;
  plan_.several = true;
  plan_.campaign = true;
  if (arguments_.has("--resume")) {
    FIEL_TRY(plan_, plan_judgements(arguments_, context_));
    for (const auto& [place, evidence] : plan_.done)
      if (still_that_case(plan_.pairs[place]))
        done_.emplace(plan_.pairs[place].problem, evidence.verdict);
  } else {
    for (const Task& t : tasks_)
      plan_.pairs.push_back({t.c->task, t.c->kernel, t.label(), std::nullopt});
  }
  for (size_t place = 0; place < plan_.pairs.size(); ++place)
    places_.emplace(plan_.pairs[place].problem, place);
  FIEL_TRY(keeper_, RunKeeper::begin(plan_, context_));
  return {};
}

/// Cases that are judged alike share workers: PyTorch takes seconds to import.
Result<PairJudging*> RedTeam::judging_for(const std::vector<std::string>& words) {
  const auto known = judgings_.find(words);
  if (known != judgings_.end()) return &*known->second.judging;
  FIEL_TRY(Arguments arguments, parse_arguments(judge_command().spec, words));
  Judging& one = judgings_[words];
  one.arguments = std::move(arguments);
  auto judging = PairJudging::create(one.arguments, context_);
  if (!judging) {
    judgings_.erase(words);
    return fail(std::move(judging).error());
  }
  return &one.judging.emplace(std::move(*judging));
}

Result<Json> RedTeam::judge_one(const Task& task, size_t place) {
  std::vector<std::string> words = task.c->arguments;
  words.push_back("--device=" + task.device);
  for (const char* flag : {"--budget", "--seed", "--timeout", "--time-limit", "--python"})
    if (const auto v = arguments_.value(flag)) words.push_back(fmt::format("{}={}", flag, *v));
  FIEL_TRY(PairJudging * judging, judging_for(words));
  const JudgePair pair{task.c->task, task.c->kernel, "", std::nullopt};
  const auto show = [&](const judge::Progress& p) {
    const double inside = p.total == 0 ? 0 : static_cast<double>(p.done) / p.total;
    const double share = (static_cast<double>(place) + inside) / static_cast<double>(tasks_.size());
    line_.show(fmt::format("{} of {}: {}", place + 1, tasks_.size(), task.label()),
               static_cast<uint32_t>(10'000 * share), 10'000);
  };
  auto v = judging->judge(pair, show, task.protocol);
  line_.clear();
  if (v) return judge::to_json(*v);
  if (v.error().code == ErrorCode::interrupted) return fail(v.error());
  judge::Verdict fault;
  fault.status = judge::VerdictStatus::harness_fault;
  fault.reason = printable(to_string(v.error()), 600);
  fault.task = fault.task_file = task.c->task;
  fault.kernel = task.c->kernel;
  fault.protocol = std::string(judge::name_of(task.protocol));
  return judge::to_json(fault);
}

Status RedTeam::judge_all() {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    auto known = done_.find(task.label());
    if (known == done_.end()) {
      if (context_.interrupted && context_.interrupted())
        return fail(ErrorCode::interrupted, "stopped between two judgements");
      const int64_t begin = now_ms();
      FIEL_TRY(Json verdict, judge_one(task, i));
      store::Evidence e;
      e.verdict = verdict;
      e.judged_ms = now_ms();
      e.took_ms = e.judged_ms - begin;
      e.task_source = read_file(task.c->task, kMaxSource).value_or("");
      e.kernel_source = read_file(task.c->kernel, kMaxSource).value_or("");
      // A case that was added since the run began has no place in it.
      if (const auto place = places_.find(task.label()); place != places_.end()) {
        e.place = place->second;
        FIEL_TRY_STATUS(keeper_->keep(e));
      }
      known = done_.emplace(task.label(), std::move(verdict)).first;
    }
    matrix_.cells.push_back(cell_of(*task.c, task.protocol, task.device, known->second));
    const Cell& cell = matrix_.cells.back();
    if (!cell.held && !arguments_.has("--json"))
      context_.story(fmt::format("fiel: {}: {}\n", task.label(), cell.why_not));
  }
  return {};
}

Status RedTeam::write_page() const {
  const auto file = arguments_.value("--markdown");
  if (!file) return {};
  std::string text =
      "# Red team\n\nWritten by `fiel redteam --markdown FILE`. Rows are the folders of exploits/ "
      "and\n"
      "honest/; `!` marks what their expect.toml does not say. docs/security.md explains the "
      "words.\n\n";
  text += to_markdown(matrix_);
  return write_output(*file, text);
}

Result<int> RedTeam::finish(bool stopped) {
  keeper_->end(stopped ? "stopped" : "done");
  FIEL_TRY_STATUS(write_page());
  if (arguments_.has("--json")) {
    Json j = Json::object();
    j["schema_version"] = judge::kSchemaVersion;
    j["run"] = keeper_->name();
    const Json matrix = to_json(matrix_);
    for (const auto& [key, value] : matrix.members()) j[key] = value;
    j["left_out"] = Json::array();
    for (const std::string& text : left_out_) j["left_out"].push_back(text);
    context_.print_json(j);
  } else {
    context_.print(to_text(matrix_));
    if (!left_out_.empty())
      context_.story(fmt::format("fiel: {} cases left out, the first {}\n", left_out_.size(),
                                 left_out_.front()));
  }
  if (stopped) {
    if (!keeper_->name().empty())
      context_.story(
          fmt::format("fiel: stopped; go on with: fiel redteam --resume {}\n", keeper_->name()));
    return 130;
  }
  return !matrix_.held() ? 1 : matrix_.unable() ? 3 : 0;
}

Result<int> RedTeam::run() {
  FIEL_TRY_STATUS(choose());
  if (tasks_.empty()) {
    context_.story("fiel: there is no case to judge: exploits/ and honest/ are looked for here\n");
    return 5;
  }
  FIEL_TRY_STATUS(keep_or_resume());
  const Status done = judge_all();
  if (!done && done.error().code != ErrorCode::interrupted) {
    keeper_->end("stopped");
    return fail(done.error());
  }
  return finish(!done);
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (!arguments.positional.empty())
    return fail(ErrorCode::usage, "'fiel redteam' takes no words", "--only 'M0*'");
  if (const auto folder = arguments.value("--add")) {
    FIEL_TRY_STATUS(scaffold_case(fs::path(*folder).lexically_normal()));
    context.story(fmt::format("fiel: wrote {}/expect.toml and a kernel.cu to fill in\n",
                              printable(*folder, 300)));
    return 0;
  }
  FIEL_TRY(const Arguments all, with_flags_of_run(arguments));
  RedTeam team(all, context);
  return team.run();
}

}  // namespace

Command redteam_command() {
  return {{"redteam",
           "",
           "known cheats and honest twins under every protocol: who is fooled",
           {{"--protocol", "A,B", "strict, naive, kernelbench, cuda-agent, kernelbench-verified"},
            {"--device", "NAME", "virtual, cpu or cuda:N (default: virtual, and cpu with PyTorch)"},
            {"--only", "GLOB", "cases by name: 'M0*', 'honest/*'"},
            {"--add", "FOLDER", "a new case to fill in: exploits/NAME or honest/NAME"},
            {"--markdown", "FILE", "also write the table as a page"},
            {"--budget", "NAME", "work per kernel of strict: quick, standard, thorough"},
            {"--seed", "N", "of every judgement; otherwise drawn in secret"},
            {"--timeout", "SECONDS", "wall-clock limit of one call"},
            {"--time-limit", "SECONDS", "of a whole judgement of strict"},
            {"--python", "FILE", "the Python that has PyTorch"},
            {"--run", "NAME", "the name of this run in the store"},
            {"--resume", "RUN", "go on with a run that was stopped ('last')"},
            {"--no-store", "", "keep no evidence"},
            kJsonFlag},
           "Run where exploits/ and honest/ are. Exit code 0 only when every expect.toml held."},
          run};
}

}  // namespace fiel::cli
