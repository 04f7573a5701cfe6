#include "kernel_fixture.h"

namespace fiel::worker {
namespace {

std::vector<float> ramp(size_t n) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i) * 0.5f;
  return x;
}
std::vector<float> twice_plus_one(std::vector<float> x) {
  for (float& v : x) v = 2 * v + 1;
  return x;
}

TEST_F(KernelTest, AKernelRunsAndItsOutputIsRead) {
  auto s = start(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
  ASSERT_TRUE(s);
  auto x = ramp(1000);
  Vectors v = place(*s, x);
  CallOutcome o = s->call(request(v));
  EXPECT_EQ(o.status, CallStatus::returned) << o.message << o.output;
  EXPECT_EQ(values(*s, v.y), twice_plus_one(x));
  ASSERT_EQ(o.launches.size(), 1u);
  EXPECT_EQ(o.launches[0].grid.x, 8u);
  EXPECT_EQ(o.unjoined_work, 0u);
  EXPECT_EQ(o.runtime_error, "");
}

}  // namespace
}  // namespace fiel::worker
