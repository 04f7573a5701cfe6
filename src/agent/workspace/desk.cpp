#include "agent/workspace/desk.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "agent/workspace/compile_feedback.h"
#include "agent/workspace/kernel_text.h"
#include "agent/workspace/module_build.h"
#include "base/hash.h"
#include "base/text.h"
#include "task/task.h"

namespace fiel::agent {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 5> kVerbs = {"compile", "verify", "bench", "profile",
                                                    "submit"};
constexpr uint64_t kMaxKernelBytes = 4u << 20;

Feedback refusal(std::string text) {
  Feedback f;
  f.text = bounded_lines(text, kFeedbackLines, kFeedbackBytes);
  return f;
}

}  // namespace

std::string_view name_of(Verb verb) { return kVerbs[static_cast<size_t>(verb)]; }

std::optional<Verb> parse_verb(std::string_view name) {
  const auto it = std::find(kVerbs.begin(), kVerbs.end(), name);
  if (it == kVerbs.end()) return {};
  return static_cast<Verb>(it - kVerbs.begin());
}

Result<Desk> Desk::open(const Workspace& workspace, DeskOptions options) {
  FIEL_TRY(Ledger ledger, Ledger::open(workspace.ledger()));
  if (!options.fiel)
    options.fiel = [](const std::vector<std::string>& words, int64_t timeout_ms) {
      ProcessRequest q{.arguments = {executable_path().string()},
                       .timeout_ms = timeout_ms,
                       .max_output_bytes = 64u << 20};
      q.arguments.insert(q.arguments.end(), words.begin(), words.end());
      return run_process(q);
    };
  return Desk(workspace, std::move(options), std::move(ledger));
}

uint32_t Desk::left() const {
  const auto used = static_cast<uint32_t>(ledger_.entries().size());
  return used >= options_.max_judged ? 0 : options_.max_judged - used;
}

bool Desk::submitted() const {
  return std::any_of(ledger_.entries().begin(), ledger_.entries().end(),
                     [](const LedgerEntry& e) { return e.verb == "submit"; });
}

void Desk::check_fixed_files() {
  for (const auto& [name, digest] : workspace_->fixed()) {
    const auto now = workspace_->files().read(name, kMaxKernelBytes);
    if (now && sha256_hex(*now) == digest) continue;
    if (std::find(changed_.begin(), changed_.end(), name) == changed_.end())
      changed_.push_back(name);
    if (const auto kept = read_file(workspace_->state() / "fixed" / name, kMaxKernelBytes))
      (void)workspace_->files().write(name, *kept, mode_of_fixed(name));
  }
}

fs::path Desk::path_of(const std::string& digest) const {
  const fs::path folder = workspace_->state() / "kernels" / digest;
  return workspace_->form() == KernelForm::folder ? folder : folder / workspace_->kernel_name();
}

Result<Desk::Snapshot> Desk::snapshot() const {
  Digest digest;
  std::vector<std::pair<std::string, std::string>> parts;
  for (const std::string& name : workspace_->kernel_files()) {
    FIEL_TRY(std::string bytes, workspace_->files().read(name, kMaxKernelBytes));
    digest.add(name).add(bytes);
    parts.push_back({name, std::move(bytes)});
  }
  if (parts.empty()) return fail(ErrorCode::not_found, "there is no kernel yet");
  Snapshot s{digest.hex(), {}};
  s.path = path_of(s.digest);
  std::error_code error;
  const fs::path folder = workspace_->state() / "kernels" / s.digest;
  fs::create_directories(folder, error);
  FIEL_TRY(const Folder kept, Folder::open(folder));
  for (const auto& [name, bytes] : parts) FIEL_TRY_STATUS(kept.write(name, bytes));
  if (workspace_->form() == KernelForm::folder) {
    FIEL_TRY(const std::string task, read_file(workspace_->task(), kMaxKernelBytes));
    FIEL_TRY_STATUS(kept.write("model.py", task));
  }
  return s;
}

std::string Desk::kernel_text(const std::string& digest) const {
  const auto text = read_file(workspace_->state() / "kernels" / digest / workspace_->kernel_name(),
                              kMaxKernelBytes);
  return text ? *text : "";
}

Result<ProcessResult> Desk::run(std::vector<std::string> words) const {
  const bool python = workspace_->form() != KernelForm::cu;
  if (!workspace_->device().empty()) words.insert(words.end(), {"--device", workspace_->device()});
  if (python && !workspace_->python().empty())
    words.insert(words.end(), {"--python", workspace_->python()});
  return options_.fiel(words, timeout_ms());
}

