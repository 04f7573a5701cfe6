#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

namespace fiel {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (int64_t count : {0, 1, 7, 64, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
    parallel_for(count, 7, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) seen[static_cast<size_t>(i)]++;
    });
    for (auto& s : seen) EXPECT_EQ(s.load(), 1);
  }
}

TEST(ParallelFor, PiecesDoNotDependOnTheNumberOfThreads) {
  auto borders = [](uint32_t threads) {
    std::set<std::pair<int64_t, int64_t>> out;
    std::mutex mutex;
    parallel_for(103, 10, threads, [&](int64_t begin, int64_t end) {
      std::lock_guard lock(mutex);
      out.emplace(begin, end);
    });
    return out;
  };
  EXPECT_EQ(borders(1), borders(5));
  EXPECT_EQ(borders(1).size(), 11u);
}

}  // namespace
}  // namespace fiel
