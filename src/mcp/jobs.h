// Long work behind handles: one process at a time, the others wait their turn.
//
//   const std::string id = jobs.start({"judge", task, kernel, "--json"}, "verify");
//   jobs.poll();                                  // whenever something may have ended
//   if (const Job* job = jobs.find(id); job && job->ended()) …
//
// One at a time, since the machine is being measured. Everything happens on the caller's thread;
// nothing blocks. What ended stays until kMaxKept newer ones have ended.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace fiel::mcp {

/// A process that was started, and its end.
class Running {
 public:
  virtual ~Running() = default;
  virtual bool running() = 0;
  virtual void kill() = 0;
  virtual int descriptor() const { return -1; }  ///< readable at its end; -1: none
  int exit_code = -1;
  std::string out, err;  ///< once it has ended
};
/// `fiel` with these words.
using Launcher =
    std::function<Result<std::unique_ptr<Running>>(const std::vector<std::string>& words)>;
Launcher this_program();

struct Job {
  enum class State : uint8_t { waiting, running, done, failed, cancelled };
  std::string id, tool;
  State state = State::waiting;
  std::vector<std::string> words;
  std::shared_ptr<TempDir> folder;  ///< the kernel's, until the end
  std::vector<std::string> visible_shapes;
  int exit_code = -1;
  std::string out, err;
  int64_t begun_ms = 0;
  bool ended() const { return state >= State::done; }
};
std::string_view name_of(Job::State state);

inline constexpr size_t kMaxKept = 64, kMaxWaiting = 32;

class Jobs {
 public:
  Jobs(Launcher launcher, int64_t timeout_ms)
      : launcher_(std::move(launcher)), timeout_ms_(timeout_ms) {}
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// ErrorCode::limit where too many wait. `job`: all but id and state.
  Result<std::string> start(Job job);
  void poll(int64_t now_ms);
  void cancel(const std::string& id);
  const Job* find(const std::string& id) const;
  /// Of the process that runs, to wait for; -1: none.
  int descriptor() const { return running_ ? running_->descriptor() : -1; }
  bool busy() const { return running_ != nullptr; }

 private:
  Job* current();
  void begin_next(int64_t now_ms);
  void end(Job& job, Job::State state);

  Launcher launcher_;
  int64_t timeout_ms_;
  std::deque<Job> jobs_;
  std::unique_ptr<Running> running_;
  uint64_t started_ = 0;
};

}  // namespace fiel::mcp
