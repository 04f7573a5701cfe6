// A vendor's wire format: how a request is written and how an answer, whole or streamed, is read.
//
//   auto wire = make_wire(Api::chat);
//   http.body = wire->body(request, settings).dump();
//   auto reader = wire->reader(call_id_prefix);          // one an answer
//   reader->event({.data = R"({"choices": …})"}); …  reader->finish();
//
// Three of them: chat completions and responses (OpenAI's, spoken by most servers), and Anthropic's
// messages. Readers take what servers really send: arguments as objects, ids that are empty or come
// twice, indices that never change (tests/agent).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/model/http.h"
#include "agent/model/message.h"
#include "agent/model/sse.h"

namespace fiel::agent {

enum class Api : uint8_t { chat, responses, anthropic };
std::string_view name_of(Api api);

/// Whether reasoning text goes back to the server in chat completions.
enum class ReasoningEcho : uint8_t {
  learned,  ///< sent; where a server refuses that, not sent from then on
  always,
  never,
};

/// What a server turned out to refuse; learned from one answer with status 400 each.
struct Quirks {
  bool reasoning_back = true;
  bool stream_usage = true;            ///< stream_options
  bool max_completion_tokens = false;  ///< instead of max_tokens
  bool token_ids = true;               ///< return_token_ids
  bool temperature = true;
  bool operator==(const Quirks&) const = default;
};

struct WireSettings {
  std::string model;
  std::optional<double> temperature;
  std::string effort;            ///< of reasoning: "low", "medium", "high"; empty: the server's own
  uint32_t thinking_tokens = 0;  ///< Anthropic's budget; 0: off
  bool stream = true;
  bool want_token_ids = false;  ///< ids and log-probabilities, where the server has them
  Quirks quirks;
};

/// Reads one answer.
class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  /// False when no further event is wanted: the answer is complete, or it cannot be read.
  virtual bool event(const SseEvent& event) = 0;
  /// The same from one JSON document, of servers that do not stream.
  virtual void document(const Json& json) = 0;
  virtual Completion finish() = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::string path() const = 0;  ///< below the base address: "/chat/completions"
  virtual std::vector<Header> headers() const = 0;
  virtual Header secret_header(const Secret& key) const = 0;
  virtual Json body(const ChatRequest& request, const WireSettings& settings) const = 0;
  /// `call_prefix` begins the ids that are invented where a server gives none.
  virtual std::unique_ptr<ReplyReader> reader(std::string call_prefix) const = 0;
};
std::unique_ptr<Wire> make_wire(Api api);

std::unique_ptr<Wire> make_chat_wire();
std::unique_ptr<Wire> make_responses_wire();
std::unique_ptr<Wire> make_anthropic_wire();

}  // namespace fiel::agent
