// Anthropic's messages: blocks of content, tool results as the user's next message, thinking that
// is signed and goes back byte for byte.
#include "agent/model/call_builder.h"
#include "agent/model/failure.h"
#include "agent/model/wire.h"

namespace fiel::agent {
namespace {

constexpr const char* kVendor = "anthropic";
constexpr size_t kMaxBlocks = 256;
constexpr size_t kMaxBlockBytes = 16u << 20;

Json text_block(const std::string& text) {
  return Json::object({{"type", "text"}, {"text", text}});
}

Json assistant_content(const Message& m) {
  if (const Json& blocks = m.vendor[kVendor]; blocks.is_array()) return blocks;
  Json content = Json::array();
  if (!m.text.empty()) content.push_back(text_block(m.text));
  for (const ToolCall& c : m.calls)
    content.push_back(
        Json::object({{"type", "tool_use"},
                      {"id", c.id},
                      {"name", c.name},
                      {"input", c.arguments.is_object() ? c.arguments : Json::object()}}));
  // An empty message is refused.
  if (content.size() == 0) content.push_back(text_block("(no text)"));
  return content;
}

Json user_block(const Message& m) {
  if (m.role == Role::user) return text_block(m.text.empty() ? "(no text)" : m.text);
  Json block =
      Json::object({{"type", "tool_result"}, {"tool_use_id", m.call_id}, {"content", m.text}});
  if (m.failed) block["is_error"] = true;
  return block;
}

/// Roles alternate: all results of one turn, and text that follows them, are one message.
Json messages_json(const std::vector<Message>& messages) {
  Json::Array out;
  bool last_is_user = false;
  for (const Message& m : messages) {
    if (m.role == Role::assistant) {
      out.push_back(Json::object({{"role", "assistant"}, {"content", assistant_content(m)}}));
      last_is_user = false;
      continue;
    }
    if (!last_is_user) out.push_back(Json::object({{"role", "user"}, {"content", Json::array()}}));
    out.back()["content"].push_back(user_block(m));
    last_is_user = true;
  }
  return Json(std::move(out));
}

/// One block, put together from its deltas; what is not understood is kept as it came.
struct Block {
  Json json;
  std::string text, thinking, signature, input;
};

class AnthropicReader : public ReplyReader {
 public:
  explicit AnthropicReader(std::string prefix) : calls_(std::move(prefix)) {}

  bool event(const SseEvent& e) override {
    auto json = Json::parse(e.data);
    if (!json) return stop({FailureKind::malformed, "an event is no JSON", 0, -1});
    const std::string type = (*json)["type"].is_string() ? (*json)["type"].as_string() : e.name;
    if (type == "error") return stop(classify(0, e.data));
    if (type == "message_start") {
      model_ = (*json)["message"]["model"].as_string();
      add_usage((*json)["message"]["usage"]);
    }
    if (type == "content_block_start") return begin((*json)["content_block"]);
    if (type == "content_block_delta") return delta((*json)["index"].as_int(), (*json)["delta"]);
    if (type == "message_delta") {
      stop_reason_ = (*json)["delta"]["stop_reason"].as_string();
      add_usage((*json)["usage"]);
    }
    if (type != "message_stop") return true;
    done_ = true;
    return false;
  }
  void document(const Json& json) override {
    if (!json["content"].is_array()) {
      stop({FailureKind::malformed, "the answer has no content", 0, -1});
      return;
    }
    model_ = json["model"].as_string();
    stop_reason_ = json["stop_reason"].as_string();
    add_usage(json["usage"]);
    for (const Json& block : json["content"].items())
      if (!begin(block)) return;
    done_ = true;
  }
  Completion finish() override {
    if (failure_) return tl::unexpected(*failure_);
    if (!done_)
      return tl::unexpected(
          ModelFailure{FailureKind::cut, "the stream ended in its middle", 0, -1});
    Reply reply;
    reply.model = model_;
    reply.usage = usage_;
    reply.message.role = Role::assistant;
    Json content = Json::array();
    for (const Block& b : blocks_) content.push_back(finished(b, reply.message));
    reply.message.calls = calls_.finish();
    if (content.size() > 0) reply.message.vendor = Json::object({{kVendor, content}});
    reply.finish = stop_reason_ == "max_tokens"   ? Finish::length
                   : stop_reason_ == "refusal"    ? Finish::refused
                   : !reply.message.calls.empty() ? Finish::tool_calls
                                                  : Finish::stop;
    return reply;
  }

