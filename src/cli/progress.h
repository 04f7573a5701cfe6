// One status line on a terminal: what is being done, how far it is, about how long it will take.
//
//   StatusLine line(context);  line.show("softmax: outliers", 12, 80);  …  line.clear();
//
// Writes nothing where stderr is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "cli/command.h"

namespace fiel::cli {

class StatusLine {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  explicit StatusLine(const Context& context, Clock now = std::chrono::steady_clock::now)
      : context_(context), now_(std::move(now)), begin_(now_()) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  void show(std::string_view what, uint32_t done, uint32_t total);
  void clear();

 private:
  const Context& context_;
  Clock now_;
  std::chrono::steady_clock::time_point begin_, last_{};
  bool shown_ = false;
};

}  // namespace fiel::cli
