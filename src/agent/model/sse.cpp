#include "agent/model/sse.h"

#include <utility>

namespace fiel::agent {

bool SseReader::take(std::string_view bytes) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_cr_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + event_.data.size() > max_event_bytes_) {
      too_long_ = true;
      return false;
    }
    if (end == std::string_view::npos) return true;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const std::string complete = std::move(line_);
    line_.clear();
    if (!line(complete)) return false;
  }
  return true;
}

bool SseReader::finish() {
  if (!line_.empty() && !line(std::exchange(line_, {}))) return false;
  return dispatch();
}

bool SseReader::line(std::string_view text) {
  if (at_start_ && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  at_start_ = false;
  if (text.empty()) return dispatch();
  const size_t colon = text.find(':');
  if (colon == 0) return true;
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
  return true;
}

bool SseReader::dispatch() {
  const SseEvent event = std::exchange(event_, {});
  if (!std::exchange(has_data_, false)) return true;
  return handler_(event);
}

}  // namespace fiel::agent
