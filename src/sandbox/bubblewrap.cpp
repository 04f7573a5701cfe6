#include "sandbox/bubblewrap.h"

#include <fmt/core.h>
#include <grp.h>
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

/// Runs `bwrap … true` in one form; the complaint when it does not work.
std::optional<std::string> try_form(const BubblewrapForm& form) {
  std::vector<std::string> words;
  // `setpriv` of util-linux gives up root as spawn() does itself.
  if (form.drop_root)
    words = {"/usr/bin/setpriv", fmt::format("--reuid={}", kNobody),
             fmt::format("--regid={}", kNobody), "--clear-groups"};
  auto bwrap =
      bubblewrap_arguments(form, {"/usr", "/lib", "/lib64", "/bin"}, {}, {}, {}, 1u << 20, -1);
  words.insert(words.end(), bwrap.begin(), bwrap.end());
  words.push_back("/usr/bin/true");
  ProcessRequest q;
  q.arguments = words;
  q.environment.emplace();
  q.timeout_ms = 10'000;
  auto r = run_process(q);
  if (!r) return r.error().what;
  if (r->ok()) return std::nullopt;
  return r->timed_out ? "bubblewrap hangs" : first_line(r->err);
}

BubblewrapTrial try_all(bool drop_root) {
  BubblewrapTrial t;
  if (const char* off = std::getenv("FIEL_NO_NAMESPACES"); off && *off == '1') {
    t.problems.push_back("namespaces: switched off by FIEL_NO_NAMESPACES=1");
    return t;
  }
  auto program = find_program("bwrap");
  if (!program) {
    t.problems.push_back("bubblewrap is not installed: apt-get install bubblewrap");
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

std::vector<std::string> bubblewrap_arguments(const BubblewrapForm& form,
                                              const std::vector<fs::path>& system,
                                              const std::vector<fs::path>& read_only,
                                              const fs::path& writable,
                                              const std::vector<std::pair<int, std::string>>& data,
                                              uint64_t tmp_bytes, int seccomp_fd) {
  std::vector<std::string> a = {form.program,    "--unshare-all", "--die-with-parent",
                                "--new-session", "--cap-drop",    "ALL"};
  auto add = [&](std::initializer_list<std::string> words) {
    a.insert(a.end(), words.begin(), words.end());
  };
  for (const fs::path& p : system) {
    std::error_code ec;
    if (fs::is_symlink(p, ec))
      add({"--symlink", fs::read_symlink(p, ec).string(), p.string()});
    else if (fs::exists(p, ec))
      add({"--ro-bind", p.string(), p.string()});
  }
  // Where the loader and the compiler drivers look; nothing about users or hosts.
  for (const char* p : {"/etc/ld.so.cache", "/etc/alternatives"}) add({"--ro-bind-try", p, p});
  add({"--size", std::to_string(tmp_bytes), "--tmpfs", "/tmp", "--dev", "/dev"});
  // A fresh /dev/shm is a tmpfs without a bound: take it away.
  add({"--size", std::to_string(tmp_bytes), "--tmpfs", "/dev/shm"});
  if (form.own_proc) add({"--proc", "/proc"});
  for (const fs::path& p : read_only) add({"--ro-bind", p.string(), p.string()});
  // Always at one place: what a compiler writes down of its folder is then the same in every run.
  if (!writable.empty()) add({"--bind", writable.string(), kWritableInside});
  for (const auto& [fd, path] : data)
    add({"--perms", "0555", "--ro-bind-data", std::to_string(fd), path});
  add({"--remount-ro", "/"});
  if (seccomp_fd >= 0) add({"--seccomp", std::to_string(seccomp_fd)});
  add({"--chdir", writable.empty() ? "/tmp" : kWritableInside, "--"});
  return a;
}

}  // namespace fiel::sandbox
