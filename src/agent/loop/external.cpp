#include "agent/loop/external.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "agent/workspace/daemon.h"
#include "base/text.h"
#include "sandbox/bubblewrap.h"
#include "sandbox/process_tree.h"

namespace fiel::agent {
namespace {

/// Rounds of a millisecond and more: what another user owns (by sudo) cannot be killed at all.
constexpr int kMaxKills = 2000;
constexpr size_t kMaxLogBytes = 16u << 20;
/// A limit on processes bounds threads, too, at this many a process: a backstop in the kernel.
constexpr uint64_t kTasksPerProcess = 4;

std::string with_workspace(const std::string& command, const std::string& folder) {
  std::string quoted = "'";
  for (const char c : folder) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  quoted += "'";
  std::string out = command;
  const std::string_view word = "{workspace}";
  for (size_t at = out.find(word); at != std::string::npos; at = out.find(word, at + quoted.size()))
    out.replace(at, word.size(), quoted);
  return out;
}

void name_user(const AgentUser& user) {
  ::setenv("HOME", user.home.c_str(), 1);
  ::setenv("USER", user.name.c_str(), 1);
  ::setenv("LOGNAME", user.name.c_str(), 1);
}

bool become(const AgentUser& user) {
  return ::setgroups(1, &user.gid) == 0 && ::setresgid(user.gid, user.gid, user.gid) == 0 &&
         ::setresuid(user.uid, user.uid, user.uid) == 0;
}

/// All below us that is not of the judge.
std::vector<pid_t> started_since(const std::set<pid_t>& before) {
  std::vector<pid_t> pids = sandbox::descendants(::getpid());
  std::erase_if(pids, [&](pid_t pid) { return before.contains(pid); });
  return pids;
}

/// Counts its processes, also while a judgement keeps us from looking.
class CountWatch {
 public:
  /// `to_end`: whose end is that of all of them; none: they are found and ended by others.
  CountWatch(std::set<pid_t> before, uint32_t limit, Fd to_end)
      : before_(std::move(before)),
        limit_(limit),
        to_end_(std::move(to_end)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  bool beyond() const { return beyond_; }

 private:
  static constexpr std::chrono::milliseconds kPeriod{100};
  /// A walk over /proc is ten microseconds a process: seldom, unless the machine has that many.
  static constexpr int kPeriodsPerWalk = 10;

  void run(const std::stop_token& stop) {
    // Among thousands that want the processor this thread gets its turn; refused, it waits longer.
    ::setpriority(PRIO_PROCESS, 0, -20);
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    for (int period = 1; !stop.stop_requested(); ++period) {
      struct sysinfo machine {};
      const bool many = ::sysinfo(&machine) == 0 && machine.procs > limit_;
      if ((many || period % kPeriodsPerWalk == 0) && started_since(before_).size() > limit_) {
        beyond_ = true;
        if (to_end_) ::syscall(SYS_pidfd_send_signal, to_end_.get(), SIGKILL, nullptr, 0);
        return;
      }
      wake.wait_for(lock, stop, kPeriod, [] { return false; });
    }
  }

  const std::set<pid_t> before_;
  const uint32_t limit_;
  const Fd to_end_;
  std::atomic<bool> beyond_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

/// The program and all that it starts. What it starts may leave its group, its session and its
/// parent: as subreaper this process becomes the parent of all of them, and so finds them.
class External {
 public:
  static Result<External> start(const ExternalRequest& request, const Workspace& workspace) {
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0) return fail(ErrorCode::io, "cannot create a pipe");
    External e;
    ::prctl(PR_GET_CHILD_SUBREAPER, &e.reaper_before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const pid_t pid : sandbox::descendants(::getpid())) e.others_.insert(pid);
    e.output_ = Fd(out[0]);
    const Fd write_end(out[1]);
    e.log_ = Fd(::open((workspace.state() / "external.log").c_str(),
                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const std::string folder = workspace.files().path().string();
    std::vector<std::string> words = e.words_before(request);
    for (const std::string& word :
         {std::string("/bin/sh"), std::string("-c"), with_workspace(request.command, folder)})
      words.push_back(word);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    e.pid_ = ::fork();
    if (e.pid_ < 0) return fail(ErrorCode::io, "cannot fork");
    if (e.pid_ == 0) {
      ::setsid();
      if (request.user) name_user(*request.user);
      if (request.user && !e.own_space_ && !become(*request.user)) ::_exit(126);
      // After that: another user's process no longer has it.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(::open("/dev/null", O_RDONLY), 0);
      ::dup2(write_end.get(), 1);
      ::dup2(write_end.get(), 2);
      if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    if (request.max_processes > 0) {
      Fd whole(e.own_space_ ? static_cast<int>(::syscall(SYS_pidfd_open, e.pid_, 0)) : -1);
      e.watch_ = std::make_unique<CountWatch>(e.others_, request.max_processes, std::move(whole));
    }
    return e;
  }
  External(External&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        reaper_before_(std::exchange(other.reaper_before_, -1)),
        own_space_(other.own_space_),
        others_(std::move(other.others_)),
        output_(std::move(other.output_)),
        log_(std::move(other.log_)),
        logged_(other.logged_),
        watch_(std::move(other.watch_)) {
    processes = std::move(other.processes);
    exit_code = other.exit_code;
  }
  ~External() {
    if (reaper_before_ < 0) return;
    end();
    ::prctl(PR_SET_CHILD_SUBREAPER, reaper_before_);
  }

  /// Takes what it printed; false when it has ended. Only while no judgement is under way: its
  /// processes are children of this one, too.
  bool running() {
    drain();
    reap();
    return pid_ > 0;
  }
  /// Ends it and whatever it left behind. They may be starting more meanwhile: until none is left.
  void end() {
    // The first process of its space dies with it, and with that one all that are there.
    if (own_space_ && pid_ > 0) ::kill(pid_, SIGKILL);
    std::vector<pid_t> left = ours();
    for (int tries = 0; tries < kMaxKills && !left.empty(); ++tries, left = ours()) {
      // Stopped first, all of them: what is killed one by one is started again by the next.
      for (const pid_t pid : left) ::kill(pid, SIGSTOP);
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
      reap();
      ::poll(nullptr, 0, 1);
    }
  }
  /// It had more processes than it may.
  bool beyond() const { return watch_ && watch_->beyond(); }
  int exit_code = -1;
  std::string processes;  ///< EpisodeResult's

 private:
  External() = default;
  std::vector<std::string> words_before(const ExternalRequest& request) {
    sandbox::ProcessSpace space;
    if (request.user) space.user_and_group = {request.user->uid, request.user->gid};
    space.max_tasks = kTasksPerProcess * request.max_processes;
    auto words = sandbox::process_space(space);
    own_space_ = words.has_value();
    processes = own_space_ ? "own process space" : "found in /proc: " + words.error().what;
    return own_space_ ? *std::move(words) : std::vector<std::string>();
  }
  std::vector<pid_t> ours() const { return started_since(others_); }
  void reap() {
    for (const pid_t pid : ours()) {
      int status = 0;
      if (::waitpid(pid, &status, WNOHANG) != pid || pid != pid_) continue;
      exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      pid_ = -1;
    }
  }
  void drain() {
    char buffer[1 << 16];
    pollfd p{output_.get(), POLLIN, 0};
    for (int i = 0; i < 64 && output_ && ::poll(&p, 1, 0) > 0; ++i) {
      const ssize_t n = ::read(output_.get(), buffer, sizeof buffer);
      if (n <= 0) {
        output_.reset();
        return;
      }
      // Beyond the bound it is read and dropped, so that the program does not wait.
      if (logged_<kMaxLogBytes&& ::write(log_.get(), buffer, static_cast<size_t>(n))> 0)
        logged_ += static_cast<size_t>(n);
    }
  }
  pid_t pid_ = -1;
  int reaper_before_ = -1;  ///< -1: moved from
  bool own_space_ = false;
  std::set<pid_t> others_;  ///< that were there before
  Fd output_, log_;
  size_t logged_ = 0;
  std::unique_ptr<CountWatch> watch_;
};

}  // namespace

Result<EpisodeResult> run_external(const ExternalRequest& request, const Workspace& workspace,
                                   Desk& desk) {
  const int64_t begun = sandbox::now_ms();
  FIEL_TRY(External program, External::start(request, workspace));
  EpisodeResult r;
  r.processes = program.processes;
  const auto left_ms = [&] {
    if (request.max_wall_ms <= 0) return std::numeric_limits<int64_t>::max();
    return request.max_wall_ms - (sandbox::now_ms() - begun);
  };
  const auto stop = [&] {
    if (!program.running() || program.beyond()) return true;
    if (request.interrupted && request.interrupted()) {
      r.status = ExitStatus::interrupted;
      return true;
    }
    if (left_ms() <= 0) {
      r.status = ExitStatus::wall_limit;
      return true;
    }
    return false;
  };
  desk.bound_time(left_ms);
  const Status served = serve(
      workspace.socket(), [&](Verb verb, const std::string& note) { return desk.ask(verb, note); },
      stop, request.user);
  desk.bound_time({});
  FIEL_TRY_STATUS(served);
  if (program.beyond()) {
    r.status = ExitStatus::process_limit;
    r.detail = fmt::format("more than {} processes", request.max_processes);
  } else if (!program.running()) {
    r.detail = fmt::format("exit code {}", program.exit_code);
  }
  program.end();
  if (r.status == ExitStatus::final_answer && desk.submitted()) r.status = ExitStatus::submitted;
  if (r.status == ExitStatus::final_answer && desk.left() == 0) r.status = ExitStatus::kernel_limit;
  score(desk, r, r.status != ExitStatus::interrupted);
  return r;
}

}  // namespace fiel::agent
