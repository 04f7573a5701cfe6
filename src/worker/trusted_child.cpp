#include "worker/trusted_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sandbox/piped_child.h"

extern char** environ;

namespace fiel::worker {
namespace {

constexpr size_t kKeptOutput = 64u << 10;
constexpr int kFirstPrivateFd = 64;

struct Prepared {
  std::vector<std::string> variables;
  std::vector<char*> argv, envp;
};

Prepared prepare(const TrustedRequest& q) {
  Prepared p;
  for (char** e = environ; *e; ++e) {
    const std::string_view entry(*e);
    const bool replaced = std::any_of(q.variables.begin(), q.variables.end(), [&](const auto& v) {
      return entry.substr(0, entry.find('=')) == v.first;
    });
    if (!replaced) p.variables.emplace_back(entry);
  }
  for (const auto& [key, value] : q.variables) p.variables.push_back(key + "=" + value);
  for (const std::string& a : q.arguments) p.argv.push_back(const_cast<char*>(a.c_str()));
  for (std::string& v : p.variables) p.envp.push_back(v.data());
  p.argv.push_back(nullptr);
  p.envp.push_back(nullptr);
  return p;
}

/// After fork: system calls only.
[[noreturn]] void run_child(const Prepared& p, int channel, int out, int status, pid_t parent) {
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
  ::dup2(channel, 3);
  ::execve(p.argv[0], p.argv.data(), p.envp.data());
  int code = errno;
  [[maybe_unused]] ssize_t n = ::write(status, &code, sizeof code);
  ::_exit(127);
}

class TrustedChild final : public sandbox::PipedChild {
 public:
  TrustedChild(pid_t pid, Fd out) {
    follow(pid, std::move(out));
    report_.in_force = {"own process group"};
  }
  ~TrustedChild() override {
    kill();
    wait(2'000);
  }
  const sandbox::IsolationReport& isolation() const override { return report_; }

 private:
  void keep(std::string_view bytes) override {
    output.append(bytes);
    if (output.size() > 2 * kKeptOutput) output.erase(0, output.size() - kKeptOutput);
  }
  void at_end() override { ::kill(-pid(), SIGKILL); }  // compilers and pools that it started

  sandbox::IsolationReport report_;
};

Result<std::pair<Fd, Fd>> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return fail(ErrorCode::io, "cannot create a pipe");
  return std::pair{Fd(fds[0]), Fd(fds[1])};
}

}  // namespace

Result<std::unique_ptr<sandbox::Child>> start_trusted(const TrustedRequest& request) {
  const Prepared prepared = prepare(request);
  // Out of the way of the numbers that the child gives away.
  Fd channel(::fcntl(request.descriptor, F_DUPFD_CLOEXEC, kFirstPrivateFd));
  FIEL_TRY(auto out, make_pipe());
  FIEL_TRY(auto status, make_pipe());
  status.second = Fd(::fcntl(status.second.get(), F_DUPFD_CLOEXEC, kFirstPrivateFd));
  if (!channel || !status.second) return fail(ErrorCode::io, "cannot duplicate a descriptor");
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(ErrorCode::io, std::string("cannot fork: ") + std::strerror(errno));
  if (pid == 0) run_child(prepared, channel.get(), out.second.get(), status.second.get(), parent);
  ::setpgid(pid, pid);
  ::fcntl(out.first.get(), F_SETFL, O_NONBLOCK);
  out.second.reset();
  status.second.reset();
  auto child = std::make_unique<TrustedChild>(pid, std::move(out.first));
  int code = 0;
  if (::read(status.first.get(), &code, sizeof code) == sizeof code)
    return fail(ErrorCode::environment,
                "cannot start " + request.arguments[0] + ": " + std::strerror(code));
  return std::unique_ptr<sandbox::Child>(std::move(child));
}

}  // namespace fiel::worker
