// Whose kernels did the work, and which track allows it.
#include "judge/torch/accounts.h"

#include <gtest/gtest.h>

namespace fiel::judge::torch {
namespace {

const std::vector<KernelEvidence> kMixed = {{"sgemm", "library", 1, 900, true},
                                            {"my_bias", "own", 1, 100, false}};

TEST(Tracks, AFigLeafBesideALibraryIsNoOwnKernel) {
  const auto why = track_violation(kMixed, Track::own);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("sgemm"), std::string::npos);
  EXPECT_FALSE(track_violation(kMixed, Track::libraries));
  EXPECT_FALSE(track_violation(kMixed, Track::any));
}

TEST(Tracks, OwnKernelsMayCopyThroughTheFramework) {
  const std::vector<KernelEvidence> own = {{"my_gemm", "own", 1, 900, true},
                                           {"copy", "framework", 1, 100, false}};
  EXPECT_FALSE(track_violation(own, Track::own));
  EXPECT_TRUE(track_violation(own, Track::libraries));
}

TEST(Tracks, NothingSeenIsNoEvidence) {
  EXPECT_FALSE(track_violation({}, Track::own));
  EXPECT_FALSE(track_violation({}, Track::libraries));
}

}  // namespace
}  // namespace fiel::judge::torch
