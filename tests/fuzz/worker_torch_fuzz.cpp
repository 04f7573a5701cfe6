// Any bytes as what a PyTorch worker answers: an answer or a fault, always, and no crash. The first
// byte chooses the operation; then come frames of {kind, length, payload}, so that the fuzzer need
// not invent magic numbers, or the stream as it is.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "worker/frame_io.h"
#include "worker/torch_oracle.h"
#include "worker/torch_runner.h"

namespace {

using namespace fiel;
using namespace fiel::worker;

void send_all(int socket, std::span<const uint8_t> bytes, bool framed, uint32_t sequence) {
  const int64_t deadline = monotonic_ns() + 10'000'000;
  if (!framed) {
    (void)::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  while (bytes.size() > 3) {
    const size_t wanted = bytes[1] | bytes[2] << 8;
    const size_t n = std::min<size_t>(wanted, bytes.size() - 3);
    if (send_frame(socket, bytes[0] % 4, sequence, bytes.subspan(3, n), -1, deadline) !=
        IoStatus::ok)
      return;
    bytes = bytes.subspan(3 + n);
  }
}

/// A process that says all that it will say once it is asked: the number of the request is drawn,
/// and other answers are not looked into.
class AnsweringChild : public sandbox::Child {
 public:
  AnsweringChild(Fd socket, std::span<const uint8_t> answer, bool framed)
      : socket_(std::move(socket)), answer_(answer), framed_(framed) {}
  const sandbox::IsolationReport& isolation() const override { return report_; }
  pid_t pid() const override { return -1; }
  int exit_descriptor() const override { return -1; }
  bool pump(int64_t, int also) override {
    if (socket_) answer();
    pollfd p{also, POLLIN, 0};
    return also >= 0 && ::poll(&p, 1, 0) > 0;
  }
  bool running() override { return false; }
  void kill() override {}
  void wait(int64_t) override {}

 private:
  void answer() {
    FrameHeader asked;
    if (::recv(socket_.get(), &asked, sizeof asked, MSG_DONTWAIT) == sizeof asked)
      send_all(socket_.get(), answer_, framed_, asked.sequence);
    socket_.reset();
  }

  Fd socket_;
  std::span<const uint8_t> answer_;
  bool framed_;
  sandbox::IsolationReport report_;
};

void ask_oracle(TorchOracle oracle, int operation) {
  switch (operation) {
    case 0:
      return (void)oracle.hello("cpu", 50);
    case 1:
      return (void)oracle.window(4096);
    case 2:
      return (void)oracle.open_task({.path = "task.py"}, {.timeout_ms = 50});
    case 3:
      return (void)oracle.prepare({}, {.timeout_ms = 50});
    case 4:
      return (void)oracle.weights(Json(1), 1);
    case 5:
      return (void)oracle.place({});
    case 6:
      return (void)oracle.verify({}, {.timeout_ms = 50});
    case 7:
      return (void)oracle.impostors(Json::array(), {.timeout_ms = 50});
    default:
      return (void)oracle.time(OpenClock{}, ClockChunk{}, {.timeout_ms = 50});
  }
}

void ask_runner(TorchRunner runner, int operation) {
  switch (operation) {
    case 0:
      return (void)runner.hello("cpu", 50);
    case 1:
      return (void)runner.load({}, {.timeout_ms = 50});
    case 2:
      return (void)runner.weights(Json(1), 1, Json::array());
    case 3:
      return (void)runner.call({}, 50);
    case 4:
      return (void)runner.state(Json(1), 1, {});
    case 5:
      return (void)runner.evidence(Json(1), 1, Json::object(), 50);
    case 6:
      return (void)runner.memory(Json(1));
    default:
      if (runner.start_time(Json::object(), 0)) (void)runner.finish_time(50);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 1u << 16) return 0;  // what the socket holds: one thread is both sides
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 0;
  Fd ours(pair[0]), theirs(pair[1]);
  const bool oracle = data[0] & 0x80, framed = !(data[0] & 0x40);
  auto child =
      std::make_unique<AnsweringChild>(std::move(theirs), std::span(data + 1, size - 1), framed);
  TorchWorker worker(std::move(child), std::move(ours), oracle);
  if (oracle)
    ask_oracle(TorchOracle(worker), data[0] % 9);
  else
    ask_runner(TorchRunner(worker), data[0] % 8);
  return 0;
}
