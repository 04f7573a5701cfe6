// FIEL_CHECK(condition, "message"): our own invariants. Prints where and why, then aborts.
// Input of any kind (candidate, task, network) must never be able to reach one.
#pragma once

namespace fiel::detail {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message);
}

#define FIEL_CHECK(condition, message)                                       \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::fiel::detail::check_failed(__FILE__, __LINE__, #condition, message); \
  } while (false)
