// A language model as a proposer: one prompt, one whole kernel, no tools.
//
//   ModelProposer proposer(model, task_text, skeleton, {});
//
// What it is told follows from the operation: nothing but the task (fresh), the last kernel and a
// summary of all that was tried (refine), one kernel and the judge's words (respond, mutate), two
// kernels (cross). Reasoning of earlier answers is never sent again.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/model/cost.h"
#include "agent/model/message.h"
#include "agent/workspace/layout.h"
#include "search/proposer.h"

namespace fiel::search {

struct ModelProposerOptions {
  agent::KernelForm form = agent::KernelForm::cu;  ///< what is asked for
  bool torch_task = false;                         ///< the task's text is Python
  bool on_cpu = false;                             ///< a module that finds no GPU
  uint32_t max_output_tokens = 16'384;
  std::optional<agent::Prices> prices;
};

class ModelProposer : public Proposer {
 public:
  /// `skip`: what a scripted model needs when a search goes on; may be empty.
  ModelProposer(agent::Model& model, std::string task_text, std::string skeleton,
                ModelProposerOptions options, std::function<void(uint32_t)> skip = {})
      : model_(model),
        task_text_(std::move(task_text)),
        skeleton_(std::move(skeleton)),
        options_(std::move(options)),
        skip_(std::move(skip)) {}

  Answer propose(const Request& request) override;
  const std::string& name() const override { return model_.name(); }
  Novelty novelty() const override { return Novelty::words; }
  void skip(uint32_t proposals) override {
    if (skip_) skip_(proposals);
  }

 private:
  std::string prompt(const Request& request) const;
  std::string system_prompt() const;
  agent::Model& model_;
  std::string task_text_, skeleton_;
  ModelProposerOptions options_;
  std::function<void(uint32_t)> skip_;
};

/// The last fenced block that names what a kernel of that form defines, fiel_run or ModelNew, else
/// the longest; empty where there is none.
std::string kernel_in(std::string_view answer, agent::KernelForm form = agent::KernelForm::cu);
/// The line that begins with "note:", bounded; else the first words of the answer.
std::string note_in(std::string_view answer);

}  // namespace fiel::search
