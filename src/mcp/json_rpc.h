// JSON-RPC 2.0 as MCP uses it over stdio: one object a line, bounded, never a batch.
//
//   LineReader lines;  lines.add(bytes, [&](std::string_view line) { … });
//   const Message m = read_message(line);
//   if (m.kind == Message::Kind::malformed) send(error_response(m.id, m.code, m.why));
//
// What a client sends is hostile: length, depth and number of values are bounded before anything is
// done with them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace fiel::mcp {

inline constexpr size_t kMaxLineBytes = 8u << 20;  ///< a kernel, escaped, and then some
inline constexpr Json::Limits kLimits{kMaxLineBytes, 32, 200'000};

namespace code {
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
                     kInvalidParams = -32602, kInternalError = -32603, kUnsupportedVersion = -32022;
}  // namespace code

struct Message {
  enum class Kind : uint8_t { request, notification, response, malformed };
  Kind kind = Kind::malformed;
  Json id;  ///< string or integer; null where there is none
  std::string method;
  Json params;  ///< an object
  int code = 0;
  std::string why;
};
Message read_message(std::string_view line);

Json result_response(const Json& id, Json result);
/// `data`: null for none.
Json error_response(const Json& id, int code, std::string message, Json data = {});

/// Bytes as they come to lines. A line beyond kMaxLineBytes is dropped up to its end and handed on
/// as "", which no message is.
class LineReader {
 public:
  void add(std::string_view bytes, const std::function<void(std::string_view line)>& take);

 private:
  std::string line_;
  bool too_long_ = false;
};

}  // namespace fiel::mcp
