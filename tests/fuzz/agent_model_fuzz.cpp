// What a model's server sends: heads, event streams and documents in three formats, calls in text.
// The first byte chooses the format and the size of the pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "agent/loop/text_calls.h"
#include "agent/model/failure.h"
#include "agent/model/response_head.h"
#include "agent/model/wire.h"

namespace {

using namespace fiel::agent;

void check(const Completion& c) {
  if (!c) return;
  std::set<std::string> ids;
  // A reply that is handed out can be answered: ids are there, and each is another.
  for (const ToolCall& call : c->message.calls)
    if (call.id.empty() || call.name.empty() || !ids.insert(call.id).second) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const auto api = static_cast<Api>(data[0] % 3);
  const size_t piece = 1 + (data[0] / 3) % 40;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto wire = make_wire(api);
  const auto streamed = wire->reader("p_");
  SseReader events([&](const SseEvent& e) { return streamed->event(e); }, 1u << 16);
  bool more = true;
  for (size_t at = 0; more && at < text.size(); at += piece)
    more = events.take(text.substr(at, piece));
  if (more) events.finish();
  check(streamed->finish());
  if (const auto json = fiel::Json::parse(text)) {
    const auto whole = wire->reader("p_");
    whole->document(*json);
    check(whole->finish());
    if (const auto m = message_from_json(*json)) (void)to_json(*m).dump();
  }
  ResponseHeadReader head;
  (void)head.take(text);
  (void)classify(400, text);
  (void)parse_retry_after(text, 0);
  (void)text_calls(text, {}, "t_");
  return 0;
}
