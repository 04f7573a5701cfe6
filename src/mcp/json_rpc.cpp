#include "mcp/json_rpc.h"

#include "base/text.h"

namespace fiel::mcp {
namespace {

constexpr size_t kMaxIdBytes = 256, kMaxMethodBytes = 128;

Message malformed(Json id, int code, std::string why) {
  Message m;
  m.id = std::move(id);
  m.code = code;
  m.why = std::move(why);
  return m;
}

bool is_id(const Json& id) {
  return id.is_integer() || (id.is_string() && id.as_string().size() <= kMaxIdBytes);
}

}  // namespace

Message read_message(std::string_view line) {
  auto json = Json::parse(line, kLimits);
  if (!json)
    return malformed({}, code::kParseError,
                     line.empty() ? "the line is too long" : printable(json.error().what, 200));
  if (!json->is_object())
    return malformed({}, code::kInvalidRequest,
                     json->is_array() ? "batches are not taken" : "a message is an object");
  const Json* id = json->find("id");
  if (id != nullptr && !is_id(*id))
    return malformed({}, code::kInvalidRequest, "an id is a string or an integer");
  const Json known = id != nullptr ? *id : Json();
  if ((*json)["jsonrpc"].as_string() != "2.0")
    return malformed(known, code::kInvalidRequest, "jsonrpc must be \"2.0\"");
  Message m;
  m.id = known;
  if (json->find("method") == nullptr) {
    // We ask nothing, so an answer is to nothing of ours.
    if (json->find("result") == nullptr && json->find("error") == nullptr)
      return malformed(known, code::kInvalidRequest, "there is no method");
    m.kind = Message::Kind::response;
    return m;
  }
  m.method = (*json)["method"].as_string();
  if (m.method.empty() || m.method.size() > kMaxMethodBytes)
    return malformed(known, code::kInvalidRequest, "a method is a short text");
  if (const Json* params = json->find("params"); params != nullptr && !params->is_object())
    return malformed(known, code::kInvalidRequest, "params must be an object");
  m.params = (*json)["params"].is_null() ? Json::object() : (*json)["params"];
  m.kind = id != nullptr ? Message::Kind::request : Message::Kind::notification;
  return m;
}

Json result_response(const Json& id, Json result) {
  return Json::object({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

Json error_response(const Json& id, int code, std::string message, Json data) {
  Json error = Json::object({{"code", code}, {"message", std::move(message)}});
  if (!data.is_null()) error["data"] = std::move(data);
  return Json::object({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}

void LineReader::add(std::string_view bytes,
                     const std::function<void(std::string_view line)>& take) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > kMaxLineBytes) too_long_ = true;
    if (too_long_)
      line_.clear();
    else
      line_ += part;
    if (end == std::string_view::npos) return;
    if (too_long_)
      take("");
    else if (!trim(line_).empty())
      take(line_);
    line_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
}

}  // namespace fiel::mcp
