#include "worker/host_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

namespace fiel::worker {
namespace {

#ifdef __SANITIZE_THREAD__  // its shadow lies where we would map
constexpr uint64_t kFirstAddress = 0x7e90'0000'0000, kLastAddress = 0x7f00'0000'0000;
#else
constexpr uint64_t kFirstAddress = 0x2000'0000'0000, kLastAddress = 0x4000'0000'0000;
#endif
constexpr uint64_t kAlign = 2ull << 20;

uint32_t mark_of(uint64_t word) {
  uint64_t h = (word + 1) * 0x9e3779b97f4a7c15ull;
  return 0xffc00000u | (static_cast<uint32_t>(h >> 40) & 0x3fffffu);
}

/// The first free place at or after `next`, or nullptr.
void* map_in_window(int fd, uint64_t bytes, std::atomic<uint64_t>& next) {
  for (int attempt = 0; attempt < 64; ++attempt) {
    uint64_t at = next.fetch_add((bytes + 2 * kAlign - 1) / kAlign * kAlign);
    if (at + bytes > kLastAddress) return nullptr;
    void* p = ::mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (p == reinterpret_cast<void*>(at)) return p;
    if (p != MAP_FAILED) ::munmap(p, bytes);
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<HostRegion>> HostRegion::create(uint64_t bytes) {
  static std::atomic<uint64_t> next{kFirstAddress};
  std::unique_ptr<HostRegion> r(new HostRegion);
  r->bytes_ = bytes;
  r->mapped_ = (bytes + 4095) / 4096 * 4096;
  r->fd_ = Fd(::memfd_create("fiel-host", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!r->fd_ || ::ftruncate(r->fd_.get(), static_cast<off_t>(r->mapped_)) != 0)
    return fail(ErrorCode::limit, std::string("no shared memory: ") + std::strerror(errno));
  // The candidate gets this descriptor: were it able to shrink the file, our accesses would fault.
  if (::fcntl(r->fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(ErrorCode::io, std::string("cannot seal shared memory: ") + std::strerror(errno));
  void* p = map_in_window(r->fd_.get(), r->mapped_, next);
  if (!p) return fail(ErrorCode::limit, "no address space for shared memory");
  r->memory_ = static_cast<std::byte*>(p);
  return r;
}

HostRegion::~HostRegion() {
  if (memory_) ::munmap(memory_, mapped_);
}

void HostRegion::fill_with_marks() {
  if (bytes_ > kMaxTracked || bytes_ < 4) return;
  unwritten_ = bytes_ / 4;
  written_.assign(unwritten_, false);
  for (uint64_t i = 0; i < unwritten_; ++i) {
    uint32_t mark = mark_of(i);
    std::memcpy(memory_ + 4 * i, &mark, 4);
  }
}

std::vector<std::pair<uint64_t, uint64_t>> HostRegion::newly_written() {
  std::vector<std::pair<uint64_t, uint64_t>> runs;
  if (unwritten_ == 0) return runs;
  for (uint64_t i = 0; i < written_.size(); ++i) {
    if (written_[i]) continue;
    uint32_t now;
    std::memcpy(&now, memory_ + 4 * i, 4);
    if (now == mark_of(i)) continue;
    written_[i] = true;
    --unwritten_;
    if (!runs.empty() && runs.back().second == 4 * i)
      runs.back().second += 4;
    else
      runs.emplace_back(4 * i, 4 * i + 4);
  }
  return runs;
}

}  // namespace fiel::worker
