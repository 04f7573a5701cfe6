#include "agent/model/curl_transport.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "agent/model/response_head.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace fiel::agent {
namespace {

// Where the child finds its configuration and its body: far above what it opens itself.
constexpr int kConfigFd = 200, kBodyFd = 201;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A value in a curl configuration file.
std::string config_value(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    // A line break would begin another header, or another option.
    if (c == '\n' || c == '\r' || c == '\0') continue;
    out += c;
  }
  return out + '"';
}

std::string configuration(const HttpRequest& q) {
  std::string text = fmt::format(
      "url = {}\nrequest = POST\nproto = \"=http,https\"\nsilent\nshow-error\ninclude\nno-buffer\n"
      "globoff\nsuppress-connect-headers\ndata-binary = \"@/dev/fd/{}\"\nconnect-timeout = {}\n"
      "header = \"Expect:\"\nheader = \"Content-Type: application/json\"\n"
      "header = \"User-Agent: fiel\"\n",
      config_value(q.url), kBodyFd, std::max<int64_t>(1, q.connect_timeout_ms / 1000));
  for (const Header& h : q.headers)
    text += "header = " + config_value(h.name + ": " + h.value) + "\n";
  if (!q.secret_header.name.empty())
    text += "header = " + config_value(q.secret_header.name + ": " + q.secret_header.value) + "\n";
  return text;
}

Fd memory_file(std::string_view bytes) {
  Fd fd(memfd_create("fiel-http", MFD_CLOEXEC));
  if (fd && write_all(fd.get(), bytes) != 0) return {};
  return fd;
}

/// Proxies and certificates are the user's; keys of any service stay here.
std::vector<std::string> child_environment() {
  std::vector<std::string> out;
  for (const char* name :
       {"PATH", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
        "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH"})
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  return out;
}

struct Child {
  pid_t pid = -1;
  Fd out, err;
  ~Child() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    wait();
  }
  /// The exit code; -1 where it was killed.
  int wait() {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

bool start(const std::string& program, const Fd& config, const Fd& body, Child& child) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return false;
  Fd out_read(out[0]), out_write(out[1]);
  if (::pipe2(err, O_CLOEXEC) != 0) return false;
  Fd err_read(err[0]), err_write(err[1]);
  std::vector<std::string> words = {program, "--disable", "--config",
                                    fmt::format("/dev/fd/{}", kConfigFd)};
  std::vector<std::string> environment = child_environment();
  std::vector<char*> argv, envp;
  for (std::string& w : words) argv.push_back(w.data());
  for (std::string& e : environment) envp.push_back(e.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out_write.get(), 1);
    ::dup2(err_write.get(), 2);
    ::dup2(config.get(), kConfigFd);
    ::dup2(body.get(), kBodyFd);
    ::execve(program.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  child.pid = pid;
  child.out = std::move(out_read);
  child.err = std::move(err_read);
  return true;
}

/// Bytes of the child's stdout: heads first, then the body.
class Receiver {
 public:
  Receiver(const HttpRequest& request, const HttpSink& sink) : request_(request), sink_(sink) {}

  std::optional<HttpEnd> take(std::string_view bytes) {
    if (!in_body_) {
      auto body = head_.take(bytes);
      if (!body) return HttpEnd{HttpOutcome::cut, "the answer has no HTTP head"};
      if (!*body) return {};
      in_body_ = true;
      sink_.head(head_.head());
      rest_ = std::move(**body);
      bytes = rest_;
    }
    body_bytes_ += bytes.size();
    if (body_bytes_ > request_.max_body_bytes)
      return HttpEnd{HttpOutcome::too_large, fmt::format("the answer is longer than {}",
                                                         format_bytes(request_.max_body_bytes))};
    if (!bytes.empty() && !sink_.body(bytes)) return HttpEnd{HttpOutcome::stopped, ""};
    return {};
  }
  bool has_head() const { return in_body_; }

 private:
  const HttpRequest& request_;
  const HttpSink& sink_;
  ResponseHeadReader head_;
  std::string rest_;
  bool in_body_ = false;
  uint64_t body_bytes_ = 0;
};

HttpEnd end_of(int exit_code, const std::string& errors, bool has_head) {
  if (exit_code == 0)
    return has_head ? HttpEnd{} : HttpEnd{HttpOutcome::cut, "the server closed without an answer"};
  std::string words = printable(trim(errors), 400);
  if (words.empty()) words = fmt::format("curl ended with code {}", exit_code);
  // curl's codes: 5, 6 names; 7 connect; 28 its own time limit; 35, 51, 58, 60, 77 TLS.
  for (const int code : {5, 6, 7, 28, 35, 51, 58, 60, 77})
    if (exit_code == code && !has_head) return {HttpOutcome::unreachable, words};
  return {HttpOutcome::cut, words};
}

/// Reads until the child has said everything, or a bound is hit.
HttpEnd receive(const HttpRequest& request, const HttpSink& sink, Child& child) {
  Receiver receiver(request, sink);
  std::string errors;
  char buffer[1 << 16];
  const int64_t begun = now_ms();
  int64_t last_byte = begun;
  pollfd fds[2] = {{child.out.get(), POLLIN, 0}, {child.err.get(), POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    if (request.interrupted && request.interrupted())
      return {HttpOutcome::interrupted, "interrupted"};
    const int64_t now = now_ms();
    if (now - begun > request.total_timeout_ms)
      return {HttpOutcome::timed_out,
              fmt::format("no end of the answer after {} s", request.total_timeout_ms / 1000)};
    if (now - last_byte > request.idle_timeout_ms)
      return {HttpOutcome::stalled,
              fmt::format("no byte for {:.1f} s", double(request.idle_timeout_ms) / 1000)};
    if (::poll(fds, 2, 100) <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      const ssize_t n = ::read(fds[i].fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        fds[i].fd = -1;
        continue;
      }
      const std::string_view bytes(buffer, static_cast<size_t>(n));
      if (i == 1) {
        if (errors.size() < 4096) errors += bytes;
        continue;
      }
      last_byte = now_ms();
      if (auto end = receiver.take(bytes)) return *end;
    }
  }
  return end_of(child.wait(), errors, receiver.has_head());
}

}  // namespace

HttpEnd CurlTransport::post(const HttpRequest& request, const HttpSink& sink) {
  const auto program = find_program("curl");
  if (!program) return {HttpOutcome::no_client, "curl is not on PATH (apt-get install curl)"};
  const Fd config = memory_file(configuration(request));
  const Fd body = memory_file(request.body);
  Child child;
  if (!config || !body || !start(program->string(), config, body, child))
    return {HttpOutcome::unreachable, "the system starts no curl process"};
  return receive(request, sink, child);
}

}  // namespace fiel::agent
