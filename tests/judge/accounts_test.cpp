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

TEST(Tracks, LaunchesCountWhereNoTimesAreKnown) {
  const std::vector<KernelEvidence> bare = {{"mine", "own", 3, 0, false}};
  EXPECT_EQ(own_share(bare), 1.0);
  EXPECT_FALSE(track_violation(bare, Track::own));
  EXPECT_TRUE(track_violation(bare, Track::libraries));
  const std::vector<KernelEvidence> mixed = {{"sgemm", "library", 1, 0, false},
                                             {"cub", "library", 8, 0, false},
                                             {"mine", "own", 1, 0, false}};
  EXPECT_DOUBLE_EQ(*own_share(mixed), 0.1);
  EXPECT_NE(track_violation(mixed, Track::own)->find("90 % of the launches"), std::string::npos);
  EXPECT_NE(track_violation(mixed, Track::own)->find("most in cub"), std::string::npos);
  EXPECT_DOUBLE_EQ(*own_share(kMixed), 0.1) << "of the device time";
}

TEST(Tracks, NothingSeenIsNoEvidence) {
  EXPECT_FALSE(own_share({}));
  EXPECT_FALSE(track_violation({}, Track::own));
  EXPECT_FALSE(track_violation({}, Track::libraries));
}

}  // namespace
}  // namespace fiel::judge::torch
