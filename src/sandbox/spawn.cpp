#include "sandbox/spawn.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "sandbox/bubblewrap.h"
#include "sandbox/landlock.h"
#include "sandbox/piped_child.h"
#include "sandbox/process_tree.h"
#include "sandbox/seccomp_filter.h"
#include "sandbox/tree_watch.h"

namespace fiel::sandbox {
namespace fs = std::filesystem;
namespace {

constexpr int kFirstPrivateFd = 64;  ///< where descriptors wait, out of the way of 0…
constexpr uint64_t kAddressSlack = 4ull << 30;
/// libc would ask a server for names if it were not told to look in the file.
constexpr std::pair<const char*, std::string_view> kLoopbackFiles[] = {
    {"/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
    {"/etc/nsswitch.conf", "hosts: files\n"}};

/// Everything the child needs, prepared before fork: after it only system calls are made.
struct Plan {
  std::vector<std::string> words, variables;
  std::vector<char*> argv, envp;
  std::vector<std::pair<int, int>> descriptors;  ///< ours -> theirs
  std::vector<Fd> owned;
  std::vector<TempDir> stage;
  std::string directory;
  fs::path unbounded_folder;  ///< a private /tmp on a disk
  uint64_t folder_bytes = 0;
  Limits limits;
  bool drop_root = false;
  bool own_session = false;
  bool filter_from_pipe = false;
  bool local_sockets = false;
  Fd landlock;
};

void set_limit(int resource, uint64_t value) {
  rlimit limit{value, value};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

[[noreturn]] void run_child(const Plan& p, int out, int gate, int status, pid_t parent) {
  auto give_up = [&] {
    int code = errno;
    [[maybe_unused]] ssize_t n = ::write(status, &code, sizeof code);
    ::_exit(127);
  };
  ::setsid();
  // Signals that the judge ignores or blocks must not stay so in the candidate.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_FSIZE, p.limits.file_bytes);
  set_limit(RLIMIT_NOFILE, std::max<uint64_t>(p.limits.descriptors, kFirstPrivateFd * 4));
  auto cpu = static_cast<rlim_t>(std::max<int64_t>(p.limits.cpu_seconds, 1));
  rlimit cpu_limit{cpu, cpu + 5};  // SIGXCPU first, so that the reason can be told
  ::setrlimit(RLIMIT_CPU, &cpu_limit);
  if (p.limits.address_space) set_limit(RLIMIT_AS, p.limits.memory_bytes * 2 + kAddressSlack);
  if (p.drop_root && (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
                      ::setresuid(kNobody, kNobody, kNobody) != 0))
    give_up();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before we asked to die with it
  int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) give_up();
  if (p.filter_from_pipe) {
    // The filter names our own pid, which only the parent knew in time to make it.
    uint8_t bytes[1 << 16];
    size_t n = 0;
    for (ssize_t r; (r = ::read(gate, bytes + n, sizeof bytes - n)) > 0;)
      n += static_cast<size_t>(r);
    struct {
      unsigned short length;
      void* filter;
    } program{static_cast<unsigned short>(n / 8), bytes};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up();
    if (p.landlock && !landlock_confine(p.landlock.get())) give_up();
    if (n > 0 && ::prctl(PR_SET_SECCOMP, 2, &program) != 0) give_up();
  }
  // Whatever else this process or a library left open without close-on-exec stays behind.
  if (::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) != 0)
    for (int fd = 3; fd < 65536; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  for (auto [from, to] : p.descriptors)
    if (::dup2(from, to) < 0) give_up();
  if (!p.directory.empty() && ::chdir(p.directory.c_str()) != 0) give_up();
  ::execve(p.argv[0], p.argv.data(), p.envp.data());
  give_up();
  ::_exit(127);
}

class ChildProcess final : public PipedChild {
 public:
  ~ChildProcess() override {
    kill();
    wait(2'000);
    watch_.reset();
  }
  const IsolationReport& isolation() const override { return report; }

  void adopt(pid_t pid, Fd out, WatchedLimits watched, bool nested) {
    follow(pid, std::move(out));
    limits_ = watched.limits;
    nested_ = nested;
    watched.own_processes = kOwnProcesses;
    watch_.emplace(pid, exit_descriptor(), std::move(watched));
  }
  IsolationReport report;
  std::vector<TempDir> stage;

 private:
  void keep(std::string_view bytes) override {
    const uint64_t room =
        limits_.output_bytes - std::min<uint64_t>(limits_.output_bytes, output.size());
    output.append(bytes.substr(0, room));
  }

  void at_end() override {
    look();
    // bubblewrap hands a signal on as shells do.
    if (nested_ && exit_code > 128 && exit_code < 128 + 65) {
      signal = exit_code - 128;
      exit_code = 0;
    }
    if (!nested_) ::kill(-pid(), SIGKILL);  // what it left behind in its group
    if (signal == SIGXCPU && limit.empty())
      limit = fmt::format("processor time limit of {} s", limits_.cpu_seconds);
    if (signal == SIGXFSZ && limit.empty())
      limit = fmt::format("file size limit of {}", format_bytes(limits_.file_bytes));
  }

  /// The end of what went beyond its limits is ours.
  void look() override {
    peak_resident_bytes = watch_ ? watch_->peak_resident_bytes() : 0;
    if (!limit.empty() || !watch_) return;
    limit = watch_->broken();
    killed_by_us |= !limit.empty();
  }

  static constexpr uint32_t kOwnProcesses = 4;  ///< bubblewrap's
  Limits limits_;
  bool nested_ = false;
  std::optional<TreeWatch> watch_;
};

Result<Fd> memory_file(const char* name, const void* bytes, size_t size) {
  Fd fd(::memfd_create(name, 0));
  if (!fd || ::write(fd.get(), bytes, size) != static_cast<ssize_t>(size))
    return fail(ErrorCode::io, fmt::format("no memory file for {}", name));
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

/// Moves a descriptor above the ones the child will see and remembers it.
Result<int> keep(Plan& plan, Fd fd, const std::string& what) {
  Fd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstPrivateFd));
  if (!high)
    return fail(ErrorCode::io, fmt::format("cannot open {}: {}", what, std::strerror(errno)));
  plan.owned.push_back(std::move(high));
  return plan.owned.back().get();
}

std::vector<fs::path> system_folders(const SpawnRequest& q) {
  if (q.writable.empty() && !q.programs) return {"/usr/lib", "/usr/lib64", "/lib", "/lib64"};
  return {"/usr", "/bin", "/lib", "/lib64"};
}

/// Of the private /tmp. Where it lives in memory it may not be a way around the memory limit.
uint64_t tmp_bytes_of(const SpawnRequest& q, const Limits& limits) {
  return q.tmp_bytes ? q.tmp_bytes : std::min(limits.memory_bytes / 4, limits.file_bytes * 4);
}

Status plan_namespaces(const SpawnRequest& q, const BubblewrapForm& form, Plan& plan) {
  FIEL_TRY(BpfProgram filter,
           candidate_filter({.local_sockets = !q.devices.empty(), .loopback = q.loopback}));
  FIEL_TRY(Fd filter_file, memory_file("fiel-filter", filter.data(), filter.size()));
  BubblewrapView view;
  int next = kFirstPrivateFd * 2;  // numbers inside: fixed, so that nothing else collides
  auto pass = [&](Fd fd, const std::string& what) -> Result<int> {
    FIEL_TRY(int kept, keep(plan, std::move(fd), what));
    plan.descriptors.emplace_back(kept, next);
    return next++;
  };
  FIEL_TRY(view.seccomp_fd, pass(std::move(filter_file), "the filter"));
  for (const auto& [host, inside] : q.files) {
    FIEL_TRY(int fd, pass(Fd(::open(host.c_str(), O_RDONLY | O_CLOEXEC)), host.string()));
    view.data.emplace_back(fd, inside);
  }
  if (q.loopback)
    for (const auto& [inside, text] : kLoopbackFiles) {
      FIEL_TRY(Fd file, memory_file("fiel-loopback", text.data(), text.size()));
      FIEL_TRY(int fd, pass(std::move(file), inside));
      view.data.emplace_back(fd, inside);
    }
  view.tmp_bytes = tmp_bytes_of(q, plan.limits);
  view.system = system_folders(q);
  view.read_only = q.read_only;
  view.folders = q.folders;
  view.devices = q.devices;
  view.writable = q.writable;
  view.as_nobody = ::geteuid() == 0 && !form.drop_root && q.programs && q.writable.empty();
  plan.words = bubblewrap_arguments(form, view);
  plan.words.insert(plan.words.end(), q.arguments.begin(), q.arguments.end());
  plan.drop_root = form.drop_root;
  return {};
}

/// Copies the request's files to a folder that the unprivileged user may read; root's candidates
/// may not see into root's cache.
Status stage_files(const SpawnRequest& q, const fs::path& folder, std::vector<std::string>& words) {
  std::error_code ec;
  for (const auto& [host, inside] : q.files) {
    fs::path copy = folder / fs::path(inside).filename();
    if (!fs::copy_file(host, copy, ec))
      return fail(ErrorCode::io, fmt::format("cannot copy {}: {}", host.string(), ec.message()));
    fs::permissions(copy, fs::perms(0755), ec);
    for (std::string& word : words)
      if (word == inside) word = copy.string();
  }
  return {};
}

Status plan_limits(const SpawnRequest& q, Plan& plan, IsolationReport& report) {
  plan.words = q.arguments;
  plan.drop_root = ::geteuid() == 0 && q.drop_root;
  plan.filter_from_pipe = true;
  plan.local_sockets = !q.devices.empty();
  FIEL_TRY(TempDir stage, TempDir::create("fiel-run"));
  std::error_code ec;
  fs::permissions(stage.path(), fs::perms(0755), ec);
  FIEL_TRY_STATUS(stage_files(q, stage.path(), plan.words));
  // Its /tmp: the one folder that it may write to.
  fs::path tmp = stage.path() / "tmp";
  fs::create_directory(tmp, ec);
  if (plan.drop_root && ::chown(tmp.c_str(), kNobody, kNobody) != 0)
    return fail(ErrorCode::io, "cannot hand a folder to the unprivileged user");
  for (const auto& [key, value] : q.environment)
    plan.variables.push_back(fmt::format("{}={}", key, value == "/tmp" ? tmp.string() : value));
  plan.directory = q.writable.empty() ? tmp.string() : q.writable.string();
  plan.unbounded_folder = tmp;
  plan.folder_bytes = tmp_bytes_of(q, plan.limits);
  std::vector<fs::path> readable = system_folders(q), writable = {tmp};
  readable.insert(readable.end(), {"/etc/ld.so.cache", "/etc/alternatives", stage.path()});
  readable.insert(readable.end(), q.read_only.begin(), q.read_only.end());
  for (const auto& [host, inside] : q.folders) readable.push_back(host);
  writable.insert(writable.end(), q.devices.begin(), q.devices.end());
  if (!q.writable.empty()) writable.push_back(q.writable);
  if (auto rules = landlock_rules(readable, writable)) {
    plan.landlock = Fd(::fcntl(rules->get(), F_DUPFD_CLOEXEC, kFirstPrivateFd));
    report.in_force.push_back("files by Landlock");
  } else {
    report.missing.push_back(to_string(rules.error()));
  }
  plan.stage.push_back(std::move(stage));
  return {};
}

Result<std::unique_ptr<Child>> start(const SpawnRequest& q, Plan plan, IsolationReport report,
                                     const Limits& limits) {
  for (auto [ours, theirs] : q.descriptors) {
    Fd copy(::fcntl(ours, F_DUPFD_CLOEXEC, kFirstPrivateFd));
    if (!copy) return fail(ErrorCode::io, "cannot duplicate a descriptor for the sandbox");
    plan.descriptors.emplace_back(copy.get(), theirs);
    plan.owned.push_back(std::move(copy));
  }
  if (plan.variables.empty())
    for (const auto& [key, value] : q.environment) plan.variables.push_back(key + "=" + value);
  for (std::string& w : plan.words) plan.argv.push_back(w.data());
  for (std::string& v : plan.variables) plan.envp.push_back(v.data());
  plan.argv.push_back(nullptr);
  plan.envp.push_back(nullptr);
  int out[2], gate[2], status[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return fail(ErrorCode::io, "cannot create a pipe");
  Fd out_read(out[0]), out_write(out[1]);
  if (::pipe2(gate, O_CLOEXEC) != 0) return fail(ErrorCode::io, "cannot create a pipe");
  Fd gate_read(gate[0]), gate_write(gate[1]);
  if (::pipe2(status, O_CLOEXEC) != 0) return fail(ErrorCode::io, "cannot create a pipe");
  Fd status_read(status[0]), status_write(status[1]);
  auto child = std::make_unique<ChildProcess>();
  pid_t parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return fail(ErrorCode::io, std::string("cannot fork: ") + std::strerror(errno));
  if (pid == 0) {
    ::close(gate_write.get());
    run_child(plan, out_write.get(), gate_read.get(), status_write.get(), parent);
  }
  ::fcntl(out_read.get(), F_SETFL, O_NONBLOCK);
  child->adopt(pid, std::move(out_read), {limits, 0, plan.unbounded_folder, plan.folder_bytes},
               !plan.filter_from_pipe);
  child->report = std::move(report);
  child->stage = std::move(plan.stage);
  out_write.reset();
  status_write.reset();
  gate_read.reset();
  if (plan.filter_from_pipe) {
    if (auto filter = candidate_filter({pid, plan.local_sockets})) {
      [[maybe_unused]] ssize_t n = ::write(gate_write.get(), filter->data(), filter->size());
      child->report.in_force.push_back("system-call filter");
    } else {
      child->report.missing.push_back("system-call filter: " + filter.error().what);
    }
  }
  gate_write.reset();
  int code = 0;
  if (::read(status_read.get(), &code, sizeof code) == sizeof code)
    return fail(ErrorCode::environment, fmt::format("cannot start {} in the sandbox: {}",
                                                    plan.words[0], std::strerror(code)));
  return std::unique_ptr<Child>(std::move(child));
}

IsolationReport describe(const BubblewrapTrial& trial, bool namespaces, bool dropped) {
  IsolationReport r;
  r.level = namespaces ? Level::namespaces : Level::limits;
  r.in_force = {"resource limits", "clean environment", "private descriptors"};
  if (dropped) r.in_force.push_back("unprivileged user");
  if (namespaces) {
    for (const char* what : {"system-call filter", "user namespace", "no network", "own processes",
                             "read-only system", "private /tmp"})
      r.in_force.push_back(what);
    if (!trial.form->own_proc) r.missing.push_back("own /proc: " + trial.problems.front());
  } else {
    r.missing = trial.problems;
  }
  return r;
}

}  // namespace

const char* name_of(Level level) {
  switch (level) {
    case Level::none:
      return "none";
    case Level::limits:
      return "limits";
    case Level::namespaces:
      return "namespaces";
  }
  return "none";
}

bool uses_namespaces(const SpawnRequest& request, const IsolationPolicy& policy) {
  return policy.wanted >= Level::namespaces && bubblewrap_trial(request.drop_root).form.has_value();
}

Result<std::unique_ptr<Child>> spawn(const SpawnRequest& request, const IsolationPolicy& policy) {
  const BubblewrapTrial& trial = bubblewrap_trial(request.drop_root);
  bool namespaces = uses_namespaces(request, policy);
  if (policy.required >= Level::namespaces && !namespaces)
    return fail(
        ErrorCode::environment, "isolation by namespaces is required and not to be had",
        trial.problems.empty() ? "do not ask for less than is required" : trial.problems.front());
  Plan plan;
  plan.limits = policy.limits;
  bool dropped = namespaces ? trial.form->drop_root : ::geteuid() == 0 && request.drop_root;
  IsolationReport report = describe(trial, namespaces, dropped);
  if (!namespaces && policy.wanted < Level::namespaces) report.missing.clear();
  if (namespaces) {
    FIEL_TRY_STATUS(plan_namespaces(request, *trial.form, plan));
  } else {
    FIEL_TRY_STATUS(plan_limits(request, plan, report));
  }
  return start(request, std::move(plan), std::move(report), policy.limits);
}

const IsolationReport& probe() {
  static const IsolationReport report = [] {
    const BubblewrapTrial& trial = bubblewrap_trial(true);
    bool ok = trial.form.has_value();
    return describe(trial, ok, ok ? trial.form->drop_root : ::geteuid() == 0);
  }();
  return report;
}

}  // namespace fiel::sandbox
