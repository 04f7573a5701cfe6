#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "kernel_fixture.h"
#include "worker/device_process.h"

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

/// The words of a process, with a NUL after each.
std::string cmdline(const std::filesystem::path& process) {
  std::ifstream words(process / "cmdline");
  return {std::istreambuf_iterator<char>(words), {}};
}

/// A child of this process that is, or is not, a device process; 0 where there is none. Between
/// fork and exec a child has our own words: it is neither yet.
pid_t child(bool device) {
  const std::string ours = cmdline("/proc/self");
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    std::getline(stat, line);
    const size_t name_end = line.rfind(") ");
    if (name_end == std::string::npos) continue;
    if (std::atoi(line.c_str() + name_end + 4) != ::getpid()) continue;
    const std::string words = cmdline(entry.path());
    if (words.empty() || words == ours) continue;
    if ((words.find(kDeviceVerb) != std::string::npos) == device) return std::atoi(line.c_str());
  }
  return 0;
}

/// Once there are a candidate and a device, the device is stopped. False: they did not come.
bool stop_the_device() {
  for (int tries = 0; tries < 6'000; ++tries) {
    const pid_t device = child(true);
    if (device > 0 && child(false) > 0) return ::kill(device, SIGSTOP) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_F(KernelTest, AKernelThatWasNotLoadedInTimeIsATimeoutAndTheDeviceNotBroken) {
  auto options = options_for(compile(
      "__attribute__((constructor)) static void stay() { for (volatile int i = 1; i;) {} }\n" +
      with_kernel("twice<<<grid, 128, 0, stream>>>(x, y, n);")));
  options.start_timeout_ms = 2'000;
  // A device that cannot answer, as one that is filling gigabytes for the kernel's variables.
  bool stopped = false;
  std::thread stopper([&] { stopped = stop_the_device(); });
  auto started = BareSession::start(options);
  stopper.join();
  EXPECT_TRUE(stopped);
  ASSERT_TRUE(started) << to_string(started.error());
  BareSession& s = **started;
  ASSERT_EQ(child(true), 0) << "the device was ended";
  Vectors v = place(s, ramp(1000));
  EXPECT_TRUE(s.poison(v.y.address, 4000, 0xff));
  EXPECT_TRUE(s.mark_output(v.y.address));
  CallOutcome o = s.call(request(v));
  EXPECT_EQ(o.status, CallStatus::timeout) << o.message;
  EXPECT_NE(o.message.find("still loading"), std::string::npos) << o.message;
  EXPECT_FALSE(s.alive());
}

}  // namespace
}  // namespace fiel::worker
