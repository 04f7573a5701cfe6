#include "sandbox/piped_child.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace fiel::sandbox {

void PipedChild::follow(pid_t pid, Fd out) {
  pid_ = pid;
  out_ = std::move(out);
  pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool PipedChild::running() {
  reap(false);
  return !ended_;
}

void PipedChild::kill() {
  if (ended_ || pid_ <= 0) return;
  killed_by_us = true;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
}

bool PipedChild::pump(int64_t timeout_ms, int also) {
  pollfd fds[3] = {{also, POLLIN, 0}, {out_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}};
  if (ended_) fds[2].fd = -1;
  ::poll(fds, 3, static_cast<int>(std::clamp<int64_t>(timeout_ms, 0, 1000)));
  if (fds[1].revents) drain();
  if (fds[2].revents) reap(false);
  look();
  return fds[0].revents != 0;
}

void PipedChild::wait(int64_t timeout_ms) {
  int64_t waited = 0;
  while (!ended_ && waited < timeout_ms) {
    pollfd fds[2] = {{pidfd_.get(), POLLIN, 0}, {out_.get(), POLLIN, 0}};
    int step = static_cast<int>(std::min<int64_t>(50, timeout_ms - waited));
    int ready = ::poll(fds, 2, step);
    if (ready <= 0) waited += step;
    if (fds[1].revents) drain();
    reap(false);
    if (fds[1].revents && !fds[0].revents) waited += 1;  // a flood of output is no reason to stay
  }
  if (!ended_) {
    kill();
    reap(true);
  }
  drain();
}

void PipedChild::drain() {
  if (!out_) return;
  char buffer[1 << 16];
  for (int i = 0; i < 64; ++i) {  // bounded: a flood must not keep us here
    ssize_t n = ::read(out_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || (n < 0 && errno != EAGAIN)) out_.reset();
    if (n <= 0) return;
    output_bytes += static_cast<uint64_t>(n);
    keep({buffer, static_cast<size_t>(n)});
  }
}

void PipedChild::reap(bool block) {
  if (ended_ || pid_ <= 0) return;
  int status = 0;
  pid_t got;
  while ((got = ::waitpid(pid_, &status, block ? 0 : WNOHANG)) < 0 && errno == EINTR) {}
  if (got == 0) return;
  ended_ = true;
  if (got < 0) return;
  if (WIFSIGNALED(status)) signal = WTERMSIG(status);
  if (WIFEXITED(status)) exit_code = WEXITSTATUS(status);
  at_end();
}

}  // namespace fiel::sandbox
