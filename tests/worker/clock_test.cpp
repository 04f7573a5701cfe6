// A bare kernel as a runner of the oracle's clock: windows, control page, leaving.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_fixture.h"
#include "worker/clock_page.h"
#include "worker/frame_io.h"

namespace fiel::worker {
namespace {

struct Shared {
  Fd fd;
  void* memory = nullptr;
  size_t bytes;
  explicit Shared(size_t n) : fd(::memfd_create("test", MFD_CLOEXEC)), bytes(n) {
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(n)), 0);
    memory = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  }
  ~Shared() { ::munmap(memory, bytes); }
};

bool answered(BareSession& s, ClockPage& page, int64_t turn) {
  const int64_t until = monotonic_ns() + 20'000'000'000;
  while (page.reported != turn && monotonic_ns() < until && s.pump_clock(1)) {}
  return page.done == turn && page.reported == turn;
}

struct ClockTest : KernelTest {
  static constexpr size_t kSlotBytes = 4096, kSlots = 3, kFloats = 256;
  Shared window{2 * kSlots * kSlotBytes}, control{kClockPageBytes};
  ClockPage& page = *static_cast<ClockPage*>(control.memory);

  float* floats(size_t slot, bool output) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(window.memory) +
                                    (2 * slot + output) * kSlotBytes);
  }
  ClockRequest request(uint64_t base) {
    ClockRequest q;
    q.page = control.fd.get();
    for (size_t i = 0; i < kSlots; ++i) {
      CallRequest slot;
      slot.inputs = {{base + 2 * i * kSlotBytes, DType::f32, {kFloats}, {1}}};
      slot.outputs = {{base + (2 * i + 1) * kSlotBytes, DType::f32, {kFloats}, {1}}};
      q.slots.push_back(slot);
    }
    return q;
  }
};

TEST_F(ClockTest, AnswersSamplesUntilItIsToldToLeave) {
  auto s = start(with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);"));
  ASSERT_TRUE(s);
  auto base = s->import_window(window.fd.get(), window.bytes);
  ASSERT_TRUE(base) << to_string(base.error());
  ASSERT_TRUE(s->begin_clock(request(*base)));
  for (int64_t turn = 1; turn <= 3; ++turn) {
    for (size_t i = 0; i < kSlots; ++i)
      for (size_t k = 0; k < kFloats; ++k) floats(i, false)[k] = static_cast<float>(turn * 10);
    page.slot = turn;  // a batch of two goes round the end of the slots
    page.calls = 2;
    page.attend = turn;
    page.go = turn;
    ASSERT_TRUE(answered(*s, page, turn));
    EXPECT_EQ(page.status, 0);
    EXPECT_EQ(page.ready, 1);
    for (int64_t i : {turn, turn + 1})
      EXPECT_EQ(floats(static_cast<size_t>(i) % kSlots, true)[kFloats - 1],
                static_cast<float>(turn * 20 + 1));
  }
  page.go = kLeaveClock;
  auto end = s->end_clock(20'000);
  ASSERT_TRUE(end) << to_string(end.error());
  EXPECT_EQ(end->calls, 6u);
  EXPECT_EQ(end->last.status, CallStatus::returned);
  EXPECT_TRUE(s->alive());
  EXPECT_TRUE(s->drop_window(*base));
  EXPECT_FALSE(s->drop_window(*base));
}

TEST_F(ClockTest, ACallThatFailsEndsTheLoopAndSaysSo) {
  auto s = start(with_kernel("return 3;"));
  ASSERT_TRUE(s);
  auto base = s->import_window(window.fd.get(), window.bytes);
  ASSERT_TRUE(base);
  ASSERT_TRUE(s->begin_clock(request(*base)));
  page.calls = 1;
  page.go = 1;
  ASSERT_TRUE(answered(*s, page, 1));
  EXPECT_EQ(page.status, 1);
  auto end = s->end_clock(20'000);
  ASSERT_TRUE(end) << to_string(end.error());
  EXPECT_EQ(end->calls, 1u);
  EXPECT_EQ(end->last.return_code, 3);
}

TEST_F(ClockTest, ADeathWithinACallEndsTheLoop) {
  auto s = start(with_kernel("__builtin_trap();"));
  ASSERT_TRUE(s);
  auto base = s->import_window(window.fd.get(), window.bytes);
  ASSERT_TRUE(base);
  ASSERT_TRUE(s->begin_clock(request(*base)));
  page.calls = 1;
  page.go = 1;
  ASSERT_TRUE(answered(*s, page, 1));
  auto end = s->end_clock(20'000);
  ASSERT_TRUE(end) << to_string(end.error());
  EXPECT_EQ(end->last.status, CallStatus::crashed);
  EXPECT_FALSE(s->alive());
}

TEST_F(ClockTest, AWindowMustBeAsLongAsItClaims) {
  auto s = start(with_kernel(""));
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->import_window(window.fd.get(), 10 * window.bytes));
  EXPECT_FALSE(s->import_window(window.fd.get(), 0));
}

}  // namespace
}  // namespace fiel::worker
