#include "sandbox/tree_watch.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/text.h"
#include "sandbox/process_tree.h"

namespace fiel::sandbox {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};
constexpr int kPeriodsPerLookAtFiles = 2;  ///< they cost a system call each
constexpr size_t kMostFiles = 100'000;     ///< more than these are too many whatever they hold

/// Bytes on disk below a folder; `bound` and one more where there is no end of files.
uint64_t folder_bytes(const std::filesystem::path& folder, uint64_t bound) {
  std::error_code ec;
  uint64_t total = 0;
  size_t files = 0;
  using Walk = std::filesystem::recursive_directory_iterator;
  const auto skip = std::filesystem::directory_options::skip_permission_denied;
  for (Walk it(folder, skip, ec), end; it != end && !ec; it.increment(ec)) {
    struct stat st {};
    if (::lstat(it->path().c_str(), &st) == 0) total += static_cast<uint64_t>(st.st_blocks) * 512;
    if (++files > kMostFiles || total > bound) return bound + 1;
  }
  return total;
}

}  // namespace

TreeWatch::TreeWatch(pid_t root, int pidfd, WatchedLimits watched)
    : root_(root),
      pidfd_(pidfd),
      watched_(std::move(watched)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}
TreeWatch::~TreeWatch() = default;

TreeWatch::Broken TreeWatch::look(bool at_files) {
  const Limits& limits = watched_.limits;
  const TreeUsage usage = tree_usage(root_, at_files);
  peak_ = std::max(peak_.load(), usage.resident_bytes);
  if (usage.resident_bytes + usage.nameless_file_bytes > limits.memory_bytes) return Broken::memory;
  if (usage.processes > limits.processes + watched_.own_processes) return Broken::processes;
  const bool bounded = !at_files || watched_.folder.empty();
  if (!bounded && folder_bytes(watched_.folder, watched_.folder_bytes) > watched_.folder_bytes)
    return Broken::files;
  return Broken::nothing;
}

/// Its group too, while its number is certainly its own.
void TreeWatch::kill() const {
  pollfd alive{pidfd_, POLLIN, 0};
  if (::poll(&alive, 1, 0) == 0) ::kill(-root_, SIGKILL);
  ::syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0);
}

void TreeWatch::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  for (int period = 1; !stop.stop_requested(); ++period) {
    const Broken found = look(period % kPeriodsPerLookAtFiles == 0);
    if (found != Broken::nothing) {
      broken_ = found;
      kill();
      return;
    }
    wake.wait_for(lock, stop, kPeriod, [] { return false; });
  }
}

std::string TreeWatch::broken() const {
  switch (broken_.load()) {
    case Broken::memory:
      return fmt::format("memory limit of {}", format_bytes(watched_.limits.memory_bytes));
    case Broken::processes:
      return fmt::format("limit of {} processes", watched_.limits.processes);
    case Broken::files:
      return fmt::format("limit of {} of files", format_bytes(watched_.folder_bytes));
    case Broken::nothing:
      break;
  }
  return {};
}

}  // namespace fiel::sandbox
