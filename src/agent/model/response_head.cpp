#include "agent/model/response_head.h"

#include <charconv>

#include "base/text.h"

namespace fiel::agent {
namespace {

constexpr size_t kMaxHeadBytes = 256u << 10;

/// "HTTP/1.1 200 OK", "HTTP/2 429".
Result<HttpHead> parse(std::string_view text) {
  HttpHead head;
  bool first = true;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (first) {
      const size_t space = line.find(' ');
      if (!line.starts_with("HTTP/") || space == std::string_view::npos)
        return fail(ErrorCode::parse, "the answer is no HTTP");
      const std::string_view number = line.substr(space + 1, 3);
      std::from_chars(number.data(), number.data() + number.size(), head.status);
      first = false;
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    head.headers.push_back(
        {std::string(trim(line.substr(0, colon))), std::string(trim(line.substr(colon + 1)))});
  }
  return head;
}

}  // namespace

Result<std::optional<std::string>> ResponseHeadReader::take(std::string_view bytes) {
  text_ += bytes;
  for (;;) {
    const size_t end = text_.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (text_.size() > kMaxHeadBytes) return fail(ErrorCode::limit, "the HTTP head has no end");
      return std::optional<std::string>();
    }
    FIEL_TRY(head_, parse(std::string_view(text_).substr(0, end)));
    text_.erase(0, end + 4);
    // 100 Continue and 103 Early Hints precede the answer.
    if (head_.status < 100 || head_.status >= 200) return std::optional(std::move(text_));
  }
}

}  // namespace fiel::agent
