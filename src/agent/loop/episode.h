// One agent at one task: asks the model, carries out its calls, until something ends it.
//
//   Episode episode(workspace, desk, model, {});
//   FIEL_TRY(EpisodeResult r, episode.run());       // goes on where a killed run stopped
//   name_of(r.status); r.scored; r.best;
//
// A ReAct loop with one linear history. Every step is on disk before the next begins. What is
// scored is the submission, else the last judged kernel; the best one of the whole trajectory is
// judged again in a fresh process and reported apart, never in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/loop/conversation.h"
#include "agent/loop/trajectory.h"
#include "agent/model/cost.h"
#include "agent/model/message.h"
#include "agent/tools/toolbox.h"
#include "agent/workspace/desk.h"

namespace fiel::agent {

enum class ExitStatus : uint8_t {
  submitted,
  final_answer,  ///< the model stopped calling tools, a hint notwithstanding
  turn_limit,
  token_limit,
  cost_limit,
  wall_limit,
  process_limit,      ///< another agent's program started too many
  kernel_limit,       ///< all judgements are used up
  context_exhausted,  ///< the prompt cannot be made short enough, or shortening leads nowhere
  format_errors,      ///< three turns in a row whose calls did not fit
  model_failed,       ///< the endpoint, retries included
  interrupted,
};
std::string_view name_of(ExitStatus status);

struct EpisodeOptions {
  uint32_t max_turns = 200;
  int64_t context_tokens = 131'072;
  uint32_t max_output_tokens = 16'384;
  int64_t max_tokens = 0;    ///< input and output of all requests; 0: no limit
  double max_cost = 0;       ///< in the prices' currency; 0: no limit
  int64_t max_wall_ms = 0;   ///< of the run, resumed or not; 0: no limit
  bool native_calls = true;  ///< tools in the request; off: text calls only
  bool text_calls = false;   ///< calls in the text are carried out where there are no native ones
  bool judge_best_again = true;
  std::optional<Prices> prices;
  ToolOptions tools;
  Json about;  ///< goes into the trajectory's first line
  std::function<bool()> interrupted;
  std::function<int64_t()> now_ms;                                      ///< empty: the system's
  std::function<void(uint32_t turn, const std::string& what)> on_step;  ///< may be empty
};

struct EpisodeResult {
  ExitStatus status = ExitStatus::final_answer;
  std::string detail;
  uint32_t turns = 0, compactions = 0;
  std::optional<LedgerEntry> scored, best, best_again;
  std::vector<std::string> changed_files;  ///< fixed ones that the agent touched
  /// Another agent's program: "own process space", where the kernel ends all of it at once, or how
  /// its processes are found instead, and why. Empty for an episode.
  std::string processes;
  Json cost;
};
Json to_json(const EpisodeResult& result);
/// Fills in what the ledger says: the scored kernel, the best one, and that one judged again.
void score(Desk& desk, EpisodeResult& result, bool judge_best_again);

class Episode {
 public:
  Episode(const Workspace& workspace, Desk& desk, Model& model, EpisodeOptions options);
  ~Episode() { desk_.bound_time({}); }
  Episode(const Episode&) = delete;
  Episode& operator=(const Episode&) = delete;
  Result<EpisodeResult> run();

 private:
  using Ended = std::optional<ExitStatus>;
  Status open();
  ChatRequest request() const;
  int64_t elapsed_ms() const;
  int64_t left_ms() const;
  Ended over_budget() const;
  Ended shorten();
  Result<Ended> turn();
  Result<Ended> failed(const ModelFailure& failure);
  Result<Ended> answer_without_calls(const Message& message);
  Result<Ended> carry_out(const std::vector<ToolCall>& calls, bool native);
  ToolResult call(const ToolCall& call);
  Status add(Message message);
  Message summary() const;
  EpisodeResult finish(ExitStatus status);
  Status close(const EpisodeResult& result);

  const Workspace& workspace_;
  Desk& desk_;
  Model& model_;
  EpisodeOptions options_;
  Toolbox tools_;
  Conversation conversation_;
  Trajectory trajectory_;
  CostMeter cost_;
  std::string detail_;
  int64_t begun_ms_ = 0, elapsed_before_ms_ = 0;
  uint32_t turn_ = 0, compactions_ = 0;
  uint32_t idle_compactions_ = 0;  ///< since a kernel was written or judged
  uint32_t hints_ = 0, format_errors_ = 0, overflows_ = 0;
};

}  // namespace fiel::agent
