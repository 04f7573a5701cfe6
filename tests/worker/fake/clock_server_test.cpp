// The timed loop of a device process on a driver that needs no GPU (tests/device/fake): held and
// unheld samples, and what a kernel that waits for its own work makes of a hold.
#include "worker/clock_server.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "device/cuda_device.h"
#include "worker/runtime_server.h"

namespace fiel::worker {
namespace {

constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr uint64_t kSlotBytes = 4096;
constexpr uint32_t kWords = 16;
constexpr double kKernelNs = 10'000;  ///< of the fake driver's clock

int64_t later() { return monotonic_ns() + kMinuteNs; }

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

/// The candidate's end of the channel: every call fills its output with the call's number.
class Candidate {
 public:
  Candidate(int fd, bool waits) : fd_(fd), waits_(waits) {}

  void load() {
    const std::string image = "fill 8 4 4\n";
    WireWriter m;
    m.blob(image.data(), image.size());
    ask(Rt::register_module, m);
    WireWriter k;
    k.put<uint32_t>(0).text("fill");
    ask(Rt::kernel, k);
    send(Rt::ready, {});
  }
  /// Until the channel closes.
  void serve() {
    FrameHeader h;
    std::vector<uint8_t> bytes;
    while (receive_frame(fd_, h, bytes, kMaxRuntimeMessage, nullptr, later()) == IoStatus::ok) {
      WireReader r(bytes);
      const auto stream = r.get<uint64_t>();
      (void)r.get<uint64_t>();  // no input, one output
      launch(stream, r.get<WireTensor>().data, ++calls_);
      if (waits_) {
        WireWriter w;
        w.put(stream);
        ask(Rt::stream_synchronize, w);
      }
      WireWriter w;
      w.put<int32_t>(0).put<int32_t>(0);
      send_frame(fd_, static_cast<uint16_t>(Rt::returned), h.sequence, w.bytes(), -1, later());
    }
  }

 private:
  void launch(uint64_t stream, uint64_t to, uint32_t value) {
    LaunchHeader l;
    l.stream = stream;
    std::vector<uint8_t> p(16);
    std::memcpy(p.data(), &to, 8);
    std::memcpy(p.data() + 8, &value, 4);
    std::memcpy(p.data() + 12, &kWords, 4);
    WireWriter w;
    w.put(l);
    w.blob(p.data(), p.size());
    ask(Rt::launch, w);
  }
  void send(Rt op, const WireWriter& w) {
    send_frame(fd_, static_cast<uint16_t>(op), 0, w.bytes(), -1, later());
  }
  void ask(Rt op, const WireWriter& w) {
    send(op, w);
    FrameHeader h;
    std::vector<uint8_t> reply;
    ASSERT_EQ(receive_frame(fd_, h, reply, kMaxRuntimeMessage, nullptr, later()), IoStatus::ok);
    WireReader r(reply);
    EXPECT_EQ(r.get<int32_t>(), kCudaSuccess) << static_cast<int>(op);
  }

  int fd_;
  bool waits_;
  uint32_t calls_ = 0;
};

struct ClockServerTest : ::testing::Test {
  static constexpr size_t kSlots = 3;
  Shared window{2u << 20}, control{kClockPageBytes};
  ClockPage& page = *static_cast<ClockPage*>(control.memory);
  std::unique_ptr<device::CudaDevice> gpu;
  std::unique_ptr<RuntimeServer> server;
  Fd ours, theirs;
  std::thread candidate, loop;
  Result<ClockOutcome> outcome;

