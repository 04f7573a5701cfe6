#include "agent/model/message.h"

#include <array>

namespace fiel::agent {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {"user", "assistant", "tool"};

Json to_json(const ToolCall& call) {
  return Json::object({{"id", call.id},
                       {"name", call.name},
                       {"arguments", call.arguments},
                       {"arguments_text", call.arguments_text}});
}

}  // namespace

Message user_message(std::string text) {
  Message m;
  m.text = std::move(text);
  return m;
}

Message tool_message(std::string call_id, std::string text, bool failed) {
  Message m;
  m.role = Role::tool;
  m.text = std::move(text);
  m.call_id = std::move(call_id);
  m.failed = failed;
  return m;
}

Json to_json(const Message& message) {
  Json j = Json::object(
      {{"role", std::string(kRoles[static_cast<size_t>(message.role)])}, {"text", message.text}});
  for (const ToolCall& call : message.calls) j["calls"].push_back(to_json(call));
  if (!message.call_id.empty()) j["call_id"] = message.call_id;
  if (message.failed) j["failed"] = true;
  if (!message.reasoning.empty()) j["reasoning"] = message.reasoning;
  if (!message.vendor.is_null()) j["vendor"] = message.vendor;
  return j;
}

Result<Message> message_from_json(const Json& json) {
  Message m;
  size_t role = 0;
  while (role < kRoles.size() && kRoles[role] != json["role"].as_string()) ++role;
  if (role == kRoles.size())
    return fail(ErrorCode::parse, "a message has no role user, assistant or tool");
  m.role = static_cast<Role>(role);
  m.text = json["text"].as_string();
  m.call_id = json["call_id"].as_string();
  m.failed = json["failed"].as_bool();
  m.reasoning = json["reasoning"].as_string();
  m.vendor = json["vendor"];
  for (const Json& c : json["calls"].items())
    m.calls.push_back({c["id"].as_string(), c["name"].as_string(), c["arguments"],
                       c["arguments_text"].as_string()});
  return m;
}

std::string_view name_of(Finish finish) {
  switch (finish) {
    case Finish::stop:
      return "stop";
    case Finish::tool_calls:
      return "tool_calls";
    case Finish::length:
      return "length";
    case Finish::refused:
      return "refused";
  }
  return "stop";
}

std::string_view name_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::context_overflow:
      return "context_overflow";
    case FailureKind::unauthorized:
      return "unauthorized";
    case FailureKind::quota:
      return "quota";
    case FailureKind::rate_limited:
      return "rate_limited";
    case FailureKind::rejected:
      return "rejected";
    case FailureKind::server:
      return "server";
    case FailureKind::unreachable:
      return "unreachable";
    case FailureKind::stalled:
      return "stalled";
    case FailureKind::timed_out:
      return "timed_out";
    case FailureKind::cut:
      return "cut";
    case FailureKind::malformed:
      return "malformed";
    case FailureKind::too_large:
      return "too_large";
    case FailureKind::interrupted:
      return "interrupted";
    case FailureKind::out_of_time:
      return "out_of_time";
    case FailureKind::replay:
      return "replay";
  }
  return "rejected";
}

bool is_transient(FailureKind kind) {
  switch (kind) {
    case FailureKind::rate_limited:
    case FailureKind::server:
    case FailureKind::unreachable:
    case FailureKind::stalled:
    case FailureKind::timed_out:
    case FailureKind::cut:
    case FailureKind::malformed:
      return true;
    default:
      return false;
  }
}

}  // namespace fiel::agent
