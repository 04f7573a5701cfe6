#include "agent/loop/external.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <set>
#include <vector>

#include "agent/workspace/daemon.h"
#include "base/text.h"
#include "sandbox/process_tree.h"

namespace fiel::agent {
namespace {

/// Rounds of a millisecond and more: what another user owns (by sudo) cannot be killed at all.
constexpr int kMaxKills = 2000;
constexpr size_t kMaxLogBytes = 16u << 20;

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

bool become(const AgentUser& user) {
  ::setenv("HOME", user.home.c_str(), 1);
  ::setenv("USER", user.name.c_str(), 1);
  ::setenv("LOGNAME", user.name.c_str(), 1);
  return ::setgroups(1, &user.gid) == 0 && ::setresgid(user.gid, user.gid, user.gid) == 0 &&
         ::setresuid(user.uid, user.uid, user.uid) == 0;
}

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
    const std::string text = with_workspace(request.command, folder);
    e.pid_ = ::fork();
    if (e.pid_ < 0) return fail(ErrorCode::io, "cannot fork");
    if (e.pid_ == 0) {
      ::setsid();
      if (request.user && !become(*request.user)) ::_exit(126);
      // After that: another user's process no longer has it.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(::open("/dev/null", O_RDONLY), 0);
      ::dup2(write_end.get(), 1);
      ::dup2(write_end.get(), 2);
      if (::chdir(folder.c_str()) == 0)
        ::execl("/bin/sh", "sh", "-c", text.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    return e;
  }
  External(External&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        reaper_before_(std::exchange(other.reaper_before_, -1)),
        others_(std::move(other.others_)),
        output_(std::move(other.output_)),
        log_(std::move(other.log_)),
        logged_(other.logged_) {}
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
    std::vector<pid_t> left = ours();
    for (int tries = 0; tries < kMaxKills && !left.empty(); ++tries, left = ours()) {
      // Stopped first, all of them: what is killed one by one is started again by the next.
      for (const pid_t pid : left) ::kill(pid, SIGSTOP);
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
      reap();
      ::poll(nullptr, 0, 1);
    }
  }
  int exit_code = -1;

 private:
  External() = default;
  std::vector<pid_t> ours() const {
    std::vector<pid_t> pids = sandbox::descendants(::getpid());
    std::erase_if(pids, [&](pid_t pid) { return others_.contains(pid); });
    return pids;
  }
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
  std::set<pid_t> others_;  ///< that were there before
  Fd output_, log_;
  size_t logged_ = 0;
};

}  // namespace

Result<EpisodeResult> run_external(const ExternalRequest& request, const Workspace& workspace,
                                   Desk& desk) {
  const int64_t begun = sandbox::now_ms();
  FIEL_TRY(External program, External::start(request, workspace));
  EpisodeResult r;
  const auto left_ms = [&] {
    if (request.max_wall_ms <= 0) return std::numeric_limits<int64_t>::max();
    return request.max_wall_ms - (sandbox::now_ms() - begun);
  };
  const auto stop = [&] {
    if (!program.running()) return true;
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
  if (!program.running()) r.detail = fmt::format("exit code {}", program.exit_code);
  program.end();
  if (r.status == ExitStatus::final_answer && desk.submitted()) r.status = ExitStatus::submitted;
  if (r.status == ExitStatus::final_answer && desk.left() == 0) r.status = ExitStatus::kernel_limit;
  score(desk, r, r.status != ExitStatus::interrupted);
  return r;
}

}  // namespace fiel::agent
