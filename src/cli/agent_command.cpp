// fiel agent: a language model (or another agent's program) writes a kernel under the judge's eyes.
#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "agent/loop/atif.h"
#include "agent/loop/episode.h"
#include "agent/loop/external.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output_file.h"
#include "cli/run_keeper.h"
#include "judge/codes.h"
#include "judge/environment.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

/// The article's agents had six benchmark runs of each task.
constexpr uint64_t kArticleKernels = 6;

Result<agent::EpisodeOptions> episode_options(const Arguments& arguments, const Context& context) {
  agent::EpisodeOptions o;
  FIEL_TRY(const uint64_t turns, unsigned_value(arguments, "--turns", 200, 100'000));
  FIEL_TRY(const uint64_t window, unsigned_value(arguments, "--context", 131'072, 10'000'000));
  FIEL_TRY(const uint64_t output, unsigned_value(arguments, "--output", 16'384, 1'000'000));
  FIEL_TRY(const uint64_t tokens, unsigned_value(arguments, "--tokens", 0, 1ull << 40));
  FIEL_TRY(const uint64_t wall, unsigned_value(arguments, "--wall", 0, 30 * 86'400));
  FIEL_TRY(o.max_cost, number_value(arguments, "--cost", 0));
  o.max_turns = static_cast<uint32_t>(turns);
  o.context_tokens = static_cast<int64_t>(window);
  o.max_output_tokens = static_cast<uint32_t>(output);
  o.max_tokens = static_cast<int64_t>(tokens);
  o.max_wall_ms = static_cast<int64_t>(wall) * 1000;
  if (const auto words = arguments.value("--prices")) {
    FIEL_TRY(o.prices, agent::parse_prices(*words));
  }
  if (o.max_cost > 0 && !o.prices)
    return fail(ErrorCode::usage, "--cost needs --prices", "--prices 3,0.3,15");
  FIEL_TRY(const std::string calls,
           word_value(arguments, "--calls", {"native", "both", "text"}, "native"));
  o.native_calls = calls != "text";
  o.text_calls = calls != "native";
  if (arguments.has("--require-isolation")) o.tools.isolation.required = sandbox::Level::namespaces;
  o.interrupted = context.interrupted;
  o.on_step = [&context](uint32_t turn, const std::string& what) {
    context.story(fmt::format("{:>4}  {}\n", turn, what));
  };
  return o;
}

Result<agent::DeskOptions> desk_options_of(const Arguments& arguments) {
  agent::DeskOptions o;
  FIEL_TRY(const std::string preset, word_value(arguments, "--preset", {"article"}, ""));
  const uint64_t usual = preset == "article" ? kArticleKernels : o.max_judged;
  FIEL_TRY(const uint64_t kernels, unsigned_value(arguments, "--kernels", usual, 100'000));
  o.max_judged = static_cast<uint32_t>(kernels);
  return o;
}

/// What another agent's program does with its model cannot be seen or bounded from here: a flag
/// that would be ignored is refused.
Status check_external(const Arguments& arguments) {
  std::vector<std::string> unknown = {
      "--turns", "--tokens", "--cost", "--context", "--calls", "--atif", "--require-isolation"};
  for (const Flag& f : model_flags()) unknown.push_back(f.name);
  for (const std::string& flag : unknown)
    if (arguments.has(flag))
      return fail(ErrorCode::usage, fmt::format("{} says nothing to another agent's program", flag),
                  "--wall, --kernels and --processes bound it; the rest is its own to be told");
  return {};
}

/// The workspace that is there, or a new one made as `fiel init` makes it.
Result<agent::Workspace> workspace_of(const Arguments& arguments, const Context& context) {
  const std::string& task = arguments.positional[0];
  const std::string folder =
      arguments.value("--workspace").value_or(fs::path(task).stem().string() + ".work");
  if (arguments.has("--resume")) return agent::Workspace::open(folder);
  std::vector<std::string> words = {"init", task, "--workspace", folder};
  for (const char* flag : {"--device", "--python", "--layout"})
    if (const auto value = arguments.value(flag)) words.insert(words.end(), {flag, *value});
  // Its own errors were printed.
  if (const int code = run_cli(words, context); code != 0)
    return fail(code == 2 ? ErrorCode::usage : ErrorCode::environment,
                "no workspace could be made");
  return agent::Workspace::open(folder);
}

std::string entry_text(const char* title, const std::optional<agent::LedgerEntry>& e) {
  if (!e) return "";
  std::string text = fmt::format("{:<10}{} {}", title, e->status, e->kernel.substr(0, 12));
  if (e->ratio > 0) text += fmt::format("  {:.3f}x (at least {:.3f}x)", e->ratio, e->ratio_low);
  if (!e->correct() && !e->reason.empty()) text += "  " + e->reason;
  return text + "\n";
}

int exit_code_of(const agent::EpisodeResult& r) {
  if (r.status == agent::ExitStatus::interrupted) return 130;
  if (!r.scored) return r.status == agent::ExitStatus::model_failed ? 3 : 5;
  if (r.scored->correct()) return 0;
  return judge::exit_code_of(
      judge::parse_status(r.scored->status).value_or(judge::VerdictStatus::harness_fault));
}

Result<int> report(const agent::EpisodeResult& r, const agent::Workspace& workspace,
                   const Arguments& arguments, const Context& context) {
  if (const auto file = arguments.value("--atif")) {
    FIEL_TRY(const agent::Trajectory t, agent::Trajectory::open(workspace.trajectory()));
    FIEL_TRY_STATUS(write_output(*file, agent::to_atif(t).dump(1) + "\n"));
  }
  if (arguments.has("--json")) {
    context.print_json(to_json(r));
    return exit_code_of(r);
  }
  context.print(fmt::format("{:<10}{}{}{}\n{:<10}{} turns, {} tokens\n", "ended", name_of(r.status),
                            r.detail.empty() ? "" : ": ", r.detail, "used", r.turns,
                            r.cost["input_tokens"].as_int() + r.cost["output_tokens"].as_int()));
  if (!r.processes.empty()) context.print(fmt::format("{:<10}{}\n", "processes", r.processes));
  context.print(entry_text("scored", r.scored));
  context.print(entry_text("best", r.best));
  context.print(entry_text("  again", r.best_again));
  for (const std::string& name : r.changed_files)
    context.print(fmt::format("{:<10}{} was changed and put back\n", "note", name));
  return exit_code_of(r);
}

/// Everything that may be wrong with the words is said before a workspace is made.
struct Plan {
  agent::EpisodeOptions options;
  agent::DeskOptions desk;
  std::optional<agent::AgentUser> user;  ///< of another agent's program
  uint32_t max_processes = 0;            ///< of it, too
};

Result<Plan> plan_of(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::usage, "'fiel agent' needs a task",
                "fiel agent tasks/softmax.toml --model NAME");
  Plan plan;
  FIEL_TRY(plan.options, episode_options(arguments, context));
  FIEL_TRY(plan.desk, desk_options_of(arguments));
  FIEL_TRY(
      const uint64_t processes,
      unsigned_value(arguments, "--processes", agent::ExternalRequest{}.max_processes, 1'000'000));
  plan.max_processes = static_cast<uint32_t>(processes);
  const auto user = arguments.value("--agent-user");
  for (const char* flag : {"--agent-user", "--processes"})
    if (arguments.has(flag) && !arguments.has("--external"))
      return fail(ErrorCode::usage, fmt::format("{} is for --external", flag),
                  "the model's own commands run in the sandbox");
  if (arguments.has("--external")) FIEL_TRY_STATUS(check_external(arguments));
  if (user) {
    FIEL_TRY(plan.user, agent::find_agent_user(*user));
  }
  return plan;
}

Result<int> run_other(const std::string& command, const Plan& plan, const Arguments& arguments,
                      const Context& context) {
  FIEL_TRY(const agent::Workspace workspace, workspace_of(arguments, context));
  FIEL_TRY(agent::Desk desk, agent::Desk::open(workspace, plan.desk));
  if (plan.user) FIEL_TRY_STATUS(give_workspace(workspace, *plan.user));
  FIEL_TRY(const agent::EpisodeResult r,
           run_external({command, plan.options.max_wall_ms, plan.max_processes, plan.user,
                         context.interrupted},
                        workspace, desk));
  return report(r, workspace, arguments, context);
}

Result<int> run(const Arguments& arguments, const Context& context) {
  FIEL_TRY(Plan plan, plan_of(arguments, context));
  if (const auto command = arguments.value("--external"))
    return run_other(*command, plan, arguments, context);
  FIEL_TRY(const std::unique_ptr<ChosenModel> chosen, model_of(arguments, context));
  FIEL_TRY(const agent::Workspace workspace, workspace_of(arguments, context));
  FIEL_TRY(agent::Desk desk, agent::Desk::open(workspace, plan.desk));
  FIEL_TRY(const agent::Trajectory before, agent::Trajectory::open(workspace.trajectory()));
  chosen->skip(before.turns());
  plan.options.about = Json::object({{"task", arguments.positional[0]},
                                     {"session", fresh_run_name(arguments.positional[0], now_ms())},
                                     {"fiel_version", judge::describe_environment().fiel_version}});
  agent::Episode episode(workspace, desk, *chosen->model, plan.options);
  FIEL_TRY(const agent::EpisodeResult r, episode.run());
  return report(r, workspace, arguments, context);
}

std::vector<Flag> flags() {
  std::vector<Flag> all = model_flags();
  const std::vector<Flag> own = {
      {"--workspace", "DIR", "where it works (TASK.work)"},
      {"--resume", "", "go on with the run of that workspace"},
      {"--turns", "N", "of the model (200)"},
      {"--tokens", "N", "input and output of all requests (no limit)"},
      {"--cost", "AMOUNT", "in the currency of --prices (no limit)"},
      {"--wall", "SECONDS", "of the run, resumed or not (no limit)"},
      {"--kernels", "N", "that may be judged (100)"},
      {"--preset", "NAME", "article: --kernels 6, its budget of benchmark runs"},
      {"--context", "TOKENS", "that the model takes (131072)"},
      {"--calls", "NAME", "native (default), both: also calls in the text, text: only those"},
      {"--external", "CMD", "another agent's program: 'their-agent {workspace}'"},
      {"--processes", "N", "that it may have at a time (4096)"},
      {"--agent-user", "NAME", "whose account that program runs under (root)"},
      {"--atif", "FILE", "also write the trajectory as ATIF"},
      {"--layout", "NAME", "of the workspace: fiel (default), cuda-agent"},
      {"--device", "NAME", "that the judge uses"},
      {"--python", "FILE", "the Python that has PyTorch"},
      {"--require-isolation", "", "shell commands only inside the full sandbox"},
      kJsonFlag};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace

Command agent_command() {
  return {{"agent", "TASK", "a language model writes a kernel, and the judge scores it", flags(),
           "Keys come from OPENAI_API_KEY or ANTHROPIC_API_KEY. The submission is what is scored,\n"
           "else the last judged kernel; the best of the run is judged once more and reported\n"
           "apart. Every step is kept: --resume goes on after a kill."},
          run};
}

}  // namespace fiel::cli
