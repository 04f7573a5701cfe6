// The candidate's process: loads the kernel and runs fiel_run when the judge asks.
//
//   fiel-runner <kernel.so> <max processes> [<max descriptors>]
//   fiel-runner --exec <max processes> <program> <arguments…>
//
// Started by sandbox/ with its private channel as descriptor 3 and nothing else. It is small on
// purpose: it shares its process with hostile code, holds nothing worth stealing, and is believed
// in nothing. The second form only lowers the process limit inside the sandbox and then becomes the
// program (the limit must be set inside: outside it would count the user's other processes).
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" void __fielServe(int (*fiel_run)(const void*, int, void*, int, void*));
extern "C" void __fielLoadFailed(const char* message);

namespace {

void limit_processes(const char* text) {
  rlim_t n = std::strtoul(text, nullptr, 10);
  rlimit limit{n, n};
  if (n > 0) ::setrlimit(RLIMIT_NPROC, &limit);
}

char* put_hex(char* p, unsigned long v) {
  *p++ = '0';
  *p++ = 'x';
  for (int shift = 60; shift >= 0; shift -= 4) {
    unsigned long digit = (v >> shift) & 15;
    if (v >> shift || shift == 0) *p++ = "0123456789abcdef"[digit];
  }
  return p;
}

/// Tells the person who wrote the kernel where it went wrong; the judge only shows it.
void on_fault(int signal, siginfo_t* info, void*) {
  char line[96] = "fiel: the kernel's host code touched memory it must not, at ";
  char* p = put_hex(line + std::strlen(line), reinterpret_cast<unsigned long>(info->si_addr));
  *p++ = '\n';
  [[maybe_unused]] ssize_t n = ::write(2, line, static_cast<size_t>(p - line));
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 4 && std::strcmp(argv[1], "--exec") == 0) {
    limit_processes(argv[2]);
    ::execv(argv[3], argv + 3);
    std::fprintf(stderr, "fiel-runner: cannot run %s: %s\n", argv[3], std::strerror(errno));
    return 127;
  }
  if (argc < 3) return 2;
  limit_processes(argv[2]);
  // What it prints is wanted even when it dies in the next line.
  ::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
  void* library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    __fielLoadFailed(::dlerror());
    return 3;
  }
  void* entry = ::dlsym(library, "fiel_run");
  if (!entry) {
    __fielLoadFailed("the kernel exports no fiel_run");
    return 3;
  }
  __fielServe(reinterpret_cast<int (*)(const void*, int, void*, int, void*)>(entry));
  // The judge has closed the channel. Destructors of the kernel do not run: some sleep for ever.
  ::_exit(0);
}
