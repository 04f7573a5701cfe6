// Server-sent events from bytes that come in any pieces.
//
//   SseReader reader([&](const SseEvent& e) { return handle(e.name, e.data); });
//   reader.take(bytes);                       // false: the handler said no, or an event is too
//   long
//
// Comments (": keep-alive") and unknown fields are passed over, as the format asks for. An event
// that the stream's end cuts off is not handed out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fiel::agent {

struct SseEvent {
  std::string name, data;
};

class SseReader {
 public:
  explicit SseReader(std::function<bool(const SseEvent&)> handler,
                     uint64_t max_event_bytes = 16ull << 20)
      : handler_(std::move(handler)), max_event_bytes_(max_event_bytes) {}

  bool take(std::string_view bytes);
  /// The stream has ended: a last event that lacks only its blank line is handed out, since several
  /// servers leave it away.
  bool finish();
  bool too_long() const { return too_long_; }

 private:
  bool line(std::string_view text);
  bool dispatch();

  std::function<bool(const SseEvent&)> handler_;
  uint64_t max_event_bytes_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false, after_cr_ = false, too_long_ = false, at_start_ = true;
};

}  // namespace fiel::agent
