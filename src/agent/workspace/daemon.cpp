#include "agent/workspace/daemon.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace fiel::agent {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxRequestBytes = 64u << 10;
constexpr size_t kMaxAnswerBytes = 1u << 20;
constexpr int kRequestTimeoutMs = 10'000;
/// Of a client: judgements may queue behind others.
constexpr int kAnswerTimeoutMs = 3'600'000;

Error socket_error(const fs::path& socket, std::string hint = {}) {
  return {ErrorCode::environment,
          fmt::format("the judge's socket {}: {}", socket.string(), std::strerror(errno)),
          std::move(hint),
          {}};
}

/// Addresses hold 107 bytes, paths more: through a descriptor of the folder any path fits.
struct Address {
  Fd folder;
  sockaddr_un un = {};
};
Result<Address> address_of(const fs::path& socket) {
  Address a;
  a.folder = Fd(::open(socket.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!a.folder) return fail(socket_error(socket));
  a.un.sun_family = AF_UNIX;
  const std::string path =
      fmt::format("/proc/self/fd/{}/{}", a.folder.get(), socket.filename().string());
  if (path.size() >= sizeof a.un.sun_path)
    return fail(ErrorCode::usage, "the socket's name is too long");
  std::memcpy(a.un.sun_path, path.c_str(), path.size());
  return a;
}

const sockaddr* raw(const Address& a) { return reinterpret_cast<const sockaddr*>(&a.un); }

Result<Fd> connect_to(const fs::path& socket) {
  FIEL_TRY(const Address a, address_of(socket));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), raw(a), sizeof a.un) != 0) return fail(socket_error(socket));
  return fd;
}

/// One line, without its end.
Result<std::string> read_line(int fd, size_t max_bytes, int timeout_ms) {
  std::string line;
  char buffer[4096];
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    if (::poll(&p, 1, timeout_ms) <= 0) return fail(ErrorCode::timeout, "no line came in time");
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(ErrorCode::io, "the other side hung up");
    line.append(buffer, static_cast<size_t>(n));
    if (const size_t end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
    if (line.size() > max_bytes) return fail(ErrorCode::limit, "the line is too long");
  }
}

void write_line(int fd, std::string line) {
  line += '\n';
  for (size_t at = 0; at < line.size();) {
    pollfd p{fd, POLLOUT, 0};
    if (::poll(&p, 1, kRequestTimeoutMs) <= 0) return;
    const ssize_t n = ::send(fd, line.data() + at, line.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0 && errno != EINTR && errno != EAGAIN) return;
    if (n > 0) at += static_cast<size_t>(n);
  }
}

Json answer_json(const Feedback& f) { return Json::object({{"good", f.good}, {"text", f.text}}); }

void answer_one(int fd, const Answerer& answer) {
  const auto line = read_line(fd, kMaxRequestBytes, kRequestTimeoutMs);
  if (!line) return;
  const auto request = Json::parse(*line, {.max_bytes = kMaxRequestBytes, .max_depth = 4});
  const auto verb = request ? parse_verb((*request)["verb"].as_string()) : std::nullopt;
  Feedback f;
  f.text = "no such verb: compile, verify, bench, profile or submit\n";
  if (verb) f = answer(*verb, (*request)["note"].as_string());
  write_line(fd, answer_json(f).dump());
}

/// Others may pass through the folder to a socket of theirs, and see nothing else in it.
Status allow(const fs::path& socket, const std::optional<AgentUser>& user) {
  bool good = ::chmod(socket.parent_path().c_str(), user ? 0711 : 0700) == 0 &&
              ::chmod(socket.c_str(), 0600) == 0;
  if (user) good = good && ::chown(socket.c_str(), user->uid, user->gid) == 0;
  if (!good) return fail(socket_error(socket));
  return {};
}

Result<Fd> listen_at(const fs::path& socket, const std::optional<AgentUser>& user) {
  if (connect_to(socket)) return fail(ErrorCode::usage, "another judge serves this workspace");
  ::mkdir(socket.parent_path().c_str(), 0700);
  FIEL_TRY(const Address a, address_of(socket));
  ::unlink(socket.c_str());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::bind(fd.get(), raw(a), sizeof a.un) != 0 || ::listen(fd.get(), 16) != 0)
    return fail(socket_error(socket));
  FIEL_TRY_STATUS(allow(socket, user));
  return fd;
}

}  // namespace

Status serve(const fs::path& socket, const Answerer& answer, const std::function<bool()>& stop,
             const std::optional<AgentUser>& user) {
  FIEL_TRY(const Fd listener, listen_at(socket, user));
  while (!stop()) {
    pollfd p{listener.get(), POLLIN, 0};
    if (::poll(&p, 1, 100) <= 0) continue;
    const Fd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) answer_one(client.get(), answer);
  }
  ::unlink(socket.c_str());
  return {};
}

Result<Feedback> ask_daemon(const fs::path& socket, Verb verb, const std::string& note) {
  auto fd = connect_to(socket);
  if (!fd)
    return fail(ErrorCode::environment, "no judge serves this workspace",
                "start one: fiel daemon WORKSPACE");
  write_line(fd->get(),
             Json::object({{"verb", std::string(name_of(verb))}, {"note", note}}).dump());
  FIEL_TRY(const std::string line, read_line(fd->get(), kMaxAnswerBytes, kAnswerTimeoutMs));
  FIEL_TRY(const Json j, Json::parse(line));
  Feedback f;
  f.good = j["good"].as_bool();
  f.text = j["text"].as_string();
  return f;
}

}  // namespace fiel::agent
