#include "worker/torch_worker.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "device/device_name.h"
#include "worker/frame_io.h"
#include "worker/python_launch.h"
#include "worker/request_number.h"
#include "worker/trusted_child.h"

namespace fiel::worker {
namespace {

constexpr uint16_t kRequest = 1, kReply = 2, kEvent = 3;
// A value's tree: 16 levels of nesting, three of JSON for each level of a dict, and what is around.
constexpr uint32_t kMaxDepth = 80;
constexpr size_t kMaxValues = 2u << 20;  ///< of a frame: thousands of samples of twenty numbers
constexpr int kMaxEvents = 100'000;      ///< before one reply
constexpr uint32_t kMaxEventBytes = 64u << 10;
/// For a process that closed its channel to end by itself. Tearing down gigabytes on a busy machine
/// takes seconds, and would be called tampering; only who closes the channel and lives on costs
/// this.
constexpr int64_t kLastWordsMs = 5'000;

/// A process that sees one GPU calls it cuda:0: nothing in it may depend on which one is the
/// current one, as it would with several.
Result<PythonLaunch> launch_of(const WorkerSpec& spec) {
  const auto name = device::parse_device_name(spec.device);
  const std::string alone =
      name ? device::visible_alone(name->cuda, std::getenv("CUDA_VISIBLE_DEVICES")) : "";
  if (alone.empty()) return python_launch(spec);
  WorkerSpec seen = spec;
  seen.device = "cuda:0";
  FIEL_TRY(PythonLaunch launch, python_launch(seen));
  launch.variables.emplace_back("CUDA_VISIBLE_DEVICES", alone);
  return launch;
}

std::string cut(const std::string& text, size_t bytes) { return text.substr(0, bytes); }

std::optional<Fault> claimed_fault(const std::string& name) {
  for (Fault f : {Fault::task, Fault::candidate, Fault::worker, Fault::unsupported, Fault::memory})
    if (name == to_string(f)) return f;
  return std::nullopt;
}

std::vector<uint8_t> request_frame(uint32_t sequence, const std::string& text) {
  FrameHeader header;
  header.type = kRequest;
  header.sequence = sequence;
  header.length = static_cast<uint32_t>(text.size());
  std::vector<uint8_t> frame(sizeof header + text.size());
  std::memcpy(frame.data(), &header, sizeof header);
  std::memcpy(frame.data() + sizeof header, text.data(), text.size());
  return frame;
}

}  // namespace

struct TorchWorker::Frame {
  uint16_t type = 0;
  uint32_t sequence = 0;
  Json body;
};

const char* to_string(Role role) { return role == Role::oracle ? "oracle" : "runner"; }

TorchWorker::TorchWorker(std::unique_ptr<sandbox::Child> child, Fd socket, bool trusted,
                         WorkerSpec spec)
    : child_(std::move(child)),
      socket_(std::move(socket)),
      isolation_(child_->isolation()),
      spec_(std::move(spec)),
      trusted_(trusted) {}
TorchWorker::~TorchWorker() = default;

Result<std::unique_ptr<TorchWorker>> TorchWorker::start(const WorkerSpec& spec) {
  FIEL_TRY(ChannelEnds ends, make_channel());
  FIEL_TRY(PythonLaunch launch, launch_of(spec));
  TrustedRequest request{std::move(launch.arguments), std::move(launch.variables),
                         ends.theirs.get()};
  FIEL_TRY(auto child, start_trusted(request));
  return std::make_unique<TorchWorker>(std::move(child), std::move(ends.ours), true, spec);
}

bool TorchWorker::alive() { return !dead_ && child_->running(); }

/// Kills it and tells why, with its last words.
WorkerFault TorchWorker::end(Fault kind, std::string what) {
  dead_ = true;
  waiting_ = false;
  child_->kill();
  child_->wait(2'000);
  socket_.reset();
  received_.clear();
  constexpr size_t kLastWords = 8192;
  const std::string& said = child_->output;
  WorkerFault fault;
  fault.kind = kind;
  fault.what = std::move(what);
  fault.output = said.substr(said.size() - std::min(said.size(), kLastWords));
  fault.signal = child_->signal;
  fault.exit_code = child_->exit_code;
  return fault;
}

/// The process has gone by itself, or by a limit.
WorkerFault TorchWorker::ended() {
  child_->wait(kLastWordsMs);
  if (!child_->limit.empty()) return end(Fault::memory, "stopped at the " + child_->limit);
  if (child_->signal)
    return end(Fault::crash, fmt::format("the worker ended by signal {} ({})", child_->signal,
                                         ::strsignal(child_->signal)));
  return end(Fault::crash, fmt::format("the worker ended with exit code {}", child_->exit_code));
}

/// The channel is closed: by a process that is ending, or by one that lives on.
WorkerFault TorchWorker::closed() {
  const int64_t deadline = monotonic_ns() + kLastWordsMs * 1'000'000;
  while (child_->running() && monotonic_ns() < deadline) child_->pump(10);
  if (child_->running()) return end(Fault::protocol, "the worker closed its channel");
  return ended();
}

Answer<Json> TorchWorker::ask(Json request, const AskOptions& options) {
  FIEL_TRY_STATUS(send(std::move(request), options));
  return receive(options);
}

Answer<void> TorchWorker::send(Json request, const AskOptions& options) {
  if (dead_) return fail(WorkerFault{Fault::crash, "the worker has ended", {}, {}, 0, 0});
  if (waiting_ || options.descriptors.size() > kMaxDescriptors)
    return fail(WorkerFault{Fault::worker, "a request while another is unanswered", {}, {}, 0, 0});
  if (!options.descriptors.empty()) request["fds"] = options.descriptors.size();
  const std::string text = request.dump();
  if (text.size() > kMaxPayload)
    return fail(WorkerFault{Fault::unsupported, "a request of over 16 MiB", {}, {}, 0, 0});
  descriptors_.clear();
  sequence_ = draw_request_number(sequence_);
  FIEL_TRY_STATUS(write_all(request_frame(sequence_, text), options));
  waiting_ = true;
  return {};
}

Answer<void> TorchWorker::write_all(const std::vector<uint8_t>& frame, const AskOptions& options) {
  const int64_t deadline = monotonic_ns() + options.timeout_ms * 1'000'000;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control{};
  const size_t rights = options.descriptors.size() * sizeof(int);
  for (size_t sent = 0; sent < frame.size();) {
    iovec iov{const_cast<uint8_t*>(frame.data()) + sent, frame.size() - sent};
    msghdr m{};
    m.msg_iov = &iov;
    m.msg_iovlen = 1;
    if (sent == 0 && rights > 0) {
      m.msg_control = control.data();
      m.msg_controllen = CMSG_SPACE(rights);
      cmsghdr* c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(rights);
      std::memcpy(CMSG_DATA(c), options.descriptors.data(), rights);
    }
    const ssize_t n = ::sendmsg(socket_.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<size_t>(n);
    if (n >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return fail(closed());
    if (monotonic_ns() > deadline)
      return fail(end(Fault::timeout,
                      fmt::format("the worker took no request in {} ms", options.timeout_ms)));
    if (stopped_ && stopped_())
      return fail(end(Fault::worker, "stopped before it took the request"));
    child_->pump(0);  // it may be blocked on what it prints
    pollfd p{socket_.get(), POLLOUT, 0};
    ::poll(&p, 1, 10);
  }
  return {};
}

/// Takes what there is on the socket; a fault when it is closed or cannot be read.
std::optional<Fault> TorchWorker::read_some() {
  constexpr size_t kStep = 256u << 10;
  const size_t at = received_.size();
  received_.resize(at + kStep);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control{};
  iovec iov{received_.data() + at, kStep};
  msghdr m{};
  m.msg_iov = &iov;
  m.msg_iovlen = 1;
  if (trusted_) {  // no room for them: the kernel drops what a candidate sends
    m.msg_control = control.data();
    m.msg_controllen = control.size();
  }
  const ssize_t n = ::recvmsg(socket_.get(), &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  received_.resize(at + (n > 0 ? static_cast<size_t>(n) : 0));
  if (n < 0) return errno == EAGAIN || errno == EINTR ? std::nullopt : std::optional(Fault::crash);
  for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; CMSG_LEN(sizeof(int) * (i + 1)) <= c->cmsg_len; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      descriptors_.emplace_back(fd);
    }
  }
  const bool too_many = descriptors_.size() > kMaxDescriptors || (m.msg_flags & MSG_CTRUNC);
  if (trusted_ && too_many) return Fault::protocol;
  return n == 0 ? std::optional(Fault::crash) : std::nullopt;
}

/// A whole frame out of what was received, or none yet.
Answer<std::optional<TorchWorker::Frame>> TorchWorker::next_frame() {
  FrameHeader header;
  if (received_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, received_.data(), sizeof header);
  const uint32_t bound = header.type == kEvent ? kMaxEventBytes
                         : trusted_            ? kMaxPayload
                                               : kMaxClaim;
  if (header.magic != kWireMagic || header.version != kWireVersion || header.length > bound ||
      (header.type != kReply && header.type != kEvent))
    return fail(end(Fault::protocol, "the worker sent a malformed frame"));
  if (header.sequence != sequence_)
    return fail(end(Fault::protocol, "the worker sent a reply to no request that it was sent"));
  if (received_.size() - sizeof header < header.length) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(received_.data()) + sizeof header,
                              header.length);
  auto body = Json::parse(
      text, {.max_bytes = kMaxPayload, .max_depth = kMaxDepth, .max_values = kMaxValues});
  if (!body || !body->is_object())
    return fail(end(Fault::protocol, "the worker sent a frame that is no JSON object"));
  const auto whole = static_cast<ptrdiff_t>(sizeof header + header.length);
  received_.erase(received_.begin(), received_.begin() + whole);
  return Frame{header.type, header.sequence, std::move(*body)};
}

Answer<TorchWorker::Frame> TorchWorker::wait_for_frame(int64_t deadline_ns,
                                                       const AskOptions& options) {
  for (;;) {
    FIEL_TRY(auto frame, next_frame());
    if (frame) return std::move(*frame);
    const int64_t left_ns = deadline_ns - monotonic_ns();
    if (left_ns <= 0)
      return fail(end(Fault::timeout,
                      fmt::format("the worker did not answer in {} ms", options.timeout_ms)));
    if (stopped_ && stopped_()) return fail(end(Fault::worker, "stopped before it answered"));
    if (options.meanwhile) options.meanwhile();
    const bool was_running = child_->running();
    // Short steps: a limit on memory is looked at between them.
    if (child_->pump(std::min<int64_t>(left_ns / 1'000'000 + 1, 50), socket_.get())) {
      auto fault = read_some();
      if (fault == Fault::protocol)
        return fail(end(Fault::protocol, "the worker sent too many descriptors"));
      if (fault) return fail(closed());
    } else if (!was_running) {
      return fail(ended());  // gone, and nothing of it is left on the socket
    }
  }
}

Answer<Json> TorchWorker::receive(const AskOptions& options) {
  if (dead_) return fail(WorkerFault{Fault::crash, "the worker has ended", {}, {}, 0, 0});
  if (!waiting_) return fail(WorkerFault{Fault::worker, "no request is unanswered", {}, {}, 0, 0});
  const int64_t deadline = monotonic_ns() + options.timeout_ms * 1'000'000;
  for (int events = 0; events <= kMaxEvents; ++events) {
    FIEL_TRY(Frame frame, wait_for_frame(deadline, options));
    if (frame.type == kEvent) {
      if (options.progress)
        options.progress(printable(frame.body["progress"].as_string(), 200),
                         frame.body["done"].as_int(), frame.body["total"].as_int());
      continue;
    }
    waiting_ = false;
    if (!received_.empty() || !frame.body["ok"].is_boolean())
      return fail(end(Fault::protocol, "the worker sent a malformed reply"));
    if (frame.body["ok"].as_bool()) return std::move(frame.body);
    auto kind = claimed_fault(frame.body["fault"].as_string());
    if (!kind) return fail(end(Fault::protocol, "the worker sent a fault of no known kind"));
    return fail(WorkerFault{*kind,
                            cut(frame.body["error"].as_string(), 600),
                            cut(frame.body["detail"].as_string(), 8192),
                            {},
                            0,
                            0});
  }
  return fail(end(Fault::protocol, "the worker floods its channel"));
}

}  // namespace fiel::worker
