#include "sandbox/seccomp_filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace fiel::sandbox {
namespace {

struct Filter {
  scmp_filter_ctx context;
  explicit Filter(uint32_t action) : context(::seccomp_init(action)) {}
  ~Filter() {
    if (context) ::seccomp_release(context);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
};

/// Names that this machine's libseccomp does not know are skipped: newer kernels have more calls.
void add(Filter& f, uint32_t action, const char* name) {
  int number = ::seccomp_syscall_resolve_name(name);
  if (number != __NR_SCMP_ERROR) ::seccomp_rule_add(f.context, action, number, 0);
}

constexpr const char* kDenied[] = {
    // other processes' memory and control
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    "pidfd_open", "pidfd_send_signal", "process_mrelease",
    // namespaces and mounts
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount",
    "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    // kernel surface that a kernel's host code has no business with
    "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "kexec_load",
    "kexec_file_load", "init_module", "finit_module", "delete_module", "open_by_handle_at",
    "name_to_handle_at", "fanotify_init", "lookup_dcookie", "quotactl", "swapon", "swapoff",
    "reboot", "acct", "syslog", "iopl", "ioperm", "vhangup", "personality", "seccomp",
    // clocks
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "stime"};
constexpr const char* kConnections[] = {"connect", "accept", "accept4"};
constexpr const char* kSockets[] = {"socket", "bind", "listen"};

constexpr const char* kAllowedForComputation[] = {"read",
                                                  "write",
                                                  "readv",
                                                  "writev",
                                                  "pread64",
                                                  "pwrite64",
                                                  "recvmsg",
                                                  "sendmsg",
                                                  "recvfrom",
                                                  "sendto",
                                                  "poll",
                                                  "ppoll",
                                                  "close",
                                                  "fstat",
                                                  "newfstatat",
                                                  "lseek",
                                                  "mmap",
                                                  "munmap",
                                                  "mprotect",
                                                  "mremap",
                                                  "madvise",
                                                  "brk",
                                                  "memfd_create",
                                                  "ftruncate",
                                                  "fcntl",
                                                  "futex",
                                                  "futex_waitv",
                                                  "clone3",
                                                  "clone",
                                                  "set_robust_list",
                                                  "rseq",
                                                  "set_tid_address",
                                                  "exit",
                                                  "exit_group",
                                                  "gettid",
                                                  "getpid",
                                                  "tgkill",
                                                  "rt_sigaction",
                                                  "rt_sigprocmask",
                                                  "rt_sigreturn",
                                                  "sigaltstack",
                                                  "sched_yield",
                                                  "sched_getaffinity",
                                                  "getcpu",
                                                  "nanosleep",
                                                  "clock_nanosleep",
                                                  "clock_gettime",
                                                  "gettimeofday",
                                                  "getrandom",
                                                  "sysinfo",
                                                  "restart_syscall",
                                                  "membarrier",
                                                  "arch_prctl",
                                                  "prlimit64",
                                                  "getrlimit",
                                                  "sched_setaffinity"};

Result<BpfProgram> export_program(Filter& f) {
  int fd = ::memfd_create("fiel-filter", MFD_CLOEXEC);
  if (fd < 0) return fail(ErrorCode::environment, "no memory file for the system-call filter");
  int rc = ::seccomp_export_bpf(f.context, fd);
  off_t size = ::lseek(fd, 0, SEEK_END);
  BpfProgram program(size > 0 ? static_cast<size_t>(size) : 0);
  ssize_t n = ::pread(fd, program.data(), program.size(), 0);
  ::close(fd);
  if (rc != 0 || n != static_cast<ssize_t>(program.size()) || program.empty())
    return fail(ErrorCode::environment, "libseccomp could not make the filter");
  return program;
}

}  // namespace

namespace {

/// What no process that runs or carries out hostile code may do.
void deny_common(Filter& f, pid_t only_signal_to) {
  ::seccomp_attr_set(f.context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
  for (const char* name : kDenied) add(f, SCMP_ACT_ERRNO(EPERM), name);
  // Not there at all, so that libraries take their older way.
  for (const char* name : {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"})
    add(f, SCMP_ACT_ERRNO(ENOSYS), name);
  constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                                   CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  for (int bit = 0; bit < 64; ++bit)
    if (uint64_t flag = uint64_t{1} << bit; kNamespaces & flag)
      ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                         SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  // A filter of its own could edit results in flight.
  ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1,
                     SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
  constexpr uint64_t kPushInput = 0x5412;  // TIOCSTI
  ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                     SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, kPushInput));
  if (only_signal_to > 0) {
    auto self = static_cast<scmp_datum_t>(only_signal_to);
    for (int call :
         {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)})
      ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), call, 1, SCMP_A0(SCMP_CMP_NE, self));
    // It stays in its process group, which is what we kill.
    for (const char* name : {"tkill", "setsid", "setpgid"}) add(f, SCMP_ACT_ERRNO(EPERM), name);
    ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
                       SCMP_A0(SCMP_CMP_NE, 0));
  }
}

