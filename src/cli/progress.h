// One status line on a terminal: what is being done, how far it is, about how long it will take.
//
//   StatusLine line(context);  line.show("softmax: outliers", 12, 80);  …  line.clear();
//
// Writes nothing where stderr is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "cli/command.h"

namespace fiel::cli {

class StatusLine {
 public:
  explicit StatusLine(const Context& context)
      : context_(context), begin_(std::chrono::steady_clock::now()) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  void show(std::string_view what, uint32_t done, uint32_t total);
  void clear();

 private:
  const Context& context_;
  std::chrono::steady_clock::time_point begin_, last_{};
  bool shown_ = false;
};

}  // namespace fiel::cli
