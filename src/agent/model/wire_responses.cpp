// OpenAI's responses: items in, items out. Nothing is stored at the server; reasoning comes
// encrypted and goes back as it came.
#include "agent/model/call_builder.h"
#include "agent/model/failure.h"
#include "agent/model/wire.h"

namespace fiel::agent {
namespace {

constexpr const char* kVendor = "responses";

void add_assistant(Json& input, const Message& m) {
  if (const Json& items = m.vendor[kVendor]; items.is_array()) {
    for (const Json& item : items.items()) input.push_back(item);
    return;
  }
  if (!m.text.empty())
    input.push_back(Json::object(
        {{"role", "assistant"},
         {"content",
          Json(Json::Array{Json::object({{"type", "output_text"}, {"text", m.text}})})}}));
  for (const ToolCall& c : m.calls)
    input.push_back(
        Json::object({{"type", "function_call"},
                      {"call_id", c.id},
                      {"name", c.name},
                      {"arguments", c.arguments.is_object() ? c.arguments.dump() : "{}"}}));
}

class ResponsesReader : public ReplyReader {
 public:
  explicit ResponsesReader(std::string prefix) : calls_(std::move(prefix)) {}

  bool event(const SseEvent& e) override {
    auto json = Json::parse(e.data);
    if (!json) return stop({FailureKind::malformed, "an event is no JSON", 0, -1});
    const std::string type = (*json)["type"].is_string() ? (*json)["type"].as_string() : e.name;
    if (type == "response.output_item.done") items_.push_back((*json)["item"]);
    if (type == "error") return stop(classify(0, e.data));
    if (type == "response.failed")
      return stop(classify(0, Json::object({{"error", (*json)["response"]["error"]}}).dump()));
    if (type != "response.completed" && type != "response.incomplete") return true;
    document((*json)["response"]);
    return false;
  }
  void document(const Json& json) override {
    if (json["status"].as_string() == "failed") {
      stop(classify(0, Json::object({{"error", json["error"]}}).dump()));
      return;
    }
    if (!json.is_object() || (json["output"].size() == 0 && items_.empty())) {
      stop({FailureKind::malformed, "the answer has no output", 0, -1});
      return;
    }
    whole_ = json;
    if (json["output"].size() > 0) items_ = json["output"].items();
  }
  Completion finish() override {
    if (failure_) return tl::unexpected(*failure_);
    if (!whole_)
      return tl::unexpected(
          ModelFailure{FailureKind::cut, "the stream ended in its middle", 0, -1});
    Reply reply;
    reply.message.role = Role::assistant;
    for (const Json& item : items_)
      if (!add(item, reply.message))
        return tl::unexpected(
            ModelFailure{FailureKind::too_large, "too many or too long tool calls", 0, -1});
    reply.message.calls = calls_.finish();
    const Json& w = *whole_;
    reply.model = w["model"].as_string();
    reply.finish = !reply.message.calls.empty() ? Finish::tool_calls
                   : w["incomplete_details"]["reason"].as_string() == "max_output_tokens"
                       ? Finish::length
                   : w["status"].as_string() == "incomplete" ? Finish::refused
                                                             : Finish::stop;
    if (const Json& u = w["usage"]; u.is_object())
      reply.usage = {u["input_tokens"].as_int(),
                     u["input_tokens_details"]["cached_tokens"].as_int(), 0,
                     u["output_tokens"].as_int(), true};
    reply.message.vendor = Json::object({{kVendor, Json(items_)}});
    return reply;
  }

 private:
  bool stop(ModelFailure failure) {
    if (!failure_) failure_ = std::move(failure);
    return false;
  }
  bool add(const Json& item, Message& m) {
    const std::string& type = item["type"].as_string();
    if (type == "message")
      for (const Json& part : item["content"].items()) m.text += part["text"].as_string();
    if (type == "reasoning")
      for (const Json& part : item["summary"].items()) m.reasoning += part["text"].as_string();
    if (type != "function_call") return true;
    return calls_.piece({item["call_id"].as_string(), static_cast<int64_t>(calls_begun_++),
                         item["name"].as_string(), arguments_text(item["arguments"])});
  }

  CallBuilder calls_;
  size_t calls_begun_ = 0;
  Json::Array items_;
  std::optional<Json> whole_;
  std::optional<ModelFailure> failure_;
};

class ResponsesWire : public Wire {
 public:
  std::string path() const override { return "/responses"; }
  std::vector<Header> headers() const override { return {}; }
  Header secret_header(const Secret& key) const override {
    return key.empty() ? Header{} : Header{"Authorization", "Bearer " + key.reveal()};
  }
  Json body(const ChatRequest& q, const WireSettings& s) const override {
    Json j = Json::object({{"model", s.model}, {"input", Json::array()}, {"store", false}});
    if (!q.system.empty()) j["instructions"] = q.system;
    for (const Message& m : q.messages) {
      if (m.role == Role::assistant)
        add_assistant(j["input"], m);
      else if (m.role == Role::user)
        j["input"].push_back(Json::object(
            {{"role", "user"},
             {"content",
              Json(Json::Array{Json::object({{"type", "input_text"}, {"text", m.text}})})}}));
      else
        j["input"].push_back(Json::object(
            {{"type", "function_call_output"}, {"call_id", m.call_id}, {"output", m.text}}));
    }
    for (const ToolSpec& t : q.tools)
      j["tools"].push_back(Json::object({{"type", "function"},
                                         {"name", t.name},
                                         {"description", t.description},
                                         {"parameters", t.parameters},
                                         {"strict", false}}));
    j["include"] = Json(Json::Array{Json("reasoning.encrypted_content")});
    j["max_output_tokens"] = q.max_output_tokens;
    if (s.temperature && s.quirks.temperature) j["temperature"] = *s.temperature;
    if (!s.effort.empty()) j["reasoning"] = Json::object({{"effort", s.effort}});
    if (s.stream) j["stream"] = true;
    return j;
  }
  std::unique_ptr<ReplyReader> reader(std::string prefix) const override {
    return std::make_unique<ResponsesReader>(std::move(prefix));
  }
};

}  // namespace

std::unique_ptr<Wire> make_responses_wire() { return std::make_unique<ResponsesWire>(); }

}  // namespace fiel::agent
