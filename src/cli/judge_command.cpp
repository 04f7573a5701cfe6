// fiel judge: is this kernel right? One verdict a kernel, with evidence.
#include "cli/command.h"
#include "cli/judge_many.h"
#include "cli/pair_judging.h"
#include "cli/pairing.h"

namespace fiel::cli {
namespace {

Result<int> run(const Arguments& arguments, const Context& context) {
  FIEL_TRY(const Arguments all, with_flags_of_run(arguments));
  FIEL_TRY(PairJudging judging, PairJudging::create(all, context));
  JudgePlan plan{.arguments = all};
  if (all.has("--self") && all.has("--tasks") && !all.has("--resume")) {
    plan.several = plan.campaign = true;
    FIEL_TRY(plan.pairs, tasks_alone(*all.value("--tasks")));
  } else if (all.has("--self") && !all.has("--resume")) {
    if (all.positional.size() != 1)
      return fail(ErrorCode::usage, "'--self' takes a task and no kernel",
                  "fiel judge --self task.py");
    plan.pairs.push_back(entry_of(all.positional.front(), all.positional.front()));
  } else {
    FIEL_TRY(plan, plan_judgements(all, context));
  }
  const JudgePairFunction judge_pair = [&](const JudgePair& pair,
                                           const ProgressFunction& progress) {
    return judging.judge(pair, progress);
  };
  return judge_many(plan, judge_pair, context);
}

std::vector<Flag> flags() {
  std::vector<Flag> all{
      {"--device", "NAME", "virtual (PTX on the CPU), cpu (PyTorch tasks), cuda:N"},
      {"--protocol", "NAME",
       "strict (default), or another's rules: naive, kernelbench, cuda-agent, "
       "kernelbench-verified"},
      {"--shapes", "A,B", "only these shape sets of the task"},
      {"--seed", "N", "replay a verdict; otherwise drawn in secret"},
      {"--budget", "NAME", "work per kernel: quick, standard, thorough"},
      {"--numerics", "NAME", "class an f32 task accepts: fp32, tf32 (default), any"},
      {"--timeout", "SECONDS", "wall-clock limit of one call (60)"},
      {"--time-limit", "SECONDS",
       "of a whole judgement, then undecided (by budget: 300, 900, 7200)"},
      {"--require-isolation", "", "judge only inside the full sandbox"},
      {"-v", "", "every finding, and what isolation was in force"}};
  for (const Flag& f : torch_judging_flags()) all.push_back(f);
  for (const Flag& f : judge_many_flags()) all.push_back(f);
  return all;
}

}  // namespace

Command judge_command() {
  return {
      {"judge", "TASK KERNEL...", "is this kernel right? one verdict each, with evidence", flags(),
       "A KERNEL is a .cu that defines fiel_run (fiel/kernel.h), or a folder of them. The judge\n"
       "goes on after each. Speed is not measured on the virtual device.\n" +
           std::string(kJudgeManyHelp)},
      run};
}

}  // namespace fiel::cli
