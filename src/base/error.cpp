#include <execinfo.h>

#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/result.h"

namespace fiel {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::not_found:
      return "not found";
    case ErrorCode::parse:
      return "parse error";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::io:
      return "system error";
    case ErrorCode::environment:
      return "environment";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::interrupted:
      return "interrupted";
  }
  return "error";
}

std::string to_string(const Error& error) {
  std::string out;
  for (auto it = error.context.rbegin(); it != error.context.rend(); ++it) out += *it + ": ";
  out += error.what;
  if (!error.hint.empty()) out += "\n  help: " + error.hint;
  return out;
}

namespace detail {
void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr,
               "fiel: internal error at %s:%d: %s (%s)\nPlease report this with the command that "
               "led here.\n",
               file, line, message, condition);
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
  std::abort();
}
}  // namespace detail
}  // namespace fiel