 private:
  bool stop(ModelFailure failure) {
    if (!failure_) failure_ = std::move(failure);
    return false;
  }

  void add_usage(const Json& u) {
    if (!u.is_object()) return;
    usage_.known = true;
    // What comes from a cache or goes into one is counted apart there.
    if (u.find("input_tokens") != nullptr && !u["input_tokens"].is_null()) {
      usage_.cached_tokens = u["cache_read_input_tokens"].as_int();
      usage_.cache_write_tokens = u["cache_creation_input_tokens"].as_int();
      usage_.input_tokens =
          u["input_tokens"].as_int() + usage_.cached_tokens + usage_.cache_write_tokens;
    }
    if (u.find("output_tokens") != nullptr) usage_.output_tokens = u["output_tokens"].as_int();
  }

  bool begin(const Json& block) {
    if (blocks_.size() == kMaxBlocks)
      return stop({FailureKind::too_large, "too many blocks", 0, -1});
    blocks_.push_back({block,
                       block["text"].as_string(),
                       block["thinking"].as_string(),
                       block["signature"].as_string(),
                       {}});
    return true;
  }

  bool delta(int64_t index, const Json& d) {
    if (index < 0 || static_cast<size_t>(index) >= blocks_.size())
      return stop({FailureKind::malformed, "a delta of a block that never began", 0, -1});
    Block& b = blocks_[static_cast<size_t>(index)];
    b.text += d["text"].as_string();
    b.thinking += d["thinking"].as_string();
    b.signature += d["signature"].as_string();
    b.input += d["partial_json"].as_string();
    if (b.text.size() + b.thinking.size() + b.input.size() > kMaxBlockBytes)
      return stop({FailureKind::too_large, "a block is longer than 16 MiB", 0, -1});
    return true;
  }

  /// The block as it goes back, and what the loop reads of it.
  Json finished(const Block& b, Message& m) {
    Json json = b.json;
    const std::string& type = json["type"].as_string();
    if (type == "text") {
      json["text"] = b.text;
      m.text += b.text;
    } else if (type == "thinking") {
      json["thinking"] = b.thinking;
      json["signature"] = b.signature;
      m.reasoning += b.thinking;
    } else if (type == "tool_use") {
      const std::string text = b.input.empty() ? arguments_text(json["input"]) : b.input;
      auto input = Json::parse(text, {.max_bytes = kMaxBlockBytes, .max_depth = 32});
      json["input"] = input && input->is_object() ? *input : Json::object();
      calls_.piece({json["id"].as_string(), static_cast<int64_t>(calls_begun_++),
                    json["name"].as_string(), text});
    }
    return json;
  }

  CallBuilder calls_;
  size_t calls_begun_ = 0;
  std::vector<Block> blocks_;
  std::string model_, stop_reason_;
  Usage usage_;
  bool done_ = false;
  std::optional<ModelFailure> failure_;
};

class AnthropicWire : public Wire {
 public:
  std::string path() const override { return "/messages"; }
  std::vector<Header> headers() const override { return {{"anthropic-version", "2023-06-01"}}; }
  Header secret_header(const Secret& key) const override {
    return key.empty() ? Header{} : Header{"x-api-key", key.reveal()};
  }
  Json body(const ChatRequest& q, const WireSettings& s) const override {
    Json j = Json::object({{"model", s.model},
                           {"max_tokens", q.max_output_tokens + s.thinking_tokens},
                           {"messages", messages_json(q.messages)}});
    if (!q.system.empty()) {
      // The prompt and the tools are the same in every turn: the server may keep them.
      Json block = text_block(q.system);
      block["cache_control"] = Json::object({{"type", "ephemeral"}});
      j["system"] = Json(Json::Array{block});
    }
    for (const ToolSpec& t : q.tools)
      j["tools"].push_back(Json::object(
          {{"name", t.name}, {"description", t.description}, {"input_schema", t.parameters}}));
    if (s.temperature && s.quirks.temperature && s.thinking_tokens == 0)
      j["temperature"] = *s.temperature;
    if (s.thinking_tokens > 0)
      j["thinking"] = Json::object({{"type", "enabled"}, {"budget_tokens", s.thinking_tokens}});
    if (s.stream) j["stream"] = true;
    return j;
  }
  std::unique_ptr<ReplyReader> reader(std::string prefix) const override {
    return std::make_unique<AnthropicReader>(std::move(prefix));
  }
};

}  // namespace

std::unique_ptr<Wire> make_anthropic_wire() { return std::make_unique<AnthropicWire>(); }

}  // namespace fiel::agent
