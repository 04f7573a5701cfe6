#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/files.h"

extern char** environ;

namespace fiel {
namespace fs = std::filesystem;
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Pipe {
  Fd read_end, write_end;
};
Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return fail(ErrorCode::io, std::string("cannot create a pipe: ") + std::strerror(errno));
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

/// Everything the child needs, prepared before fork: after it only async-signal-safe calls are
/// made.
struct Prepared {
  std::string program;
  std::vector<char*> argv, envp;
  std::vector<std::string> environment;
  std::string directory;
};

Result<Prepared> prepare(const ProcessRequest& request) {
  if (request.arguments.empty()) return fail(ErrorCode::usage, "no program named");
  Prepared p;
  p.program = request.arguments[0];
  if (p.program.find('/') == std::string::npos) {
    auto found = find_program(p.program);
    if (!found)
      return fail(ErrorCode::not_found, p.program + " is not on PATH", "install it or set PATH");
    p.program = found->string();
  }
  for (const std::string& a : request.arguments) p.argv.push_back(const_cast<char*>(a.c_str()));
  p.argv.push_back(nullptr);
  if (request.environment) {
    for (const auto& [key, value] : *request.environment)
      p.environment.push_back(key + "=" + value);
    for (std::string& e : p.environment) p.envp.push_back(e.data());
  } else {
    for (char** e = environ; *e; ++e) p.envp.push_back(*e);
  }
  p.envp.push_back(nullptr);
  p.directory = request.working_directory.string();
  return p;
}

[[noreturn]] void run_child(const Prepared& p, int out, int err, int status, pid_t parent) {
  ::setpgid(0, 0);
  // It ends with the thread that waits for it: nobody would hear what it found out, or end it in
  // time.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (p.directory.empty() || ::chdir(p.directory.c_str()) == 0)
    ::execve(p.program.c_str(), p.argv.data(), p.envp.data());
  int code = errno;
  [[maybe_unused]] ssize_t n = ::write(status, &code, sizeof code);
  ::_exit(127);
}

/// Reads both pipes until they close or the time is over; true on timeout.
bool collect(const ProcessRequest& request, Pipe& out, Pipe& err, ProcessResult& result) {
  auto deadline = SteadyClock::now() + std::chrono::milliseconds(request.timeout_ms);
  pollfd fds[2] = {{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}};
  std::string* sinks[2] = {&result.out, &result.err};
  char buffer[1 << 16];
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0) return true;
    int ready = ::poll(fds, 2, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
    if (ready < 0 && errno != EINTR) return false;
    for (int i = 0; i < 2 && ready > 0; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      ssize_t n = ::read(fds[i].fd, buffer, sizeof buffer);
      if (n <= 0) {
        fds[i].fd = -1;
        continue;
      }
      size_t room = request.max_output_bytes - std::min(request.max_output_bytes, sinks[i]->size());
      sinks[i]->append(buffer, std::min(static_cast<size_t>(n), room));
    }
  }
  return false;
}

}  // namespace

Result<ProcessResult> run_process(const ProcessRequest& request) {
  FIEL_TRY(Prepared prepared, prepare(request));
  FIEL_TRY(Pipe out, make_pipe());
  FIEL_TRY(Pipe err, make_pipe());
  FIEL_TRY(Pipe status, make_pipe());
  const pid_t parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return fail(ErrorCode::io, std::string("cannot fork: ") + std::strerror(errno));
  if (pid == 0)
    run_child(prepared, out.write_end.get(), err.write_end.get(), status.write_end.get(), parent);
  ::setpgid(pid, pid);
  out.write_end.reset();
  err.write_end.reset();
  status.write_end.reset();
  int exec_error = 0;
  bool failed = ::read(status.read_end.get(), &exec_error, sizeof exec_error) == sizeof exec_error;
  ProcessResult result;
  if (!failed) result.timed_out = collect(request, out, err, result);
  if (result.timed_out) ::kill(-pid, SIGKILL);
  int wait_status = 0;
  while (::waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {}
  if (failed)
    return fail(ErrorCode::io,
                "cannot start " + prepared.program + ": " + std::strerror(exec_error));
  if (WIFSIGNALED(wait_status)) result.signal = WTERMSIG(wait_status);
  if (WIFEXITED(wait_status)) result.exit_code = WEXITSTATUS(wait_status);
  return result;
}

std::optional<fs::path> find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    size_t colon = std::min(rest.find(':'), rest.size());
    fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return std::nullopt;
}

}  // namespace fiel