void deny_connections(Filter& f) {
  for (const char* name : kConnections) add(f, SCMP_ACT_ERRNO(EPERM), name);
}

void deny_sockets(Filter& f) {
  for (const char* name : kSockets) add(f, SCMP_ACT_ERRNO(EPERM), name);
}

/// A rule compares an argument once, so all other families are refused one by one.
void deny_distant_families(Filter& f) {
  constexpr scmp_datum_t kNear[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  constexpr scmp_datum_t kLast = AF_NETLINK;
  for (scmp_datum_t family = 0; family < kLast; ++family)
    if (std::find(std::begin(kNear), std::end(kNear), family) == std::end(kNear))
      ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                         SCMP_A0(SCMP_CMP_EQ, family));
  ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                     SCMP_A0(SCMP_CMP_GT, kLast));
}

}  // namespace

Result<BpfProgram> candidate_filter(const CandidateFilter& wish) {
  Filter f(SCMP_ACT_ALLOW);
  if (!f.context) return fail(ErrorCode::environment, "libseccomp does not start");
  deny_common(f, wish.only_signal_to);
  if (!wish.loopback) deny_connections(f);
  if (wish.loopback)
    deny_distant_families(f);
  else if (wish.local_sockets)
    ::seccomp_rule_add(f.context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                       SCMP_A0(SCMP_CMP_NE, AF_UNIX));
  else
    deny_sockets(f);
  return export_program(f);
}

Result<BpfProgram> gpu_process_filter(pid_t self) {
  Filter f(SCMP_ACT_ALLOW);
  if (!f.context) return fail(ErrorCode::environment, "libseccomp does not start");
  deny_common(f, self);
  deny_connections(f);
  deny_sockets(f);
  for (const char* name : {"execve", "execveat", "vfork"}) add(f, SCMP_ACT_ERRNO(EPERM), name);
  return export_program(f);
}

bool load_filter(const BpfProgram& program) {
  sock_fprog p{static_cast<unsigned short>(program.size() / sizeof(sock_filter)),
               reinterpret_cast<sock_filter*>(const_cast<uint8_t*>(program.data()))};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

bool load_filter_on_all_threads(const BpfProgram& program) {
  sock_fprog p{static_cast<unsigned short>(program.size() / sizeof(sock_filter)),
               reinterpret_cast<sock_filter*>(const_cast<uint8_t*>(program.data()))};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p) == 0;
}

Status confine_to_computation() {
#ifndef FIEL_SANITIZED  // sanitizers read files of /proc when they report
  Filter f(SCMP_ACT_ERRNO(EPERM));
  if (!f.context) return fail(ErrorCode::environment, "libseccomp does not start");
  for (const char* name : kAllowedForComputation) add(f, SCMP_ACT_ALLOW, name);
  if (int rc = ::seccomp_load(f.context); rc != 0)
    return fail(ErrorCode::environment,
                std::string("the kernel refuses system-call filters: ") + std::strerror(-rc));
#endif
  return {};
}

}  // namespace fiel::sandbox