  void start(bool waits) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ours = Fd(pair[0]);
    theirs = Fd(pair[1]);
    auto driver = device::CudaDriver::open(FIEL_FAKE_CUDA);
    ASSERT_TRUE(driver) << to_string(driver.error());
    gpu = std::move(*device::CudaDevice::create(*driver, 0, {}));
    server = std::make_unique<RuntimeServer>(*gpu, ours.get(), gpu.get());
    candidate = std::thread([this, waits] {
      Candidate c(theirs.get(), waits);
      c.load();
      c.serve();
    });
    ASSERT_EQ(server->start({}, later()).status, CallStatus::returned);
    const auto base = gpu->import_window(window.fd.get(), window.bytes);
    ASSERT_TRUE(base) << to_string(base.error());
    std::vector<CallRequest> slots(kSlots);
    for (size_t i = 0; i < kSlots; ++i)
      slots[i].outputs = {{*base + i * kSlotBytes, DType::i32, {kWords}, {1}}};
    loop = std::thread(
        [this, slots] { outcome = serve_clock(*server, control.fd.get(), slots, {}, 60'000); });
    ASSERT_TRUE(reaches(page.ready, 1));
  }
  void TearDown() override {
    page.go = kLeaveClock;
    page.release = INT64_MAX / 2;
    if (loop.joinable()) loop.join();
    ours.reset();
    ::shutdown(theirs.get(), SHUT_RDWR);
    if (candidate.joinable()) candidate.join();
  }
  static bool reaches(const std::atomic<int64_t>& word, int64_t value) {
    const int64_t until = later();
    while (word != value && monotonic_ns() < until) std::this_thread::yield();
    return word == value;
  }
  int32_t output(size_t slot) const {
    return static_cast<const volatile int32_t*>(window.memory)[slot * kSlotBytes / 4 + kWords - 1];
  }
  void ask(int64_t turn, int64_t calls, bool held) {
    page.calls = calls;
    page.slot = 0;
    page.held = held ? 1 : 0;
    page.attend = turn;
    page.go = turn;
  }
};

TEST_F(ClockServerTest, HeldCallsAreQueuedThenRunAtTheRelease) {
  start(false);
  EXPECT_EQ(page.holds, 1);
  for (int64_t turn = 1; turn <= 2; ++turn) {
    for (size_t i = 0; i < kSlots; ++i)
      std::memset(static_cast<std::byte*>(window.memory) + i * kSlotBytes, 0, 64);
    ask(turn, kSlots, true);
    ASSERT_TRUE(reaches(page.queued, turn));
    EXPECT_EQ(page.done, turn - 1);
    for (size_t i = 0; i < kSlots; ++i) EXPECT_EQ(output(i), 0) << "before the release";
    page.release = turn;
    ASSERT_TRUE(reaches(page.reported, turn));
    EXPECT_EQ(page.status, 0);
    for (size_t i = 0; i < kSlots; ++i) EXPECT_NE(output(i), 0);
    // The first launch of a kernel may wait for the device: its batch is held all the same.
    EXPECT_NEAR(page.device_ns, kKernelNs, 10);
    EXPECT_GT(page.host_ns, 0);
    EXPECT_EQ(page.lead_ns, 0);
  }
}

TEST_F(ClockServerTest, AnUnheldCallTellsWhenTheDeviceWasGivenWork) {
  start(false);
  ask(1, 1, false);
  ASSERT_TRUE(reaches(page.reported, 1));
  EXPECT_EQ(page.queued, 0);
  EXPECT_NE(output(0), 0);
  EXPECT_NEAR(page.device_ns, kKernelNs, 10);
  // All of fiel_run comes before: what it launches is handed over when it has returned.
  EXPECT_GE(page.lead_ns, page.host_ns);
}

TEST_F(ClockServerTest, AProfiledCallTellsTheTimeOfEachLaunch) {
  start(false);
  page.go = kLeaveClock;
  loop.join();
  CallRequest request;
  request.outputs = {{*gpu->allocate(kSlotBytes, "output"), DType::i32, {kWords}, {1}}};
  CallOutcome plain = server->call(request, {}, later());
  ASSERT_EQ(plain.launches.size(), 1u) << plain.message;
  EXPECT_EQ(plain.launches[0].device_ns, 0);
  request.profiled = true;
  CallOutcome profiled = server->call(request, {}, later());
  ASSERT_EQ(profiled.launches.size(), 1u) << profiled.message;
  EXPECT_NEAR(profiled.launches[0].device_ns, kKernelNs, 10);
}

TEST_F(ClockServerTest, AKernelThatWaitsForItsWorkIsNotQueuedBeforeTheRelease) {
  start(true);
  ask(1, 2, true);
  // It stands in its first call: nothing more to see from outside than that `queued` stays away.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(page.queued, 0);
  EXPECT_EQ(output(0), 0);
  page.release = 1;
  ASSERT_TRUE(reaches(page.reported, 1));
  EXPECT_EQ(page.queued, 1);
  EXPECT_NE(output(1), 0);
  ask(2, 1, false);
  ASSERT_TRUE(reaches(page.reported, 2));
  EXPECT_EQ(page.status, 0);
}

}  // namespace
}  // namespace fiel::worker
