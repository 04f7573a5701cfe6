// A conversation with a model, whatever the vendor: messages, tools, replies, and what went wrong.
//
//   ChatRequest q{.system = "You write CUDA kernels.", .messages = {user_message("begin")}};
//   Completion c = model.complete(q);
//   if (!c) return stop(name_of(c.error().kind));
//   for (const ToolCall& call : c->message.calls) …
//
// A model that refuses, stalls or overflows is a value (ModelFailure), not an Error: the loop that
// asked decides what it means. Nothing here speaks HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace fiel::agent {

enum class Role : uint8_t { user, assistant, tool };

struct ToolCall {
  std::string id;  ///< never empty once a client has handed it out
  std::string name;
  Json arguments;              ///< an object; null where the text was no JSON object
  std::string arguments_text;  ///< as the model wrote it
  bool operator==(const ToolCall&) const = default;
};

struct Message {
  Role role = Role::user;
  std::string text;
  std::vector<ToolCall> calls;  ///< assistant
  std::string call_id;          ///< tool: which call this answers
  bool failed = false;          ///< tool: the call did not do what was asked
  std::string reasoning;        ///< assistant: reasoning text that some servers want back
  /// assistant: the vendor's own blocks as they came, sent back unchanged (signed thinking does not
  /// survive the change of a character). An object with one member, named after the wire format.
  Json vendor;
  bool operator==(const Message&) const = default;
};
Message user_message(std::string text);
Message tool_message(std::string call_id, std::string text, bool failed = false);

Json to_json(const Message& message);
Result<Message> message_from_json(const Json& json);

struct ToolSpec {
  std::string name, description;
  Json parameters;  ///< JSON schema of an object
};

struct ChatRequest {
  std::string system;
  std::vector<Message> messages;
  std::vector<ToolSpec> tools;
  uint32_t max_output_tokens = 16'384;
  int64_t timeout_ms = 0;  ///< of all attempts and the waits between them; 0: the client's own
};

struct Usage {
  int64_t input_tokens = 0;   ///< all of them, those from a cache too
  int64_t cached_tokens = 0;  ///< of the input
  int64_t cache_write_tokens = 0;
  int64_t output_tokens = 0;  ///< reasoning included
  bool known = false;         ///< the server said so
};

/// What on-policy training needs: the tokens as they were sampled. Strings do not re-tokenise to
/// the same ids.
struct TokenTrace {
  std::vector<int64_t> prompt_ids, ids;
  std::vector<double> log_probs;
  bool usable_on_policy() const { return !ids.empty() && ids.size() == log_probs.size(); }
};

enum class Finish : uint8_t { stop, tool_calls, length, refused };
std::string_view name_of(Finish finish);

struct Reply {
  Message message;
  Finish finish = Finish::stop;
  Usage usage;
  TokenTrace tokens;
  std::string model;  ///< as the server names it
};

enum class FailureKind : uint8_t {
  context_overflow,  ///< the prompt is longer than the model takes
  unauthorized,      ///< key missing or refused
  quota,             ///< the account is empty: waiting does not help
  rate_limited,
  rejected,     ///< the request itself is refused
  server,       ///< 5xx
  unreachable,  ///< no connection
  stalled,      ///< no byte for too long
  timed_out,    ///< the whole took too long
  cut,          ///< the answer ended in its middle
  malformed,    ///< bytes that do not follow the format
  too_large,    ///< more than is taken
  interrupted,  ///< by the user
  out_of_time,  ///< ChatRequest::timeout_ms is over, or would be before the next attempt
  replay,       ///< the recording does not hold this request
};
std::string_view name_of(FailureKind kind);
/// Whether the same request may succeed later.
bool is_transient(FailureKind kind);

struct ModelFailure {
  FailureKind kind = FailureKind::rejected;
  std::string message;          ///< one line, bounded and printable, without the key
  int status = 0;               ///< HTTP status, 0 where there was none
  int64_t retry_after_ms = -1;  ///< as the server asked; -1: it did not
};

using Completion = tl::expected<Reply, ModelFailure>;

class Model {
 public:
  virtual ~Model() = default;
  virtual Completion complete(const ChatRequest& request) = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace fiel::agent
