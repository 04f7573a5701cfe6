#include "mcp/jobs.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace fiel::mcp {
namespace {

constexpr off_t kMaxOutputBytes = 64 << 20;

std::string text_of(int fd) {
  struct stat s = {};
  if (fstat(fd, &s) != 0) return "";
  std::string text(static_cast<size_t>(std::min(s.st_size, kMaxOutputBytes)), '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

/// This program again, its output in memory files, in a session of its own.
class Process : public Running {
 public:
  static Result<std::unique_ptr<Running>> start(const std::vector<std::string>& words) {
    auto p = std::make_unique<Process>();
    p->out_fd_ = Fd(memfd_create("out", MFD_CLOEXEC));
    p->err_fd_ = Fd(memfd_create("err", MFD_CLOEXEC));
    if (!p->out_fd_ || !p->err_fd_) return fail(ErrorCode::io, "cannot make a memory file");
    std::string program = executable_path().string();
    std::vector<std::string> all = words;
    std::vector<char*> arguments = {program.data()};
    for (std::string& w : all) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    p->pid_ = fork();
    if (p->pid_ < 0) return fail(ErrorCode::io, "cannot fork");
    if (p->pid_ == 0) {
      setsid();
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(127);
      dup2(open("/dev/null", O_RDONLY), 0);
      dup2(p->out_fd_.get(), 1);
      dup2(p->err_fd_.get(), 2);
      execv(program.c_str(), arguments.data());
      _exit(127);
    }
    p->pid_fd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, p->pid_, 0)));
    return std::unique_ptr<Running>(std::move(p));
  }
  ~Process() override {
    if (pid_ > 0) {
      kill();
      reap(true);
    }
  }
  bool running() override {
    if (pid_ > 0) reap(false);
    return pid_ > 0;
  }
  /// Its children are the judge's own processes, which end with it.
  void kill() override {
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
  }
  int descriptor() const override { return pid_fd_.get(); }

 private:
  void reap(bool wait) {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, wait ? 0 : WNOHANG);
    if (got != pid_) return;
    exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
    out = text_of(out_fd_.get());
    err = text_of(err_fd_.get());
  }
  pid_t pid_ = -1;
  Fd out_fd_, err_fd_, pid_fd_;
};

}  // namespace

Launcher this_program() { return &Process::start; }

std::string_view name_of(Job::State state) {
  constexpr std::array<std::string_view, 5> names = {"waiting", "running", "done", "failed",
                                                     "cancelled"};
  return names[static_cast<size_t>(state)];
}

Jobs::~Jobs() {
  if (running_) running_->kill();
}

const Job* Jobs::find(const std::string& id) const {
  const auto it =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.id == id; });
  return it == jobs_.end() ? nullptr : &*it;
}

Job* Jobs::current() {
  const auto it = std::find_if(jobs_.begin(), jobs_.end(),
                               [](const Job& j) { return j.state == Job::State::running; });
  return it == jobs_.end() ? nullptr : &*it;
}

Result<std::string> Jobs::start(Job job) {
  const auto waiting =
      std::count_if(jobs_.begin(), jobs_.end(), [](const Job& j) { return !j.ended(); });
  if (static_cast<size_t>(waiting) >= kMaxWaiting)
    return fail(ErrorCode::limit, fmt::format("{} jobs wait already", waiting));
  job.id = fmt::format("job-{}", ++started_);
  job.state = Job::State::waiting;
  jobs_.push_back(std::move(job));
  return jobs_.back().id;
}

void Jobs::end(Job& job, Job::State state) {
  job.state = state;
  job.folder.reset();
  running_.reset();
  size_t ended = 0;
  for (const Job& j : jobs_) ended += j.ended();
  for (auto it = jobs_.begin(); ended > kMaxKept && it != jobs_.end();) {
    if (!it->ended()) {
      ++it;
      continue;
    }
    it = jobs_.erase(it);
    --ended;
  }
}

void Jobs::begin_next(int64_t now_ms) {
  for (Job& job : jobs_) {
    if (job.state != Job::State::waiting) continue;
    auto started = launcher_(job.words);
    if (!started) {
      job.err = to_string(started.error());
      end(job, Job::State::failed);
      return;
    }
    running_ = std::move(*started);
    job.state = Job::State::running;
    job.begun_ms = now_ms;
    return;
  }
}

void Jobs::poll(int64_t now_ms) {
  if (Job* job = current(); job != nullptr && running_) {
    if (!running_->running()) {
      job->exit_code = running_->exit_code;
      job->out = std::move(running_->out);
      job->err = std::move(running_->err);
      end(*job, Job::State::done);
    } else if (now_ms - job->begun_ms > timeout_ms_) {
      running_->kill();
      job->err = "it did not come to an end in its time";
      end(*job, Job::State::failed);
    }
  }
  if (!running_) begin_next(now_ms);
}

void Jobs::cancel(const std::string& id) {
  for (Job& job : jobs_) {
    if (job.id != id || job.ended()) continue;
    if (job.state == Job::State::running) {
      running_->kill();
      end(job, Job::State::cancelled);
    } else {
      job.state = Job::State::cancelled;
      job.folder.reset();
    }
    return;
  }
}

}  // namespace fiel::mcp
