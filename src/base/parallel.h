// Splits an index range over all cores.
//
//   parallel_for(rows, /*grain=*/64, threads, [&](int64_t begin, int64_t end) { … });
//
// Pieces have fixed borders (multiples of `grain`), whatever the number of threads: a computation
// that is deterministic within a piece is deterministic as a whole. `body` must not throw.
#pragma once

#include <cstdint>
#include <functional>

namespace fiel {

/// threads = 0: one a core. With one piece, or one thread, runs in the caller.
void parallel_for(int64_t count, int64_t grain, uint32_t threads,
                  const std::function<void(int64_t begin, int64_t end)>& body);
uint32_t core_count();

}  // namespace fiel
