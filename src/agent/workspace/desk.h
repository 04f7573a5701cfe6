// The judge's desk of one workspace: takes the kernel as it lies there, judges a copy, answers.
//
//   FIEL_TRY(Desk desk, Desk::open(workspace, {}));
//   Feedback f = desk.ask(Verb::verify);
//
// It lives outside the sandbox. The kernel is copied first and judged from the copy; fixed files
// are compared with their digests, put back and the change noted. Each judgement is a fresh `fiel`
// process: one crash or leak ends with it. Everything is kept in the workspace's state folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/workspace/feedback.h"
#include "agent/workspace/layout.h"
#include "agent/workspace/ledger.h"
#include "base/process.h"

namespace fiel::agent {

enum class Verb : uint8_t { compile, verify, bench, profile, submit };
std::string_view name_of(Verb verb);
std::optional<Verb> parse_verb(std::string_view name);

struct DeskOptions {
  uint32_t max_judged = 100;           ///< kernels; then every answer is a refusal
  int64_t judge_timeout_ms = 900'000;  ///< of one judgement
  std::string budget = "quick";        ///< of verify; bench and submit use "standard"
  /// Runs `fiel` with these words; empty: this very program. Tests put something else here.
  std::function<Result<ProcessResult>(const std::vector<std::string>& words, int64_t timeout_ms)>
      fiel;
};

class Desk {
 public:
  static Result<Desk> open(const Workspace& workspace, DeskOptions options);

  /// `note`: what the agent says it tried, kept in the ledger.
  Feedback ask(Verb verb, const std::string& note = {});
  /// Judges a kernel of the ledger once more, in a fresh process.
  Feedback judge_again(const std::string& kernel_digest);

  /// Nothing that is asked from now on takes longer than what is left then; empty: no such bound.
  void bound_time(std::function<int64_t()> left_ms) { left_ms_ = std::move(left_ms); }

  const Ledger& ledger() const { return ledger_; }
  uint32_t left() const;
  bool submitted() const;
  /// Fixed files that were found changed, by name, each once.
  const std::vector<std::string>& changed_files() const { return changed_; }
  /// The kernel's text as it was judged; empty where it is unknown.
  std::string kernel_text(const std::string& digest) const;

 private:
  struct Snapshot {
    std::string digest;
    std::filesystem::path path;  ///< what `fiel judge` is given
  };
  Desk(const Workspace& workspace, DeskOptions options, Ledger ledger)
      : workspace_(&workspace), options_(std::move(options)), ledger_(std::move(ledger)) {}
  void check_fixed_files();
  Result<Snapshot> snapshot() const;
  std::filesystem::path path_of(const std::string& digest) const;
  Result<ProcessResult> run(std::vector<std::string> words) const;
  int64_t timeout_ms() const;
  Feedback compile(const Snapshot& kernel) const;
  Feedback profile(const Snapshot& kernel) const;
  Feedback judge(Verb verb, const Snapshot& kernel) const;
  /// What may be said where a hidden shape failed: the same kernel at the visible shapes alone.
  std::string said_of_visible(const Snapshot& kernel) const;

  const Workspace* workspace_;
  DeskOptions options_;
  Ledger ledger_;
  std::function<int64_t()> left_ms_;
  std::vector<std::string> changed_;
};

}  // namespace fiel::agent
