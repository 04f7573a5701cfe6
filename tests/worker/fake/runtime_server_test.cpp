// The device's side of the channel against a peer that speaks the protocol well, badly, or not at
// all: in one process, on the fake device.
#include "worker/runtime_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>
#include <thread>

#include "fake_device.h"

namespace fiel::worker {
namespace {

/// PTX for the fake device, which reads only the entries' parameter lists.
const std::string kPtx =
    ".version 9.0\n.target sm_90\n.visible .entry twice(.param .u64 a, .param .u64 b, .param .u32 "
    "n)\n"
    "{ ret; }\n.visible .entry fault(.param .u64 a)\n{ ret; }\n";

int64_t soon(int64_t ms = 2'000) { return monotonic_ns() + ms * 1'000'000; }

struct ServerTest : ::testing::Test {
  std::unique_ptr<vgpu::Device> device = *make_fake_device({.memory_bytes = 1u << 20});
  Fd ours, theirs;
  std::unique_ptr<RuntimeServer> server;
  void SetUp() override { renew(); }
  void renew() {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ours = Fd(pair[0]);
    theirs = Fd(pair[1]);
    server = std::make_unique<RuntimeServer>(*device, ours.get());
  }
  void send(Rt op, const WireWriter& w) {
    send_frame(theirs.get(), static_cast<uint16_t>(op), 0, w.bytes(), -1, soon());
  }
  /// The reply's error; its results stay in `reply`.
  std::vector<uint8_t> reply;
  int32_t error() {
    FrameHeader h;
    if (receive_frame(theirs.get(), h, reply, kMaxRuntimeMessage, nullptr, soon()) != IoStatus::ok)
      return -1;
    WireReader r(reply);
    return r.get<int32_t>();
  }
  int32_t ask(Rt op, const WireWriter& w) {
    send(op, w);
    return error();
  }
  WireReader results() {
    WireReader r(reply);
    r.get<int32_t>();
    return r;
  }
  /// `talk` is the candidate; it must end with ready() for start() to return well.
  CallOutcome start(const std::function<void()>& talk, int64_t ms = 2'000) {
    std::thread peer(talk);
    CallOutcome o = server->start({}, soon(ms));
    peer.join();
    return o;
  }
  void ready() { send(Rt::ready, {}); }
};

TEST_F(ServerTest, AModuleIsLoadedAndAKernelDescribed) {
  CallOutcome o = start([&] {
    WireWriter m;
    m.blob(kPtx.data(), kPtx.size());
    EXPECT_EQ(ask(Rt::register_module, m), kCudaSuccess);
    WireWriter k;
    k.put<uint32_t>(0).text("twice");
    EXPECT_EQ(ask(Rt::kernel, k), kCudaSuccess);
    WireReader r = results();
    auto info = r.get<KernelReply>();
    EXPECT_EQ(info.n_parameters, 3u);
    EXPECT_EQ(info.parameter_block_bytes, 20u);
    k.clear();
    k.put<uint32_t>(0).text("nobody");
    EXPECT_EQ(ask(Rt::kernel, k), kCudaErrorInvalidDeviceFunction);
    ready();
  });
  EXPECT_EQ(o.status, CallStatus::returned) << o.message;
  EXPECT_EQ(server->kernels().size(), 2u);
}

TEST_F(ServerTest, AModuleThatTheDeviceRefusesIsTold) {
  CallOutcome o = start([&] {
    std::string bad = kPtx + "wgmma";
    WireWriter m;
    m.blob(bad.data(), bad.size());
    EXPECT_EQ(ask(Rt::register_module, m), kCudaSuccess);
    WireWriter k;
    k.put<uint32_t>(0).text("twice");
    EXPECT_EQ(ask(Rt::kernel, k), kCudaErrorInvalidPtx);
    ready();
  });
  EXPECT_NE(o.beyond_device.find("wgmma"), std::string::npos);
}

TEST_F(ServerTest, MemoryThatIsNotThereIsRefused) {
  start([&] {
    WireWriter w;
    w.put<uint64_t>(1ull << 40);
    EXPECT_EQ(ask(Rt::allocate, w), kCudaErrorMemoryAllocation);
    w.clear();
    w.put<uint64_t>(0xdead0000).put<uint64_t>(0).put<uint32_t>(0);
    EXPECT_EQ(ask(Rt::free_memory, w), kCudaErrorInvalidValue);
    ready();
  });
}

TEST_F(ServerTest, ALengthThatLiesEndsTheSession) {
  CallOutcome o = start([&] {
    FrameHeader h;
    h.type = static_cast<uint16_t>(Rt::allocate);
    h.length = 0xffffffff;
    ::send(theirs.get(), &h, sizeof h, 0);
  });
  EXPECT_EQ(o.status, CallStatus::protocol);
}

TEST_F(ServerTest, AMessageWithTooMuchOrTooLittleEndsTheSession) {
  for (size_t size : {0u, 4u, 12u}) {
    renew();
    CallOutcome o = start([&] {
      WireWriter w;
      for (size_t i = 0; i < size; ++i) w.put<uint8_t>(0);
      send(Rt::allocate, w);
    });
    EXPECT_EQ(o.status, CallStatus::protocol) << size;
  }
}

TEST_F(ServerTest, AnUnknownRequestEndsTheSession) {
  EXPECT_EQ(start([&] { send(static_cast<Rt>(4711), {}); }).status, CallStatus::protocol);
}

TEST_F(ServerTest, APeerThatStallsInTheMiddleOfAMessageIsATimeout) {
  CallOutcome o = start([&] { ::send(theirs.get(), "FI", 2, 0); }, 100);
  EXPECT_EQ(o.status, CallStatus::timeout);
}

TEST_F(ServerTest, APeerThatLeavesIsSaidToHaveLeft) {
  CallOutcome o = start([&] { theirs.reset(); });
  EXPECT_EQ(o.status, CallStatus::crashed);
}

TEST_F(ServerTest, AReturnBeforeAnyCallIsAForgery) {
  CallOutcome o = start([&] {
    WireWriter w;
    w.put<int32_t>(0).put<int32_t>(0);
    send(Rt::returned, w);
  });
  EXPECT_EQ(o.status, CallStatus::protocol);
}

TEST_F(ServerTest, OnlyTheNumberOfTheCallEndsIt) {
  // What is added to the number that `run` came with, and whether that is an answer.
  const std::pair<uint32_t, CallStatus> cases[] = {
      {0, CallStatus::returned}, {1, CallStatus::protocol}, {~0u, CallStatus::protocol}};
  for (const auto& [added, status] : cases) {
    renew();
    ASSERT_EQ(start([&] { ready(); }).status, CallStatus::returned);
    std::thread peer([&, added = added] {
      FrameHeader run;
      std::vector<uint8_t> bytes;
      ASSERT_EQ(receive_frame(theirs.get(), run, bytes, 1u << 20, nullptr, soon()), IoStatus::ok);
      EXPECT_EQ(run.type, static_cast<uint16_t>(FromDevice::run));
      WireWriter w;
      w.put<int32_t>(0).put<int32_t>(0);
      send_frame(theirs.get(), static_cast<uint16_t>(Rt::returned), run.sequence + added, w.bytes(),
                 -1, soon());
    });
    const CallOutcome o = server->call({}, {}, soon());
    peer.join();
    EXPECT_EQ(o.status, status) << added << ": " << o.message;
  }
}

TEST_F(ServerTest, TwoCallsHaveNumbersThatDoNotFollowFromEachOther) {
  ASSERT_EQ(start([&] { ready(); }).status, CallStatus::returned);
  std::vector<uint32_t> numbers;
  std::thread peer([&] {
    for (int i = 0; i < 4; ++i) {
      FrameHeader run;
      std::vector<uint8_t> bytes;
      ASSERT_EQ(receive_frame(theirs.get(), run, bytes, 1u << 20, nullptr, soon()), IoStatus::ok);
      numbers.push_back(run.sequence);
      WireWriter w;
      w.put<int32_t>(0).put<int32_t>(0);
      send_frame(theirs.get(), static_cast<uint16_t>(Rt::returned), run.sequence, w.bytes(), -1,
                 soon());
    }
  });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(server->call({}, {}, soon()).status, CallStatus::returned);
  peer.join();
  ASSERT_EQ(numbers.size(), 4u);
  EXPECT_NE(numbers[1] - numbers[0], numbers[2] - numbers[1]);
  EXPECT_NE(numbers[2] - numbers[1], numbers[3] - numbers[2]);
}

TEST_F(ServerTest, ReadyInTheMiddleOfACallIsAReplay) {
  ASSERT_EQ(start([&] { ready(); }).status, CallStatus::returned);
  std::thread peer([&] {
    FrameHeader run;
    std::vector<uint8_t> bytes;
    ASSERT_EQ(receive_frame(theirs.get(), run, bytes, 1u << 20, nullptr, soon()), IoStatus::ok);
    ready();
  });
  EXPECT_EQ(server->call({}, {}, soon()).status, CallStatus::protocol);
  peer.join();
}

TEST_F(ServerTest, HandlesThatWereNeverGivenAreRefused) {
  start([&] {
    for (Rt op : {Rt::stream_synchronize, Rt::stream_destroy, Rt::event_synchronize,
                  Rt::event_destroy, Rt::graph_instantiate, Rt::exec_destroy, Rt::free_host}) {
      WireWriter w;
      w.put<uint64_t>(0x777777);
      EXPECT_GT(ask(op, w), 0) << static_cast<int>(op);
    }
    ready();
  });
}

/// Any bytes whatever, as payloads of all requests: an error or the end of the session, never a
/// crash and never a hang.
TEST_F(ServerTest, RandomPayloadsNeverCrashTheServer) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    renew();
    std::thread peer([&, seed = random()] {
      std::mt19937 r(seed);
      for (int i = 0; i < 20; ++i) {
        WireWriter w;
        size_t words = r() % 14;
        for (size_t k = 0; k < words; ++k) {
          uint64_t small[] = {0, 1, 2, 0x100, 0x110, 16, 1ull << 40, UINT64_MAX};
          w.put<uint64_t>(r() % 3 ? small[r() % 8] : r());
        }
        if (r() % 2) w.put<uint32_t>(static_cast<uint32_t>(r() % 5));
        send_frame(theirs.get(), static_cast<uint16_t>(1 + r() % 55), 0, w.bytes(), -1, soon(200));
      }
      ::shutdown(theirs.get(), SHUT_WR);
      // Replies pile up in the socket: read them so that the server is not held.
      FrameHeader h;
      std::vector<uint8_t> bytes;
      while (receive_frame(theirs.get(), h, bytes, kMaxRuntimeMessage, nullptr, soon(500)) ==
             IoStatus::ok) {}
    });
    CallOutcome o = server->start({}, soon(5'000));
    server.reset();
    ours.reset();
    peer.join();
    EXPECT_NE(o.status, CallStatus::timeout);
  }
}

}  // namespace
}  // namespace fiel::worker
