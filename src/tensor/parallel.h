// Splits a range of indices over the cores.
//
//   parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) { … });   // disjoint ranges
//
// Ranges start at multiples of the grain whatever the number of threads, so a result made of one
// value a range does not depend on the machine. Bodies must not throw. No nesting is detected.
#pragma once

#include <cstdint>
#include <functional>

namespace fiel {

/// Calls body for consecutive ranges of `grain` indices that cover [0, n). On the calling thread
/// alone where there is one range. threads == 0: all cores.
void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body,
                  uint32_t threads = 0);

}  // namespace fiel
