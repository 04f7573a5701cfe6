// Chat completions: OpenAI's format as vLLM, SGLang, Ollama, llama.cpp and the gateways speak it.
#include <fmt/core.h>

#include "agent/model/call_builder.h"
#include "agent/model/failure.h"
#include "agent/model/wire.h"
#include "base/text.h"

namespace fiel::agent {
namespace {

constexpr size_t kMaxTextBytes = 16u << 20;

Json call_json(const ToolCall& call) {
  // A server parses what it gets back: text that was no object is replaced by one that is.
  const std::string arguments = call.arguments.is_object() ? call.arguments_text : "{}";
  return Json::object(
      {{"id", call.id},
       {"type", "function"},
       {"function",
        Json::object({{"name", call.name}, {"arguments", arguments.empty() ? "{}" : arguments}})}});
}

Json message_json(const Message& m, const Quirks& quirks) {
  if (m.role == Role::tool)
    return Json::object({{"role", "tool"}, {"tool_call_id", m.call_id}, {"content", m.text}});
  if (m.role == Role::user) return Json::object({{"role", "user"}, {"content", m.text}});
  Json j = Json::object({{"role", "assistant"},
                         {"content", m.text.empty() && !m.calls.empty() ? Json() : Json(m.text)}});
  if (!m.reasoning.empty() && quirks.reasoning_back) j["reasoning_content"] = m.reasoning;
  for (const ToolCall& call : m.calls) j["tool_calls"].push_back(call_json(call));
  return j;
}

Usage usage_of(const Json& u) {
  Usage out;
  if (!u.is_object()) return out;
  out.known = true;
  out.input_tokens = u["prompt_tokens"].as_int();
  out.output_tokens = u["completion_tokens"].as_int();
  out.cached_tokens = u["prompt_tokens_details"]["cached_tokens"].as_int();
  return out;
}

class ChatReader : public ReplyReader {
 public:
  explicit ChatReader(std::string prefix) : calls_(std::move(prefix)) {}

  bool event(const SseEvent& e) override {
    if (trim(e.data) == "[DONE]") {
      done_ = true;
      return false;
    }
    auto json = Json::parse(e.data);
    if (!json) return stop({FailureKind::malformed, "a chunk is no JSON", 0, -1});
    if (json->find("error") != nullptr && !(*json)["error"].is_null())
      return stop(classify(0, e.data));
    return chunk(*json, "delta");
  }
  void document(const Json& json) override {
    if (json["choices"].size() == 0) {
      stop({FailureKind::malformed, "the answer has no choices", 0, -1});
      return;
    }
    chunk(json, "message");
    done_ = true;
  }
  Completion finish() override {
    if (failure_) return tl::unexpected(*failure_);
    if (!done_ && finish_.empty())
      return tl::unexpected(
          ModelFailure{FailureKind::cut, "the stream ended in its middle", 0, -1});
    reply_.message.role = Role::assistant;
    reply_.message.calls = calls_.finish();
    // Local servers say "stop" after tool calls as well.
    reply_.finish = !reply_.message.calls.empty() && finish_ != "length" ? Finish::tool_calls
                    : finish_ == "length"                                ? Finish::length
                    : finish_ == "content_filter"                        ? Finish::refused
                                                                         : Finish::stop;
    return reply_;
  }

 private:
  bool stop(ModelFailure failure) {
    if (!failure_) failure_ = std::move(failure);
    return false;
  }

  bool chunk(const Json& json, const char* part) {
    if (const Json* u = json.find("usage"); u != nullptr && u->is_object())
      reply_.usage = usage_of(*u);
    if (json["model"].is_string()) reply_.model = json["model"].as_string();
    for (const Json& id : json["prompt_token_ids"].items())
      reply_.tokens.prompt_ids.push_back(id.as_int());
    for (const Json& choice : json["choices"].items()) {
      if (choice["index"].as_int() != 0) continue;  // one answer is asked for
      tokens(choice);
      if (choice["finish_reason"].is_string()) finish_ = choice["finish_reason"].as_string();
      if (!delta(choice[part])) return false;
    }
    return true;
  }

  bool delta(const Json& d) {
    reply_.message.text += d["content"].as_string();
    for (const char* key : {"reasoning_content", "reasoning"})
      if (d[key].is_string()) {
        reply_.message.reasoning += d[key].as_string();
        break;
      }
    if (reply_.message.text.size() + reply_.message.reasoning.size() > kMaxTextBytes)
      return stop({FailureKind::too_large, "the answer is longer than 16 MiB", 0, -1});
    for (const Json& call : d["tool_calls"].items()) {
      const Json& function = call["function"];
      CallPiece piece{call["id"].as_string(),
                      {},
                      function["name"].as_string(),
                      arguments_text(function["arguments"])};
      if (call["index"].is_integer()) piece.index = call["index"].as_int();
      if (!calls_.piece(piece))
        return stop({FailureKind::too_large, "too many or too long tool calls", 0, -1});
    }
    return true;
  }

  void tokens(const Json& choice) {
    for (const Json& id : choice["token_ids"].items()) reply_.tokens.ids.push_back(id.as_int());
    for (const Json& id : choice["prompt_token_ids"].items())
      reply_.tokens.prompt_ids.push_back(id.as_int());
    for (const Json& t : choice["logprobs"]["content"].items())
      reply_.tokens.log_probs.push_back(t["logprob"].as_double());
  }

  Reply reply_;
  CallBuilder calls_;
  std::string finish_;
  bool done_ = false;
  std::optional<ModelFailure> failure_;
};

class ChatWire : public Wire {
 public:
  std::string path() const override { return "/chat/completions"; }
  std::vector<Header> headers() const override { return {}; }
  Header secret_header(const Secret& key) const override {
    return key.empty() ? Header{} : Header{"Authorization", "Bearer " + key.reveal()};
  }
  Json body(const ChatRequest& q, const WireSettings& s) const override {
    Json j = Json::object({{"model", s.model}, {"messages", Json::array()}});
    if (!q.system.empty())
      j["messages"].push_back(Json::object({{"role", "system"}, {"content", q.system}}));
    for (const Message& m : q.messages) j["messages"].push_back(message_json(m, s.quirks));
    for (const ToolSpec& t : q.tools)
      j["tools"].push_back(
          Json::object({{"type", "function"},
                        {"function", Json::object({{"name", t.name},
                                                   {"description", t.description},
                                                   {"parameters", t.parameters}})}}));
    j[s.quirks.max_completion_tokens ? "max_completion_tokens" : "max_tokens"] =
        q.max_output_tokens;
    if (s.temperature && s.quirks.temperature) j["temperature"] = *s.temperature;
    if (!s.effort.empty()) j["reasoning_effort"] = s.effort;
    if (s.want_token_ids && s.quirks.token_ids) {
      j["logprobs"] = true;
      j["return_token_ids"] = true;
    }
    if (s.stream) {
      j["stream"] = true;
      if (s.quirks.stream_usage) j["stream_options"] = Json::object({{"include_usage", true}});
    }
    return j;
  }
  std::unique_ptr<ReplyReader> reader(std::string prefix) const override {
    return std::make_unique<ChatReader>(std::move(prefix));
  }
};

}  // namespace

std::unique_ptr<Wire> make_chat_wire() { return std::make_unique<ChatWire>(); }

}  // namespace fiel::agent
