#include "search/model_proposer.h"

#include <fmt/core.h>

#include <algorithm>

#include "agent/workspace/kernel_text.h"
#include "base/text.h"

namespace fiel::search {
namespace {

using agent::KernelForm;

constexpr size_t kSummaryLines = 24;
constexpr size_t kShownKernelBytes = 32'000;

constexpr const char* kSystem =
    "You write CUDA kernels. A judge compiles what you write, runs it on inputs and sizes that you "
    "do\n"
    "not see, and times it. Answer with one short line that begins with 'note:' and says what "
    "this\n"
    "version tries, then with the whole file in one ```cuda block. The file includes "
    "<fiel/kernel.h>\n"
    "and defines fiel_run, takes every size from its tensors, launches on the stream it is given,\n"
    "writes every element of every output and returns 0. No libraries, no text after the block.";

constexpr const char* kModuleSystem =
    "You write GPU kernels for PyTorch. A judge builds what you write, runs it on inputs that you "
    "do\n"
    "not see, and times it. Answer with one short line that begins with 'note:' and says what "
    "this\n"
    "version tries, then with the whole file in one ```python block. The file defines ModelNew "
    "with\n"
    "the constructor and the forward of the task's Model; parameters and buffers keep their names, "
    "so\n"
    "that weights can be copied. CUDA comes in by torch.utils.cpp_extension.load_inline, or by "
    "Triton.\n"
    "No result is kept from one call to the next, inputs stay as they are. No text after the "
    "block.";

constexpr const char* kOnCpu =
    "\nIt is judged on the CPU: there is no GPU, no CUDA and no Triton, and nothing is timed.";

std::string fenced(const std::string& source) {
  const bool python = agent::form_of(source, KernelForm::cu) == KernelForm::python;
  return fmt::format("```{}\n{}\n```\n", python ? "python" : "cuda",
                     printable(source, kShownKernelBytes));
}

std::string result_of(const Candidate& c) {
  std::string text = fmt::format("kernel {}: {}", c.number, c.outcome.status);
  if (c.outcome.measure == Measure::speed_up && c.outcome.score > 0)
    text += fmt::format(", {:.3f}x", c.outcome.score);
  if (c.outcome.measure == Measure::stand_in && c.outcome.score > 0)
    text += fmt::format(", stand-in {:.4f} (larger is better; not a time)", c.outcome.score);
  if (!c.outcome.correct() && !c.outcome.reason.empty()) text += ", " + c.outcome.reason;
  return text;
}

std::string summary(const History& history) {
  std::string text;
  const size_t begin = history.size() > kSummaryLines ? history.size() - kSummaryLines : 0;
  for (size_t i = begin; i < history.size(); ++i)
    text += fmt::format("- {}{}{}\n", result_of(history[i]), history[i].note.empty() ? "" : "; ",
                        history[i].note);
  return text;
}

std::string shown(const Candidate& c, const char* title) {
  return fmt::format("# {}\n\n{}\n{}\nThe judge said:\n\n{}\n\n", title, result_of(c),
                     fenced(c.source), c.outcome.feedback);
}

const char* instruction(Operation operation) {
  switch (operation) {
    case Operation::fresh:
      return "Write the kernel.";
    case Operation::refine:
      return "Write the next version: repair what is wrong, else make it faster. Do not repeat "
             "what was tried.";
    case Operation::respond:
      return "Write the kernel anew so that what the judge said no longer holds.";
    case Operation::mutate:
      return "Change one thing that matters about this kernel: its mapping to threads, its memory "
             "accesses, its passes, its launch. Keep what works.";
    case Operation::cross:
      return "Write one kernel that has what is good of both.";
    case Operation::climb:
      return "Make the smallest change that could make this kernel faster.";
  }
  return "";
}

}  // namespace

std::string ModelProposer::prompt(const Request& q) const {
  std::string text = fmt::format("# Task\n\n```{}\n{}\n```\n\n",
                                 options_.torch_task ? "python" : "toml", task_text_);
  if (q.parents.empty()) text += fmt::format("# How the file begins\n\n{}\n", fenced(skeleton_));
  if (q.operation == Operation::refine)
    text += fmt::format("# What was tried\n\n{}\n", summary(q.history));
  for (size_t i = 0; i < q.parents.size(); ++i)
    text += shown(*q.parents[i], q.parents.size() == 1 ? "Kernel"
                                 : q.operation == Operation::refine
                                     ? (i == 0 ? "Last kernel" : "Best kernel")
                                     : (i == 0 ? "First kernel" : "Second kernel"));
  return text + instruction(q.operation);
}

std::string ModelProposer::system_prompt() const {
  if (options_.form == KernelForm::cu) return kSystem;
  return std::string(kModuleSystem) + (options_.on_cpu ? kOnCpu : "");
}

Answer ModelProposer::propose(const Request& q) {
  Answer answer;
  answer.spent.proposals = 1;
  agent::ChatRequest request;
  request.system = system_prompt();
  request.messages = {agent::user_message(prompt(q))};
  request.max_output_tokens = options_.max_output_tokens;
  const agent::Completion reply = model_.complete(request);
  if (!reply) {
    answer.failed = true;
    answer.why = fmt::format("model: {}: {}", name_of(reply.error().kind), reply.error().message);
    return answer;
  }
  agent::CostMeter meter(options_.prices);
  meter.add(reply->usage);
  answer.spent.input_tokens = meter.input_tokens();
  answer.spent.output_tokens = meter.output_tokens();
  answer.spent.cost = meter.money().value_or(0);
  std::string kernel = kernel_in(reply->message.text, options_.form);
  if (kernel.empty()) {
    answer.why = "the answer holds no kernel";
    return answer;
  }
  answer.proposal = Proposal{std::move(kernel), note_in(reply->message.text), ""};
  return answer;
}

std::string kernel_in(std::string_view answer, KernelForm form) {
  const std::string_view entry = form == KernelForm::cu ? "fiel_run" : "ModelNew";
  std::string_view best;
  bool best_defines = false;
  bool inside = false;
  size_t begin = 0;
  for (size_t at = 0; at <= answer.size();) {
    const size_t end = std::min(answer.find('\n', at), answer.size());
    if (trim(answer.substr(at, end - at)).starts_with("```")) {
      const std::string_view block = inside ? answer.substr(begin, at - begin) : "";
      const bool defines = block.find(entry) != std::string_view::npos;
      // Of several versions in one answer the last is the one that is meant.
      if (inside && (defines || (!best_defines && block.size() > best.size())))
        best = block, best_defines = defines;
      inside = !inside;
      begin = end + 1;
    }
    at = end + 1;
  }
  return std::string(best);
}

std::string note_in(std::string_view answer) {
  for (std::string_view line : split(answer, '\n')) {
    line = trim(line);
    if (line.starts_with("note:") || line.starts_with("Note:"))
      return printable(trim(line.substr(5)), 200);
  }
  return printable(trim(answer.substr(0, answer.find('\n'))), 120);
}

}  // namespace fiel::search
