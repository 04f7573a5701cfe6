#include "tensor/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace fiel {

void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body,
                  uint32_t threads) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  int64_t ranges = n / grain + (n % grain != 0);
  int64_t cores = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  int64_t workers = std::min(ranges, cores);
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t r; (r = next.fetch_add(1, std::memory_order_relaxed)) < ranges;)
      body(r * grain, std::min(n, r * grain + grain));
  };
  std::vector<std::jthread> others;
  others.reserve(static_cast<size_t>(workers));
  for (int64_t i = 1; i < workers; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: those that run do the work of all
    }
  }
  work();
}

}  // namespace fiel
