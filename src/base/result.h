// Failures of the world as values.
//
//   Result<std::string> text = read_file(path);
//   if (!text) return fail(text.error().with_context("reading the task"));
//   FIEL_TRY(auto bytes, read_file(path));          // returns the error to the caller
//
// A wrong kernel is not an Error: it is a verdict. Our own bugs are FIEL_CHECK (base/check.h).
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace fiel {

/// What kind of failure; the command line maps it to an exit code (usage -> 2, all others -> 3).
enum class ErrorCode {
  usage,        ///< the words of the command line, or a file the user wrote, are wrong
  not_found,    ///< a file, program or library that should be there is not
  parse,        ///< text or bytes that do not follow their format
  unsupported,  ///< well-formed, but outside what Fiel does; always named
  limit,        ///< a bound on size, time or memory was reached
  io,           ///< the operating system refused
  environment,  ///< this machine lacks something (compiler, isolation, GPU)
  interrupted,  ///< stopped by the user
  timeout,      ///< the time that was allowed for the whole is used up
};

struct Error {
  ErrorCode code = ErrorCode::io;
  std::string what;                  ///< what happened, with the thing it happened to
  std::string hint;                  ///< what to do about it; may be empty
  std::vector<std::string> context;  ///< outermost last: "judging softmax.toml"

  Error with_context(std::string where) && {
    context.push_back(std::move(where));
    return std::move(*this);
  }
  [[nodiscard]] Error with_context(std::string where) const& {
    Error copy = *this;
    copy.context.push_back(std::move(where));
    return copy;
  }
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> fail(ErrorCode code, std::string what, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), std::move(hint), {}});
}

/// One line for a person: what, then the contexts, then the hint.
std::string to_string(const Error& error);
const char* to_string(ErrorCode code);

}  // namespace fiel

#define FIEL_CONCAT_(a, b) a##b
#define FIEL_CONCAT(a, b) FIEL_CONCAT_(a, b)
#define FIEL_TRY_(tmp, decl, expr)                       \
  auto tmp = (expr);                                     \
  if (!tmp) return ::fiel::fail(std::move(tmp).error()); \
  decl = std::move(*tmp)
/// FIEL_TRY(auto x, f());  assigns the value or returns the error.
#define FIEL_TRY(decl, expr) FIEL_TRY_(FIEL_CONCAT(fiel_try_, __COUNTER__), decl, expr)
/// FIEL_TRY_STATUS(f());  returns the error of a Status.
#define FIEL_TRY_STATUS(expr)                               \
  do {                                                      \
    if (auto fiel_status_ = (expr); !fiel_status_)          \
      return ::fiel::fail(std::move(fiel_status_).error()); \
  } while (false)
