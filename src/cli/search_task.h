// What a search is about and who proposes: a task of either kind, a proposer that fits it.
//
//   FIEL_TRY(const SearchTask task, load_search_task("tasks/torch/linear_gelu.py"));
//   FIEL_TRY(const ChosenProposer chosen, proposer_of(arguments, context, task));
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/workspace/layout.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "search/proposer.h"
#include "task/task.h"

namespace fiel::cli {

struct SearchTask {
  std::string path, name, text;
  std::optional<task::Task> native;  ///< empty: a PyTorch task
  bool is_torch() const { return !native; }
};
Result<SearchTask> load_search_task(const std::string& path);

/// What kernels a search asks for: --kind, else what its task and its device take.
Result<agent::KernelForm> asked_form(const Arguments& arguments, const SearchTask& task);

/// A proposer and what it stands on.
struct ChosenProposer {
  std::unique_ptr<ChosenModel> model;
  std::unique_ptr<search::Proposer> proposer;
};
Result<ChosenProposer> proposer_of(const Arguments& arguments, const Context& context,
                                   const SearchTask& task);

}  // namespace fiel::cli
