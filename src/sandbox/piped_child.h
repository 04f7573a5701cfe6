// A started process that leads its own group and writes into one pipe: waiting, output and the end,
// the same for those that are confined and for those that are ours.
//
// Derived classes say what they keep of the output, what its end means, and what is looked at on
// the way. Each ends its process in its own destructor, where those answers still exist.
#pragma once

#include <string_view>

#include "sandbox/spawn.h"

namespace fiel::sandbox {

class PipedChild : public Child {
 public:
  pid_t pid() const final { return pid_; }
  int exit_descriptor() const final { return pidfd_.get(); }
  bool running() final;
  void kill() final;
  bool pump(int64_t timeout_ms, int also) final;
  void wait(int64_t timeout_ms) final;

 protected:
  /// `out`: the pipe's read end, not blocking.
  void follow(pid_t pid, Fd out);
  bool ended() const { return ended_; }

 private:
  virtual void keep(std::string_view bytes) = 0;
  /// Once, with signal and exit_code set.
  virtual void at_end() = 0;
  virtual void look() {}
  void drain();
  void reap(bool block);

  pid_t pid_ = -1;
  Fd out_, pidfd_;
  bool ended_ = false;
};

}  // namespace fiel::sandbox
