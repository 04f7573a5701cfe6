#include "mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/files.h"

namespace fiel::mcp {
namespace {

constexpr int64_t kLook_ms = 1000;  // for `stop`, and for limits of time

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

Status send(int fd, const Json& message) {
  const int why = write_all(fd, message.dump() + "\n");
  if (why == 0) return {};
  return fail(ErrorCode::io, std::string("the client is gone: ") + strerror(why));
}

}  // namespace

Status serve_stdio(Server& server, Jobs& jobs, int in, int out, const std::function<bool()>& stop) {
  LineReader lines;
  std::string buffer(1 << 16, '\0');
  while (!stop || !stop()) {
    server.look(now_ms());
    for (const Json& m : server.outgoing()) FIEL_TRY_STATUS(send(out, m));
    int64_t wait = server.wait_ms(now_ms());
    wait = wait < 0 ? kLook_ms : std::min(wait, kLook_ms);
    pollfd fds[2] = {{in, POLLIN, 0}, {jobs.descriptor(), POLLIN, 0}};
    if (::poll(fds, 2, static_cast<int>(wait)) < 0 && errno != EINTR)
      return fail(ErrorCode::io, std::string("poll: ") + strerror(errno));
    if ((fds[0].revents & (POLLIN | POLLHUP)) == 0) continue;
    const ssize_t n = ::read(in, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    lines.add(std::string_view(buffer.data(), static_cast<size_t>(n)),
              [&](std::string_view line) { server.take(line, now_ms()); });
  }
  for (const Json& m : server.outgoing()) FIEL_TRY_STATUS(send(out, m));
  return {};
}

}  // namespace fiel::mcp
