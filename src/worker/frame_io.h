// Frames over a Unix stream socket, with a deadline on every byte and a bound on every length.
//
//   IoStatus s = send_frame(fd, type, sequence, payload, -1, deadline_ns);
//   IoStatus s = receive_frame(fd, header, payload, kMaxMessage, nullptr, deadline_ns);
//
// Header-only and free of exceptions (the stand-in runtime uses it). A payload is read as it
// arrives, so that a header that promises 64 MiB costs memory only when the bytes really come.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/wire.h"

namespace fiel::worker {

enum class IoStatus : uint8_t { ok, closed, timeout, malformed, error };

inline constexpr int64_t kNoDeadline = INT64_MAX;

inline int64_t monotonic_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

namespace detail {

inline IoStatus wait_for(int fd, short events, int64_t deadline_ns) {
  for (;;) {
    int timeout = -1;
    if (deadline_ns != kNoDeadline) {
      int64_t left = deadline_ns - monotonic_ns();
      if (left <= 0) return IoStatus::timeout;
      timeout = static_cast<int>(left / 1'000'000 > 60'000 ? 60'000 : left / 1'000'000 + 1);
    }
    pollfd p{fd, events, 0};
    int n = ::poll(&p, 1, timeout);
    if (n > 0) return (p.revents & POLLNVAL) ? IoStatus::error : IoStatus::ok;
    if (n < 0 && errno != EINTR) return IoStatus::error;
  }
}

/// Fills `data`; takes a descriptor that comes along when `passed` is given, else it is dropped by
/// the kernel (no control buffer: a peer cannot make us hold descriptors).
inline IoStatus receive_all(int fd, void* data, size_t size, int* passed, int64_t deadline_ns) {
  auto* p = static_cast<uint8_t*>(data);
  while (size > 0) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    iovec iov{p, size};
    msghdr m{};
    m.msg_iov = &iov;
    m.msg_iovlen = 1;
    if (passed) {
      m.msg_control = control;
      m.msg_controllen = sizeof control;
    }
    ssize_t n = ::recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n == 0) return IoStatus::closed;
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == ECONNRESET) return IoStatus::closed;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return IoStatus::error;
      IoStatus w = wait_for(fd, POLLIN, deadline_ns);
      if (w != IoStatus::ok) return w;
      continue;
    }
    if (passed)
      for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
          std::memcpy(passed, CMSG_DATA(c), sizeof(int));
    p += n;
    size -= static_cast<size_t>(n);
  }
  return IoStatus::ok;
}

}  // namespace detail

inline IoStatus send_frame(int fd, uint16_t type, uint32_t sequence,
                           std::span<const uint8_t> payload, int pass_fd = -1,
                           int64_t deadline_ns = kNoDeadline) {
  FrameHeader header;
  header.type = type;
  header.sequence = sequence;
  header.length = static_cast<uint32_t>(payload.size());
  size_t sent = 0;
  const size_t total = sizeof header + payload.size();
  while (sent < total) {
    iovec iov[2];
    int n_iov = 0;
    if (sent < sizeof header)
      iov[n_iov++] = {reinterpret_cast<char*>(&header) + sent, sizeof header - sent};
    size_t skip = sent > sizeof header ? sent - sizeof header : 0;
    if (payload.size() > skip)
      iov[n_iov++] = {const_cast<uint8_t*>(payload.data()) + skip, payload.size() - skip};
    msghdr m{};
    m.msg_iov = iov;
    m.msg_iovlen = static_cast<size_t>(n_iov);
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (pass_fd >= 0 && sent == 0) {
      m.msg_control = control;
      m.msg_controllen = sizeof control;
      cmsghdr* c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(c), &pass_fd, sizeof(int));
    }
    ssize_t n = ::sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return IoStatus::closed;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return IoStatus::error;
    IoStatus w = detail::wait_for(fd, POLLOUT, deadline_ns);
    if (w != IoStatus::ok) return w;
  }
  return IoStatus::ok;
}

inline IoStatus receive_frame(int fd, FrameHeader& header, std::vector<uint8_t>& payload,
                              uint32_t max_length, int* passed_fd = nullptr,
                              int64_t deadline_ns = kNoDeadline) {
  payload.clear();
  IoStatus s = detail::receive_all(fd, &header, sizeof header, passed_fd, deadline_ns);
  if (s != IoStatus::ok) return s;
  if (header.magic != kWireMagic || header.version != kWireVersion || header.length > max_length)
    return IoStatus::malformed;
  constexpr size_t kStep = 1u << 20;
  while (payload.size() < header.length) {
    size_t at = payload.size();
    size_t step = header.length - at < kStep ? header.length - at : kStep;
    payload.resize(at + step);
    s = detail::receive_all(fd, payload.data() + at, step, nullptr, deadline_ns);
    if (s != IoStatus::ok) return s;
  }
  return IoStatus::ok;
}

}  // namespace fiel::worker
