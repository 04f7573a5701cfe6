// No file of this process grows beyond so many bytes while it lives: a write takes what fits and
// refuses the rest, as on a disk that fills.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

namespace fiel::agent {

class FullDisk {
 public:
  explicit FullDisk(uint64_t bytes) : signal_before_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, signal_before_);
  }

 private:
  void (*signal_before_)(int);
  rlimit before_ = {};
};

}  // namespace fiel::agent
