// One HTTP POST, its answer handed over as it arrives. The edge where tests put something else.
//
//   HttpEnd end = transport.post(request, {.head = …, .body = …});
//
// Implementations: CurlTransport (a curl process), ReplayTransport and RecordingTransport
// (agent/model/replay.h). No retries, no redirects.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fiel::agent {

/// A key that no stream, log or JSON can print by accident.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  bool empty() const { return value_.empty(); }
  /// For the header that carries it, and for redact().
  const std::string& reveal() const { return value_; }
  /// `text` with every occurrence of the key replaced: servers quote it in their complaints.
  std::string redact(std::string text) const;

 private:
  std::string value_;
};

struct Header {
  std::string name, value;
};

struct HttpRequest {
  std::string url;
  std::vector<Header> headers;
  Header secret_header;  ///< carries the key; kept apart so that nothing records it
  std::string body;
  int64_t connect_timeout_ms = 20'000;
  int64_t idle_timeout_ms = 120'000;     ///< without a byte
  int64_t total_timeout_ms = 1'200'000;  ///< a slow drip ends here
  uint64_t max_body_bytes = 64ull << 20;
  std::function<bool()> interrupted;  ///< may be empty
};

struct HttpHead {
  int status = 0;
  std::vector<Header> headers;
  /// Case-insensitive; empty where there is none.
  std::string_view value(std::string_view name) const;
};

struct HttpSink {
  std::function<void(const HttpHead&)> head;
  std::function<bool(std::string_view)> body;  ///< false: enough, close the connection
};

enum class HttpOutcome : uint8_t {
  complete,
  stopped,      ///< the sink had enough
  unreachable,  ///< no connection, no name, no TLS
  cut,          ///< the connection broke before the end
  stalled,
  timed_out,
  too_large,
  interrupted,
  no_client,  ///< this machine has no curl
  replay,     ///< not in the recording
};

struct HttpEnd {
  HttpOutcome outcome = HttpOutcome::complete;
  std::string message;  ///< empty when complete
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual HttpEnd post(const HttpRequest& request, const HttpSink& sink) = 0;
};

}  // namespace fiel::agent
