// Starts an untrusted program apart from everything, and says how far apart it really is.
//
//   SpawnRequest q{.arguments = {"/run/fiel-runner", "/run/kernel.so", "64"}};
//   q.files = {{"/cache/fiel-runner", "/run/fiel-runner"}, …};  q.descriptors = {{socket, 3}};
//   FIEL_TRY(std::unique_ptr<Child> child, spawn(q, policy));
//   child->isolation();  child->pump(100);  child->kill();  child->wait();
//
// What it never does: run less apart than `policy.required`. Below `wanted` it degrades and the
// report names each step that failed and what would help. It does not judge what the program says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "sandbox/isolation.h"

namespace fiel::sandbox {

inline constexpr const char* kWritableInside = "/kernel";

struct SpawnRequest {
  std::vector<std::string> arguments;  ///< [0] is an absolute path as seen inside
  std::vector<std::pair<std::string, std::string>> environment;  ///< all that there is
  std::vector<std::pair<int, int>> descriptors;                  ///< ours -> theirs (3 and up)
  /// Host file -> path inside, read-only copies. Without namespaces they are copied to a folder in
  /// /tmp, and `arguments` that name a path inside are rewritten.
  std::vector<std::pair<std::filesystem::path, std::string>> files;
  /// Read-only folders beside the system's /usr, bound at their own place.
  std::vector<std::filesystem::path> read_only;
  /// One writable folder (a compiler's output), seen as kWritableInside where there are namespaces;
  /// also the working directory, so name files in it relatively.
  std::filesystem::path writable;
  /// Host folder -> path inside, read-only, beside those. Without namespaces they stay at their own
  /// place (uses_namespaces).
  std::vector<std::pair<std::filesystem::path, std::string>> folders;
  /// Device nodes (a GPU's), at their own place. All others are those that every program expects.
  std::vector<std::filesystem::path> devices;
  /// It runs compilers: all of /usr and /bin, not the libraries alone.
  bool programs = false;
  /// Its programs may talk to each other over 127.0.0.1, which is "localhost" there. Nothing where
  /// there are no namespaces: that network would be the machine's.
  bool loopback = false;
  uint64_t tmp_bytes = 0;  ///< of the private /tmp; 0: what the limits on memory and files allow
  /// Give up root first when we are root. Not for programs that must read root's files (nvcc from
  /// a root-owned cache).
  bool drop_root = true;
};

/// A started program. Destroying it kills it and everything it started.
class Child {
 public:
  virtual ~Child() = default;
  virtual const IsolationReport& isolation() const = 0;
  virtual pid_t pid() const = 0;
  /// Readable when the program has ended.
  virtual int exit_descriptor() const = 0;
  /// Reads what there is of its output and looks at its memory; waits up to timeout_ms for
  /// something to happen on its pipes or on `also` (-1: nothing). True when `also` is readable.
  virtual bool pump(int64_t timeout_ms, int also = -1) = 0;
  virtual bool running() = 0;
  virtual void kill() = 0;
  /// Waits for the end (kills after timeout_ms). Afterwards signal and exit_code are set.
  virtual void wait(int64_t timeout_ms) = 0;

  int exit_code = 0, signal = 0;
  bool killed_by_us = false;
  std::string limit;          ///< which limit it hit: "memory limit of 4.00 GiB", or empty
  std::string output;         ///< stdout and stderr as they came, up to Limits::output_bytes
  uint64_t output_bytes = 0;  ///< all of it
  uint64_t peak_resident_bytes = 0;
};

/// ErrorCode::environment when `policy.required` cannot be had.
Result<std::unique_ptr<Child>> spawn(const SpawnRequest& request, const IsolationPolicy& policy);

/// Whether spawn() would use namespaces, and so move `files` and `folders` to their paths inside.
bool uses_namespaces(const SpawnRequest& request, const IsolationPolicy& policy);

/// What this machine can do, tried once with /usr/bin/true: for `fiel doctor` and for verdicts.
const IsolationReport& probe();

}  // namespace fiel::sandbox
