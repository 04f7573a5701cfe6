#include "worker/timeline.h"

#include <gtest/gtest.h>

namespace fiel::worker {
namespace {

Work numbered(uint64_t n) {
  Work w;
  w.kind = Work::Kind::free_memory;
  w.address = n;
  return w;
}
std::vector<uint64_t> numbers(const std::vector<Work>& all) {
  std::vector<uint64_t> out;
  for (const Work& w : all) out.push_back(w.address);
  return out;
}
using Order = std::vector<uint64_t>;

TEST(Timeline, AStreamRunsInOrderAndOnlyWhenAsked) {
  Timeline t;
  auto s = t.create_stream(false);
  t.submit(s, numbered(1));
  t.submit(s, numbered(2));
  EXPECT_EQ(t.pending_work(), 2u);
  EXPECT_EQ(numbers(t.due(t.tail(s))), (Order{1, 2}));
  EXPECT_EQ(t.pending_count(), 0u);
}

TEST(Timeline, AnotherStreamStaysUndone) {
  Timeline t;
  auto a = t.create_stream(true), b = t.create_stream(true);
  t.submit(a, numbered(1));
  t.submit(b, numbered(2));
  EXPECT_EQ(numbers(t.due(t.tail(a))), (Order{1}));
  EXPECT_EQ(t.pending_work(), 1u);
}

TEST(Timeline, TheLegacyStreamAndBlockingStreamsWaitForEachOther) {
  Timeline t;
  auto blocking = t.create_stream(false), free = t.create_stream(true);
  t.submit(blocking, numbered(1));
  t.submit(free, numbered(2));
  t.submit(0, numbered(3));
  t.submit(blocking, numbered(4));
  EXPECT_EQ(numbers(t.due(t.tail(blocking))), (Order{1, 3, 4}));
  EXPECT_EQ(t.pending_work(), 1u);
}

TEST(Timeline, AnEventJoinsTwoStreams) {
  Timeline t;
  auto a = t.create_stream(true), b = t.create_stream(true);
  t.submit(a, numbered(1));
  auto event = t.tail(a);
  t.submit(a, numbered(2));  // after the record: not waited for
  t.wait(b, event);
  t.submit(b, numbered(3));
  EXPECT_EQ(numbers(t.due(t.tail(b))), (Order{1, 3}));
}

TEST(Timeline, ADestroyedStreamsWorkIsStillThere) {
  Timeline t;
  auto s = t.create_stream(true);
  t.submit(s, numbered(1));
  EXPECT_TRUE(t.destroy_stream(s));
  EXPECT_FALSE(t.has_stream(s));
  EXPECT_EQ(t.pending_work(), 1u);
  EXPECT_EQ(numbers(t.due(t.tail_of_everything())), (Order{1}));
}

TEST(Timeline, TheBuiltInStreamsCannotBeDestroyed) {
  Timeline t;
  EXPECT_FALSE(t.destroy_stream(0));
  EXPECT_FALSE(t.destroy_stream(kLegacyStream));
  EXPECT_FALSE(t.destroy_stream(kPerThreadStream));
}

TEST(Graph, OrderFollowsDependenciesAndFindsCycles) {
  Graph g;
  g.nodes = {
      {1, NodeKind::empty, {}, {3}}, {2, NodeKind::empty, {}, {1}}, {3, NodeKind::empty, {}, {}}};
  EXPECT_EQ(g.order(), (std::vector<size_t>{2, 0, 1}));
  g.nodes[2].dependencies = {2};
  EXPECT_TRUE(g.order().empty());
}

}  // namespace
}  // namespace fiel::worker
