// fiel search: many kernels for one task, by a strategy over a proposer, under a budget of
// judgements.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "agent/workspace/kernel_text.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/run_flags.h"
#include "cli/run_keeper.h"
#include "cli/search_task.h"
#include "search/plot.h"
#include "search/record.h"
#include "search/search.h"
#include "store/store.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxTask = 1u << 20;

Result<search::StrategyOptions> strategy_options(const Arguments& arguments) {
  search::StrategyOptions o;
  FIEL_TRY(o.seed, unsigned_value(arguments, "--seed", 1, UINT64_MAX));
  const auto count = [&](const char* flag, uint32_t& value) -> Status {
    FIEL_TRY(const uint64_t n, unsigned_value(arguments, flag, value, 10'000));
    value = static_cast<uint32_t>(n);
    return {};
  };
  FIEL_TRY_STATUS(count("--turns", o.turns));
  FIEL_TRY_STATUS(count("--width", o.width));
  FIEL_TRY_STATUS(count("--branch", o.branch));
  FIEL_TRY_STATUS(count("--islands", o.islands));
  return o;
}

/// A run of the store that holds the search, new or gone on with.
struct Keeper {
  store::Store store;
  store::RunHeader run;
};

Result<Keeper> begin(const Arguments& arguments, const std::string& task,
                     const store::SearchHeader& header) {
  FIEL_TRY(store::Store store, store::Store::open({}));
  store::NewRun run;
  run.begun_ms = now_ms();
  run.name = arguments.value("--run").value_or(fresh_run_name(task, run.begun_ms));
  run.campaign = "search";
  run.folder = fs::current_path().string();
  run.words = words_to_keep(arguments);
  FIEL_TRY(const int64_t id, store.begin_run(run));
  FIEL_TRY_STATUS(store.begin_search(id, header));
  FIEL_TRY(store::RunHeader found, store.find(run.name));
  return Keeper{std::move(store), std::move(found)};
}

/// What a search is made of, from words given now or when it began.
struct Plan {
  Arguments arguments;
  std::string task_path;
  std::string strategy;
  search::StrategyOptions options;
  uint32_t budget = 30;
  std::optional<Keeper> keeper;
  search::History history;
};

Result<Plan> resumed(const Arguments& arguments) {
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  FIEL_TRY(const store::RunHeader run, store.find(*arguments.value("--resume")));
  FIEL_TRY(const store::SearchRecord record, store.load_search(run.id));
  Plan plan;
  plan.arguments = with_words(arguments, run.words);
  plan.task_path = record.header.options["task"].as_string();
  if (const fs::path at(plan.task_path); at.is_relative())
    plan.task_path = (fs::path(run.folder) / at).string();
  const auto text = read_file(plan.task_path, kMaxTask);
  if (!text) return fail(text.error());
  if (sha256_hex(*text) != record.header.options["task_digest"].as_string())
    return fail(ErrorCode::usage, "the task has changed since the search began",
                "begin a new one: kernels of another task do not compare");
  plan.strategy = record.header.strategy;
  plan.budget = record.header.budget;
  FIEL_TRY(plan.history, search::history_of(store, run));
  plan.keeper.emplace(Keeper{std::move(store), run});
  return plan;
}

Result<Plan> plan_of(const Arguments& arguments) {
  Plan plan;
  if (arguments.has("--resume")) {
    if (!arguments.positional.empty())
      return fail(ErrorCode::usage, "'--resume' takes the task from the search");
    FIEL_TRY(plan, resumed(arguments));
  } else {
    if (arguments.positional.size() != 1)
      return fail(ErrorCode::usage, "'fiel search' needs a task",
                  "fiel search tasks/softmax.toml --strategy climb --budget 30");
    plan.arguments = arguments;
    plan.task_path = arguments.positional[0];
    FIEL_TRY(plan.strategy, word_value(arguments, "--strategy", search::strategy_names(), "climb"));
  }
  FIEL_TRY(plan.options, strategy_options(plan.arguments));
  FIEL_TRY(const uint64_t budget, unsigned_value(arguments, "--budget", plan.budget, 1'000'000));
  plan.budget = static_cast<uint32_t>(budget);
  return plan;
}

search::FielJudgeOptions judge_options(const Arguments& arguments, const SearchTask& task,
                                       agent::KernelForm form) {
  search::FielJudgeOptions o;
  o.task = task.path;
  o.form = form;
  o.device = arguments.value("--device").value_or("");
  o.python = arguments.value("--python").value_or("");
  o.budget = arguments.value("--judge-budget").value_or("quick");
  if (arguments.has("--require-isolation")) o.more.push_back("--require-isolation");
  if (const auto words = arguments.value("--judge"))
    for (const std::string_view word : split(*words, ' '))
      if (!word.empty()) o.more.emplace_back(word);
  o.visible_shapes = agent::visible_shapes(task.path);
  return o;
}

std::string score_text(const search::Outcome& o) {
  if (o.measure == search::Measure::speed_up)
    return fmt::format("{:.3f}x (at least {:.3f}x)", o.score, o.score_low);
  if (o.measure == search::Measure::stand_in) return fmt::format("stand-in {:.4f}", o.score);
  return o.correct() ? "not measured" : "";
}

/// Why a right kernel has no number to compare it by.
std::string why_unmeasured(const search::Outcome& o) {
  if (!o.correct() || o.measure != search::Measure::nothing) return "";
  for (const std::string_view line : split(o.feedback, '\n'))
    if (line.starts_with("speed: ") || line.starts_with("there is no profile"))
      return fmt::format("      {}\n", printable(line, 200));
  return "";
}

std::string line_of(const search::Candidate& c) {
  return fmt::format("{:>4}  {:<8}{:<16}{:<28}{}\n", c.number, name_of(c.operation),
                     c.outcome.status, score_text(c.outcome), c.note);
}

/// As the store names it: what it is shows in the ending.
std::string name_of(const search::Candidate& c, const SearchTask& task, agent::KernelForm form) {
  const agent::KernelForm is = task.is_torch() ? agent::form_of(c.source, form) : form;
  return fmt::format("{:04}{}", c.number, fs::path(agent::file_name_of(is)).extension().string());
}

search::SearchOptions search_options(const Plan& plan, const Context& context, Keeper* keeper,
                                     const SearchTask& task, agent::KernelForm form) {
  search::SearchOptions o;
  o.budget = plan.budget;
  o.seed = plan.options.seed;
  o.judge_best_again = !plan.arguments.has("--once");
  o.interrupted = context.interrupted;
  o.on_judged = [&context](const search::Candidate& c, const search::Candidate&) {
    context.story(line_of(c) + why_unmeasured(c.outcome));
  };
  o.on_miss = [&context](const std::string& why) {
    context.story(fmt::format("      not judged: {}\n", printable(why, 300)));
  };
  if (keeper != nullptr)
    o.keep = [keeper, &task, form](const search::Candidate& c) {
      return keeper->store.keep_step(
          keeper->run.id, {task.path, name_of(c, task, form), task.name, std::nullopt},
          search::evidence_of(c, task.text, now_ms()), search::lineage_of(c));
    };
  return o;
}

std::string title_of(const Plan& plan, const SearchTask& task, const std::string& proposer) {
  return fmt::format("{}: {}, {}", task.name, plan.strategy, proposer);
}

Status write_files(const search::SearchResult& r, const Plan& plan, const std::string& title) {
  if (const auto file = plan.arguments.value("--plot"))
    FIEL_TRY_STATUS(write_output(*file, search::plot(r.history, title)));
  const search::Candidate* best = search::best_of(r.history);
  if (const auto file = plan.arguments.value("--out");
      file && best != nullptr && best->outcome.correct())
    FIEL_TRY_STATUS(write_output(*file, best->source));
  return {};
}

int exit_code_of(const search::SearchResult& r) {
  if (r.ended == search::Ended::interrupted) return 130;
  const search::Candidate* best = search::best_of(r.history);
  if (best != nullptr) return best->outcome.correct() ? 0 : 1;
  return r.ended == search::Ended::proposer_failed ? 3 : 5;
}

void report(const search::SearchResult& r, const Plan& plan, const std::string& run,
            const std::string& proposer, const Context& context) {
  if (plan.arguments.has("--json")) {
    Json j = Json::object({{"schema_version", Json(1)},
                           {"run", run.empty() ? Json() : Json(run)},
                           {"strategy", plan.strategy},
                           {"proposer", proposer},
                           {"budget", plan.budget},
                           {"seed", std::to_string(plan.options.seed)}});
    const Json result = search::to_json(r);
    for (const auto& [name, value] : result.members()) j[name] = value;
    context.print_json(j);
    return;
  }
  context.print(fmt::format("{:<10}{}{}{}\n{:<10}{} kernels, {} proposals, {} tokens\n", "ended",
                            name_of(r.ended), r.detail.empty() ? "" : ": ", r.detail, "used",
                            r.history.size(), r.spent.proposals,
                            r.spent.input_tokens + r.spent.output_tokens));
  if (const search::Candidate* best = search::best_of(r.history); best != nullptr) {
    context.print("best      " + line_of(*best).substr(2));
    if (r.best_again)
      context.print(fmt::format("{:<10}{:<16}{}\n", "  again", r.best_again->status,
                                score_text(*r.best_again)));
  }
  if (!run.empty()) context.print(fmt::format("{:<10}{}\n", "run", run));
}

Result<int> run(const Arguments& arguments, const Context& context) {
  FIEL_TRY(Plan plan, plan_of(arguments));
  FIEL_TRY(const SearchTask task, load_search_task(plan.task_path));
  FIEL_TRY(const agent::KernelForm form, asked_form(plan.arguments, task));
  FIEL_TRY(const auto strategy, search::make_strategy(plan.strategy, plan.options));
  FIEL_TRY(const ChosenProposer chosen, proposer_of(plan.arguments, context, task));
  const std::string& proposer = chosen.proposer->name();
  if (!plan.keeper && !plan.arguments.has("--no-store")) {
    FIEL_TRY(Keeper keeper,
             begin(plan.arguments, plan.task_path,
                   {plan.strategy, proposer, plan.budget,
                    Json::object({{"task", plan.task_path},
                                  {"task_digest", sha256_hex(task.text)},
                                  {"device", plan.arguments.value("--device").value_or("")},
                                  {"seed", std::to_string(plan.options.seed)}})}));
    plan.keeper.emplace(std::move(keeper));
  }
  Keeper* keeper = plan.keeper ? &*plan.keeper : nullptr;
  const std::string name = keeper != nullptr ? keeper->run.name : "";
  if (keeper != nullptr) context.story(fmt::format("fiel: run {}\n", name));
  search::FielJudge judge(judge_options(plan.arguments, task, form));
  search::Search search(*strategy, *chosen.proposer, judge,
                        search_options(plan, context, keeper, task, form));
  search.restore(std::move(plan.history));
  auto result = search.run();
  if (keeper != nullptr) {
    const bool done = result && result->ended != search::Ended::interrupted;
    FIEL_TRY_STATUS(keeper->store.set_state(keeper->run.id, done ? "done" : "stopped", now_ms()));
  }
  if (!result) return fail(result.error());
  FIEL_TRY_STATUS(write_files(*result, plan, title_of(plan, task, proposer)));
  report(*result, plan, name, proposer, context);
  return exit_code_of(*result);
}

std::vector<Flag> flags() {
  std::vector<Flag> all = {
      {"--strategy", "NAME", "best-of-n, refine, scale, evolve, beam, climb (default)"},
      {"--proposer", "NAME", "scripted (default: templates, no model), llm"},
      {"--kind", "cu|py",
       "what a model is asked for: bare .cu, or for PyTorch tasks a .py with ModelNew (default)"},
      {"--budget", "N", "judged kernels (30)"},
      {"--device", "NAME", "virtual, cpu (PyTorch tasks), cuda:N"},
      {"--judge-budget", "NAME", "of each judgement: quick (default), standard, thorough"},
      {"--judge", "WORDS", "further flags of fiel judge: '--baselines default --time-budget 20'"},
      {"--seed", "N", "of the search's own draws (1)"},
      {"--turns", "N", "refine: kernels of a trajectory (8)"},
      {"--width", "N", "scale: kernels a round; beam: kernels that are kept (4)"},
      {"--branch", "N", "beam: kernels from each of them (2)"},
      {"--islands", "N", "evolve (2)"},
      {"--start", "KNOBS", "scripted: where it begins, 'threads=64 rows=2' (its own guess)"},
      {"--out", "FILE", "write the best kernel there"},
      {"--plot", "FILE", "write an SVG: best so far against judged kernels and cost"},
      {"--run", "NAME", "the name of this search in the store"},
      {"--resume", "RUN", "go on with a search that was stopped or killed ('last')"},
      {"--no-store", "", "keep no evidence"},
      {"--once", "", "do not judge the best kernel again"},
      {"--python", "FILE", "the Python that has PyTorch"},
      {"--require-isolation", "", "judge only inside the full sandbox"}};
  const std::vector<Flag> model = model_flags();
  all.insert(all.end(), model.begin(), model.end());
  all.push_back(kJsonFlag);
  return all;
}

}  // namespace

Command search_command() {
  return {
      {"search", "TASK", "many kernels for one task, by a strategy under a budget", flags(),
       "Budgets are counted in judged kernels. On a GPU kernels are compared by their measured\n"
       "ratio; on the virtual GPU by a stand-in that says nothing about time; PyTorch tasks "
       "without\n"
       "a GPU have right and wrong alone, and templates are of native tasks. Each kernel is kept\n"
       "with its parents; a search that was killed goes on with --resume RUN. The best kernel is\n"
       "judged once more."},
      run};
}

}  // namespace fiel::cli