int64_t Desk::timeout_ms() const {
  if (!left_ms_) return options_.judge_timeout_ms;
  return std::clamp<int64_t>(left_ms_(), 1, options_.judge_timeout_ms);
}

Feedback Desk::compile(const Snapshot& kernel) const {
  if (workspace_->form() != KernelForm::cu)
    return module_build_feedback({kernel.path, workspace_->task(), workspace_->python(),
                                  workspace_->device(), timeout_ms()});
  return compile_feedback(kernel.path, timeout_ms());
}

Feedback Desk::profile(const Snapshot& kernel) const {
  const std::vector<std::string> words = {"profile", workspace_->task().string(),
                                          kernel.path.string()};
  const bool gpu = workspace_->device().starts_with("cuda");
  if (!gpu && workspace_->form() != KernelForm::cu)
    return refusal(
        "without a GPU profiles are of bare kernels; bench names the kernels that a module "
        "launches");
  const auto ran = gpu ? run(words) : options_.fiel(words, timeout_ms());
  if (!ran) return refusal(to_string(ran.error()));
  Feedback f;
  f.good = ran->ok();
  f.text = bounded_lines(f.good ? ran->out : ran->err, 2 * kFeedbackLines, 2 * kFeedbackBytes);
  return f;
}

std::string Desk::said_of_visible(const Snapshot& kernel) const {
  if (workspace_->form() != KernelForm::cu) return "";
  const auto task = task::load_task(workspace_->task().string());
  if (!task) return "";
  // The small ones: what a benchmark shape would add is not worth minutes on the virtual device.
  std::string names;
  for (const task::ShapeSet& s : task->shape_sets)
    if (!s.benchmark) names += (names.empty() ? "" : ",") + s.name;
  if (names.empty()) return "";
  const auto ran = run({"judge", workspace_->task().string(), kernel.path.string(), "--json",
                        "--no-store", "--budget", options_.budget, "--shapes", names});
  const auto document = ran ? Json::parse(ran->out) : Result<Json>(Json());
  if (!document || !(*document)["status"].is_string()) return "";
  const Feedback f = feedback_of(*document, visible_shapes(workspace_->task()));
  if (f.hidden_failed) return "";
  return f.good ? "the visible shapes pass: look for a size that is assumed\n"
                : "at the visible shapes alone:\n" + f.text;
}

Feedback Desk::judge(Verb verb, const Snapshot& kernel) const {
  const auto ran =
      run({"judge", workspace_->task().string(), kernel.path.string(), "--json", "--no-store",
           "--budget", verb == Verb::verify ? options_.budget : std::string("standard")});
  if (!ran) return refusal(to_string(ran.error()));
  if (ran->timed_out) return refusal("the judge did not come to an end in its time");
  const auto document = Json::parse(ran->out);
  if (!document || !(*document)["status"].is_string())
    return refusal("the judge could not judge: " + printable(trim(ran->err), 400));
  Feedback f = feedback_of(*document, visible_shapes(workspace_->task()));
  f.entry.kernel = kernel.digest;
  f.entry.verb = name_of(verb);
  if (f.hidden_failed) f.text += said_of_visible(kernel);
  // The whole verdict, seed and samples too, for those who may see it.
  std::error_code error;
  fs::create_directories(workspace_->state() / "verdicts", error);
  const auto kept = write_file_atomic(
      workspace_->state() / "verdicts" / fmt::format("{}.json", ledger_.entries().size() + 1),
      ran->out);
  if (!kept) return refusal(to_string(kept.error()));
  return f;
}

Feedback Desk::ask(Verb verb, const std::string& note) {
  check_fixed_files();
  if (left_ms_ && left_ms_() <= 0) return refusal("no time is left");
  const auto kernel = snapshot();
  if (!kernel) return refusal(to_string(kernel.error()));
  if (verb == Verb::compile) return compile(*kernel);
  if (verb == Verb::profile) return profile(*kernel);
  if (left() == 0)
    return refusal(
        fmt::format("no judgements are left: {} kernels were judged", ledger_.entries().size()));
  Feedback f = judge(verb, *kernel);
  if (f.entry.kernel.empty()) return f;  // nothing was judged
  f.entry.note = printable(note, 300);
  if (const auto kept = ledger_.append(f.entry); !kept) return refusal(to_string(kept.error()));
  f.entry = ledger_.entries().back();
  f.text += fmt::format("judged kernels: {}, left: {}\n", ledger_.entries().size(), left());
  return f;
}

Feedback Desk::judge_again(const std::string& digest) {
  Feedback f = judge(Verb::submit, {digest, path_of(digest)});
  f.entry.verb = "again";
  return f;
}

}  // namespace fiel::agent
