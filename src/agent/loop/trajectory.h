// What happened in an episode, on disk after every step: JSON lines that a killed run resumes from.
//
//   FIEL_TRY(Trajectory t, Trajectory::open(workspace.trajectory()));
//   t.add_message(turn, message, extra);   t.add_compaction(summary, kept);
//   t.messages();                           // as the model saw them last
//   t.end("submitted", …);
//
// Lines: begin, message, compaction, pause, end. Messages keep token ids and log-probabilities
// where the server gave them; a reply without is marked as not for on-policy training.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/model/message.h"
#include "base/json.h"
#include "base/result.h"

namespace fiel::agent {

class Trajectory {
 public:
  /// Reads what is there; a file that does not exist is an empty trajectory.
  static Result<Trajectory> open(const std::filesystem::path& file);

  Status begin(Json about);
  Status add_message(uint32_t turn, const Message& message, Json extra = Json::object());
  Status add_reply(uint32_t turn, const Reply& reply, const Json& cost, int64_t elapsed_ms);
  Status add_compaction(const Message& summary, int64_t kept);
  Status end(const std::string& status, Json result);
  /// Why it stopped for now: it can go on.
  Status pause(const std::string& status, int64_t elapsed_ms);

  bool begun() const { return !lines_.empty(); }
  bool ended() const;
  uint32_t turns() const;
  /// How long the run had been at work when its last line was written, earlier processes too.
  int64_t elapsed_ms() const;
  const std::vector<Json>& lines() const { return lines_; }
  Result<std::vector<Message>> messages() const;
  /// Of the last reply, as CostMeter wrote it.
  Json last_cost() const;

 private:
  Status add(Json line);
  std::filesystem::path file_;
  std::vector<Json> lines_;
};

}  // namespace fiel::agent
