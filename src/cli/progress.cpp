#include "cli/progress.h"

#include <fmt/core.h>

#include "base/text.h"

namespace fiel::cli {

void StatusLine::show(std::string_view what, uint32_t done, uint32_t total) {
  if (!context_.progress) return;
  const auto now = now_();
  // Ten lines a second are read as motion; more only costs time.
  if (shown_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double share = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  std::string left;
  if (share > 0.05 && elapsed > 1)
    left = fmt::format("  about {:.0f} s left", elapsed * (1 - share) / share);
  context_.story(fmt::format("\r\x1b[K{:3.0f} %  {}{}", 100 * share, printable(what, 90), left));
}

void StatusLine::clear() {
  if (shown_) context_.story("\r\x1b[K");
  shown_ = false;
}

}  // namespace fiel::cli
