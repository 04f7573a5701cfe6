#include "agent/workspace/ledger.h"

#include <fmt/core.h>

#include "agent/append_line.h"

namespace fiel::agent {
namespace {

LedgerEntry entry_of(const Json& j) {
  LedgerEntry e;
  e.number = static_cast<uint32_t>(j["number"].as_int());
  e.verb = j["verb"].as_string();
  e.kernel = j["kernel"].as_string();
  e.status = j["status"].as_string();
  e.reason = j["reason"].as_string();
  e.speed = j["speed"].as_string();
  e.ratio = j["ratio"].as_double();
  e.ratio_low = j["ratio_low"].as_double();
  e.reward = static_cast<int>(j["reward"].as_int());
  e.note = j["note"].as_string();
  return e;
}

}  // namespace

Json to_json(const LedgerEntry& e) {
  return Json::object({{"number", e.number},
                       {"verb", e.verb},
                       {"kernel", e.kernel},
                       {"status", e.status},
                       {"reason", e.reason},
                       {"speed", e.speed},
                       {"ratio", e.ratio > 0 ? Json(e.ratio) : Json()},
                       {"ratio_low", e.ratio > 0 ? Json(e.ratio_low) : Json()},
                       {"reward", e.reward},
                       {"note", e.note}});
}

Result<Ledger> Ledger::open(const std::filesystem::path& file) {
  Ledger ledger;
  ledger.file_ = file;
  FIEL_TRY(const auto lines, whole_lines(file, 256u << 20));
  for (const std::string& line : lines) {
    FIEL_TRY(const Json j, Json::parse(line));
    ledger.entries_.push_back(entry_of(j));
  }
  return ledger;
}

Status Ledger::append(LedgerEntry entry) {
  entry.number = static_cast<uint32_t>(entries_.size()) + 1;
  FIEL_TRY_STATUS(append_line(file_, to_json(entry).dump(), true));
  entries_.push_back(std::move(entry));
  return {};
}

std::optional<LedgerEntry> Ledger::best() const {
  const LedgerEntry* best = nullptr;
  for (const LedgerEntry& e : entries_)
    if (e.correct() && (best == nullptr || e.reward > best->reward ||
                        (e.reward == best->reward && e.ratio_low >= best->ratio_low)))
      best = &e;
  if (best == nullptr) return {};
  return *best;
}

}  // namespace fiel::agent
