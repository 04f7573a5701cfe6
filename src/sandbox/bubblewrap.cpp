#include "sandbox/bubblewrap.h"

#include <fmt/core.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "base/process.h"
#include "base/text.h"

namespace fiel::sandbox {
namespace fs = std::filesystem;
namespace {

/// What bubblewrap's complaint means and what helps (Ubuntu's AppArmor rule, Docker, hidepid).
std::string explain(const std::string& complaint) {
  struct Rule {
    const char* text;
    const char* advice;
  };
  constexpr Rule kRules[] = {
      {"No permissions to creat",
       "user namespaces are forbidden; allow them with `sysctl kernel.unprivileged_userns_clone=1` "
       "(Debian), `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu) or, in Docker, "
       "`--security-opt seccomp=unconfined`"},
      {"Creating new namespace failed",
       "namespaces are forbidden; in Docker use `--security-opt seccomp=unconfined`, elsewhere "
       "raise `sysctl user.max_user_namespaces`"},
      {"uid map",
       "mapping user ids is forbidden (AppArmor); use `sysctl "
       "kernel.apparmor_restrict_unprivileged_userns=0` or, in Docker, `--security-opt "
       "apparmor=unconfined`"},
      {"proc",
       "a private /proc cannot be mounted; in Docker use `--security-opt systempaths=unconfined`, "
       "with hidepid on /proc run as the user that owns it"},
      {"loopback", "a private network cannot be set up; in Docker use `--cap-add NET_ADMIN`"},
      {"Operation not permitted",
       "mounting inside the namespace is forbidden; in Docker use `--security-opt "
       "seccomp=unconfined --security-opt apparmor=unconfined`"},
      {"execvp", "the program itself could not be started"}};
  for (const Rule& r : kRules)
    if (complaint.find(r.text) != std::string::npos) return r.advice;
  return "run `bwrap --unshare-all --ro-bind / / true` to see the whole message";
}

std::string first_line(const std::string& text) {
  std::string line(trim(text.substr(0, text.find('\n'))));
  return line.empty() ? "no message" : line;
}

/// Runs /usr/bin/true behind the words; the complaint when that does not work.
std::optional<std::string> try_words(std::vector<std::string> words) {
  words.push_back("/usr/bin/true");
  ProcessRequest q;
  q.arguments = std::move(words);
  q.environment.emplace();
  q.timeout_ms = 10'000;
  auto r = run_process(q);
  if (!r) return r.error().what;
  if (r->ok()) return std::nullopt;
  return r->timed_out ? "bubblewrap hangs" : first_line(r->err);
}

constexpr const char* kSwitchedOff = "namespaces: switched off by FIEL_NO_NAMESPACES=1";
constexpr const char* kNotInstalled =
    "bubblewrap is not installed: apt-get install bubblewrap, or name one by FIEL_BWRAP";

bool switched_off() {
  const char* off = std::getenv("FIEL_NO_NAMESPACES");
  return off && *off == '1';
}

/// Runs `bwrap … true` in one form; the complaint when it does not work.
std::optional<std::string> try_form(const BubblewrapForm& form) {
  std::vector<std::string> words;
  // `setpriv` of util-linux gives up root as spawn() does itself.
  if (form.drop_root)
    words = {"/usr/bin/setpriv", fmt::format("--reuid={}", kNobody),
             fmt::format("--regid={}", kNobody), "--clear-groups"};
  BubblewrapView view;
  view.system = {"/usr", "/lib", "/lib64", "/bin"};
  auto bwrap = bubblewrap_arguments(form, view);
  words.insert(words.end(), bwrap.begin(), bwrap.end());
  return try_words(std::move(words));
}

BubblewrapTrial try_all(bool drop_root) {
  BubblewrapTrial t;
  if (switched_off()) {
    t.problems.push_back(kSwitchedOff);
    return t;
  }
  auto program = bubblewrap_program();
  if (!program) {
    t.problems.push_back(kNotInstalled);
    return t;
  }
  std::vector<bool> drops = ::geteuid() != 0 ? std::vector{false}
                            : drop_root      ? std::vector{true, false}
                                             : std::vector{false};
  for (bool own_proc : {true, false})
    for (bool drop : drops) {
      BubblewrapForm form{program->string(), drop, own_proc};
      auto complaint = try_form(form);
      if (!complaint) {
        t.form = form;
        return t;
      }
      t.problems.push_back(fmt::format("bubblewrap{}{}: {}: {}", drop ? " as nobody" : "",
                                       own_proc ? "" : " without /proc", *complaint,
                                       explain(*complaint)));
    }
  return t;
}

}  // namespace

const BubblewrapTrial& bubblewrap_trial(bool drop_root) {
  static std::once_flag once[2];
  static BubblewrapTrial trials[2];
  std::call_once(once[drop_root], [&] { trials[drop_root] = try_all(drop_root); });
  return trials[drop_root];
}

std::optional<fs::path> bubblewrap_program() {
  if (const char* named = std::getenv("FIEL_BWRAP"); named && *named) {
    std::error_code ec;
    if (fs::path path = fs::absolute(named, ec);
        fs::is_regular_file(path, ec) && ::access(path.c_str(), X_OK) == 0)
      return path;
    return std::nullopt;
  }
  return find_program("bwrap");
}

std::vector<std::string> bubblewrap_arguments(const BubblewrapForm& form,
                                              const BubblewrapView& view) {
  std::vector<std::string> a = {form.program,    "--unshare-all", "--die-with-parent",
                                "--new-session", "--cap-drop",    "ALL"};
  auto add = [&](std::initializer_list<std::string> words) {
    a.insert(a.end(), words.begin(), words.end());
  };
  if (view.as_nobody) add({"--uid", std::to_string(kNobody), "--gid", std::to_string(kNobody)});
  for (const fs::path& p : view.system) {
    std::error_code ec;
    if (fs::is_symlink(p, ec))
      add({"--symlink", fs::read_symlink(p, ec).string(), p.string()});
    else if (fs::exists(p, ec))
      add({"--ro-bind", p.string(), p.string()});
  }
  // Where the loader and the compiler drivers look; nothing about users or hosts.
  for (const char* p : {"/etc/ld.so.cache", "/etc/alternatives"}) add({"--ro-bind-try", p, p});
  const std::string tmp_bytes = std::to_string(view.tmp_bytes);
  add({"--size", tmp_bytes, "--tmpfs", "/tmp", "--dev", "/dev"});
  // A fresh /dev/shm is a tmpfs without a bound: take it away.
  add({"--size", tmp_bytes, "--tmpfs", "/dev/shm"});
  for (const fs::path& p : view.devices) add({"--dev-bind-try", p.string(), p.string()});
  // Its first process is bubblewrap's own, of the same user and without the filter: whoever could
  // write to its memory would be rid of the filter, too.
  if (form.own_proc)
    add({"--proc", "/proc", "--perms", "0555", "--size", "4096", "--tmpfs", "/proc/1"});
  for (const fs::path& p : view.read_only) add({"--ro-bind", p.string(), p.string()});
  for (const auto& [host, inside] : view.folders) add({"--ro-bind", host.string(), inside});
  // Always at one place: what a compiler writes down of its folder is then the same in every run.
  if (!view.writable.empty()) add({"--bind", view.writable.string(), kWritableInside});
  for (const auto& [fd, path] : view.data)
    add({"--perms", "0555", "--ro-bind-data", std::to_string(fd), path});
  add({"--remount-ro", "/"});
  if (view.seccomp_fd >= 0) add({"--seccomp", std::to_string(view.seccomp_fd)});
  add({"--chdir", view.writable.empty() ? "/tmp" : kWritableInside, "--"});
  return a;
}

Result<std::vector<std::string>> process_space(const ProcessSpace& space) {
  if (switched_off()) return fail(ErrorCode::environment, kSwitchedOff);
  const auto program = bubblewrap_program();
  if (!program) return fail(ErrorCode::environment, kNotInstalled);
  // --dev-bind, not --bind: the devices of all mounts stay what they are.
  std::vector<std::string> words = {
      program->string(), "--dev-bind",        "/", "/", "--proc", "/proc",
      "--unshare-pid",   "--die-with-parent", "--"};
  // Only now: in a user namespace of its own the kernel counts that namespace's tasks alone (Linux
  // 5.14), so none of the user's other processes counts, or is refused anything. Root is exempt.
  rlimit tasks{};
  ::getrlimit(RLIMIT_NPROC, &tasks);
  if (space.max_tasks && space.max_tasks < tasks.rlim_max)
    words.insert(words.end(),
                 {"/usr/bin/prlimit", fmt::format("--nproc={0}:{0}", space.max_tasks)});
  // Root becomes the user inside: outside it would need a user namespace, where all others' files
  // are nobody's; and what holds the namespace stays root's.
  if (const auto& to = space.user_and_group)
    words.insert(words.end(),
                 {"/usr/bin/setpriv", fmt::format("--reuid={}", to->first),
                  fmt::format("--regid={}", to->second), fmt::format("--groups={}", to->second)});
  // Else its group would be ours, and a signal to it would reach bubblewrap, too.
  words.push_back("/usr/bin/setsid");
  if (const auto complaint = try_words(words))
    return fail(ErrorCode::environment,
                fmt::format("bubblewrap: {}: {}", *complaint, explain(*complaint)));
  return words;
}

}  // namespace fiel::sandbox
