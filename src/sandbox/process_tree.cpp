#include "sandbox/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace fiel::sandbox {
namespace {

struct Entry {
  pid_t pid = 0, parent = 0, session = 0;
  uint64_t resident_pages = 0;
};

/// Fields 4 (ppid), 6 (session) and 24 (rss) of /proc/N/stat, after the name's last ')'.
bool read_entry(pid_t pid, Entry& e) {
  char path[40], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (n <= 0) return false;
  text[n] = 0;
  const char* p = std::strrchr(text, ')');
  if (!p) return false;
  e.pid = pid;
  char* rest = const_cast<char*>(p) + 1;
  int field = 2;
  for (char* word = ::strtok_r(rest, " ", &rest); word; word = ::strtok_r(nullptr, " ", &rest)) {
    ++field;
    if (field == 4) e.parent = std::atoi(word);
    if (field == 6) e.session = std::atoi(word);
    if (field == 24) e.resident_pages = std::strtoull(word, nullptr, 10);
    if (field == 24) break;
  }
  return field == 24;
}

/// Files are known by device and inode: several descriptors may be of one.
using Files = std::map<std::pair<dev_t, ino_t>, uint64_t>;

void add_nameless_files(pid_t pid, Files& files) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/fd", pid);
  DIR* folder = ::opendir(path);
  if (!folder) return;
  while (dirent* d = ::readdir(folder)) {
    struct stat st {};
    // Through the link, which leads to the file itself, whatever its name says.
    if (::fstatat(::dirfd(folder), d->d_name, &st, 0) != 0) continue;
    if (S_ISREG(st.st_mode) && st.st_nlink == 0)
      files[{st.st_dev, st.st_ino}] = static_cast<uint64_t>(st.st_blocks) * 512;
  }
  ::closedir(folder);
}

std::vector<Entry> all_entries() {
  std::vector<Entry> all;
  DIR* proc = ::opendir("/proc");
  if (!proc) return all;
  while (dirent* d = ::readdir(proc)) {
    pid_t pid = std::atoi(d->d_name);
    Entry e;
    if (pid > 0 && read_entry(pid, e)) all.push_back(e);
  }
  ::closedir(proc);
  return all;
}

/// `root`, what descends from it, and with a session what shares that.
std::set<pid_t> tree(const std::vector<Entry>& all, pid_t root, bool with_session) {
  std::set<pid_t> inside{root};
  for (bool grew = true; grew;) {
    grew = false;
    for (const Entry& e : all)
      if ((inside.count(e.parent) || (with_session && e.session == root)) &&
          inside.insert(e.pid).second)
        grew = true;
  }
  return inside;
}

}  // namespace

TreeUsage tree_usage(pid_t root, bool with_files) {
  TreeUsage usage;
  const std::vector<Entry> all = all_entries();
  const std::set<pid_t> inside = tree(all, root, true);
  Files files;
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const Entry& e : all)
    if (inside.count(e.pid)) {
      usage.resident_bytes += e.resident_pages * page;
      ++usage.processes;
      if (with_files) add_nameless_files(e.pid, files);
    }
  for (const auto& [file, bytes] : files) usage.nameless_file_bytes += bytes;
  return usage;
}

std::vector<pid_t> descendants(pid_t root) {
  std::set<pid_t> inside = tree(all_entries(), root, false);
  inside.erase(root);
  return {inside.begin(), inside.end()};
}

int64_t now_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

}  // namespace fiel::sandbox
