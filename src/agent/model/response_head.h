// Reads the head of an HTTP answer from bytes that come in any pieces; 1xx heads are passed over.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/model/http.h"
#include "base/result.h"

namespace fiel::agent {

class ResponseHeadReader {
 public:
  /// Nothing until the head is whole, then the first bytes of the body (maybe none). Fails on what
  /// is no HTTP, and beyond 256 KiB.
  Result<std::optional<std::string>> take(std::string_view bytes);
  const HttpHead& head() const { return head_; }

 private:
  std::string text_;
  HttpHead head_;
};

}  // namespace fiel::agent
