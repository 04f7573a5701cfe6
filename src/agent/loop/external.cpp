#include "agent/loop/external.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "agent/workspace/daemon.h"
#include "base/text.h"
#include "sandbox/process_tree.h"

namespace fiel::agent {
namespace {

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

/// The program and what it started, in a session of its own.
class External {
 public:
  static Result<External> start(const std::string& command, const Workspace& workspace) {
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0) return fail(ErrorCode::io, "cannot create a pipe");
    External e;
    e.output_ = Fd(out[0]);
    const Fd write_end(out[1]);
    e.log_ = Fd(::open((workspace.state() / "external.log").c_str(),
                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const std::string folder = workspace.files().path().string();
    const std::string text = with_workspace(command, folder);
    e.pid_ = ::fork();
    if (e.pid_ < 0) return fail(ErrorCode::io, "cannot fork");
    if (e.pid_ == 0) {
      ::setsid();
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
        output_(std::move(other.output_)),
        log_(std::move(other.log_)),
        logged_(other.logged_) {}
  ~External() {
    if (pid_ > 0) end();
  }

  /// Takes what it printed; false when it has ended.
  bool running() {
    drain();
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      ::kill(-pid_, SIGKILL);  // what it left behind
      pid_ = -1;
    }
    return pid_ > 0;
  }
  void end() {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    pid_ = -1;
  }
  int exit_code = -1;

 private:
  External() = default;
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
  Fd output_, log_;
  size_t logged_ = 0;
};

}  // namespace

Result<EpisodeResult> run_external(const ExternalRequest& request, const Workspace& workspace,
                                   Desk& desk) {
  const int64_t begun = sandbox::now_ms();
  FIEL_TRY(External program, External::start(request.command, workspace));
  EpisodeResult r;
  const auto stop = [&] {
    if (!program.running()) return true;
    if (request.interrupted && request.interrupted()) {
      r.status = ExitStatus::interrupted;
      return true;
    }
    if (request.max_wall_ms > 0 && sandbox::now_ms() - begun > request.max_wall_ms) {
      r.status = ExitStatus::wall_limit;
      return true;
    }
    return false;
  };
  FIEL_TRY_STATUS(serve(
      workspace.socket(), [&](Verb verb, const std::string& note) { return desk.ask(verb, note); },
      stop));
  if (program.running())
    program.end();
  else
    r.detail = fmt::format("exit code {}", program.exit_code);
  if (r.status == ExitStatus::final_answer && desk.submitted()) r.status = ExitStatus::submitted;
  if (r.status == ExitStatus::final_answer && desk.left() == 0) r.status = ExitStatus::kernel_limit;
  score(desk, r, r.status != ExitStatus::interrupted);
  return r;
}

}  // namespace fiel::agent
