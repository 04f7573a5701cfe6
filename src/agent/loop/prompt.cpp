#include "agent/loop/prompt.h"

#include <fmt/core.h>

#include "agent/loop/text_calls.h"
#include "agent/tools/toolbox.h"

namespace fiel::agent {
namespace {

constexpr size_t kMaxShownBytes = 24'000;
constexpr size_t kMaxTried = 40;

std::string file_text(const Workspace& w, const std::string& name) {
  const auto text = w.files().read(name, 2u << 20);
  return text ? cut_middle(*text, kMaxShownBytes) : std::string("(not there)");
}

std::string tried(const Ledger& ledger) {
  std::string out;
  const auto& all = ledger.entries();
  for (size_t i = all.size() > kMaxTried ? all.size() - kMaxTried : 0; i < all.size(); ++i) {
    const LedgerEntry& e = all[i];
    out += fmt::format("{}. {} {}: {}", e.number, e.verb, e.kernel.substr(0, 8), e.status);
    if (e.ratio > 0) out += fmt::format(", {:.3f}x", e.ratio);
    if (!e.correct()) out += " (" + e.reason.substr(0, 120) + ")";
    if (!e.note.empty()) out += " – " + e.note;
    out += "\n";
  }
  return out.empty() ? "nothing was judged yet\n" : out;
}

}  // namespace

std::string system_prompt(bool with_text_calls, bool native_calls) {
  std::string text =
      "You write GPU kernels. You work in a folder through tools; a judge outside of it says "
      "whether\n"
      "the kernel is right and how fast it is. Think, then call a tool; look at what it says; go "
      "on.\n"
      "Verify before you submit. Submitting ends the work, and the kernel as it is then is scored.";
  if (with_text_calls || !native_calls) text += "\n\n" + text_call_instructions(Toolbox::specs());
  return text;
}

std::string first_prompt(const Workspace& w) {
  return fmt::format("{}\n\n# {}\n\n```\n{}\n```\n\n# {} as it is now\n\n```\n{}\n```\n",
                     file_text(w, "SKILL.md"), w.task_name(), file_text(w, w.task_name()),
                     w.kernel_name(), file_text(w, w.kernel_name()));
}

std::string summary_prompt(const Workspace& w, const Desk& desk, const std::string& to_do,
                           size_t max_bytes) {
  const auto best = desk.ledger().best();
  std::string head = fmt::format(
      "Earlier messages were dropped to save space. The task ({}) and SKILL.md can be read "
      "again.\n\n"
      "# Task\n\n```\n{}\n```\n\n# What was tried\n\n{}\n# To do\n\n{}\n",
      w.task_name(), cut_middle(file_text(w, w.task_name()), max_bytes / 4),
      cut_middle(tried(desk.ledger()), max_bytes / 5),
      to_do.empty() ? "(no list)" : cut_middle(to_do, max_bytes / 10));
  const std::string kernel = best ? desk.kernel_text(best->kernel) : file_text(w, w.kernel_name());
  const std::string title =
      best ? fmt::format("# Best kernel so far (judgement {}, {})", best->number, best->status)
           : "# The kernel as it is now";
  const size_t room = max_bytes > head.size() + 200 ? max_bytes - head.size() - 200 : 100;
  return fmt::format("{}\n{}\n\n```\n{}\n```\n\nGo on from here.\n", cut_middle(head, max_bytes),
                     title, cut_middle(kernel, room));
}

}  // namespace fiel::agent
