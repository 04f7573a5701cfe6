// Every judged kernel of a workspace, in order: what was asked, which kernel, what came of it.
//
//   FIEL_TRY(Ledger ledger, Ledger::open(workspace.ledger()));
//   ledger.append(entry);  ledger.best();
//
// Append-only, one JSON line each, written before anybody hears of it. Rewards, reports and the
// agent's own summary read it; kernels themselves lie beside it by digest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace fiel::agent {

struct LedgerEntry {
  uint32_t number = 0;  ///< from 1
  std::string verb;     ///< "verify", "bench", "submit"
  std::string kernel;   ///< SHA-256 of its files
  std::string status;   ///< of the verdict
  std::string reason;   ///< as the agent was told: nothing of hidden shapes
  std::string speed = "not_measured";
  double ratio = 0, ratio_low = 0;  ///< against torch.compile, else the headline; 0: not measured
  int reward = 0;
  std::string note;  ///< of the agent: what it tried
  bool correct() const { return status == "correct"; }
};
Json to_json(const LedgerEntry& entry);

class Ledger {
 public:
  static Result<Ledger> open(const std::filesystem::path& file);
  Status append(LedgerEntry entry);
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  /// The fastest correct one; where nothing was timed, the latest correct one.
  std::optional<LedgerEntry> best() const;

 private:
  std::filesystem::path file_;
  std::vector<LedgerEntry> entries_;
};

}  // namespace fiel::agent
