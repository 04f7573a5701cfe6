// Any bytes as what a candidate sends on its channel: an outcome, always, and no crash.
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "../worker/fake/fake_device.cpp"
#include "worker/runtime_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1u << 16) return 0;  // what the socket holds: one thread does both sides
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 0;
  fiel::Fd ours(pair[0]), theirs(pair[1]);
  // Frames of {type, length, payload}, so that the fuzzer need not invent magic numbers.
  for (size_t at = 0; at + 2 <= size;) {
    const uint16_t type = data[at];
    const size_t n = std::min<size_t>(data[at + 1], size - at - 2);
    if (fiel::worker::send_frame(theirs.get(), type, 0, {data + at + 2, n}, -1,
                                 fiel::worker::monotonic_ns() + 10'000'000) !=
        fiel::worker::IoStatus::ok)
      break;
    at += 2 + n;
  }
  ::shutdown(theirs.get(), SHUT_WR);
  auto device = fiel::worker::make_fake_device({.memory_bytes = 1u << 20});
  fiel::worker::RuntimeServer server(**device, ours.get());
  (void)server.start({}, fiel::worker::monotonic_ns() + 1'000'000'000);
  (void)server.call({}, {}, fiel::worker::monotonic_ns() + 100'000'000);
  return 0;
}
