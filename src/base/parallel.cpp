#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace fiel {

uint32_t core_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(int64_t count, int64_t grain, uint32_t threads,
                  const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  int64_t pieces = (count - 1) / grain + 1;
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t p; (p = next.fetch_add(1, std::memory_order_relaxed)) < pieces;)
      body(p * grain, std::min(count, (p + 1) * grain));
  };
  int64_t workers = std::min<int64_t>(threads == 0 ? core_count() : threads, pieces);
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
}

}  // namespace fiel
