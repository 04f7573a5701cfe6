#include "agent/model/scripted_model.h"

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"

namespace fiel::agent {

Result<ScriptedModel> ScriptedModel::open(const std::filesystem::path& file) {
  FIEL_TRY(const std::string text, read_file(file));
  ScriptedModel m;
  size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto json = Json::parse(line);
    if (!json || !json->is_object())
      return fail(
          ErrorCode::parse, fmt::format("{}:{}: no turn of a script", file.string(), number),
          R"({"text": "…", "calls": [{"name": "read", "arguments": {"path": "kernel.cu"}}]})");
    m.turns_.push_back(std::move(*json));
  }
  return m;
}

Completion ScriptedModel::complete(const ChatRequest&) {
  Reply reply;
  reply.message.role = Role::assistant;
  reply.model = name_;
  if (next_ == turns_.size()) return reply;
  const Json& turn = turns_[next_++];
  reply.message.text = turn["text"].as_string();
  for (const Json& c : turn["calls"].items())
    reply.message.calls.push_back(
        {fmt::format("script_{}_{}", next_, reply.message.calls.size()), c["name"].as_string(),
         c["arguments"].is_null() ? Json::object() : c["arguments"], c["arguments"].dump()});
  if (!reply.message.calls.empty()) reply.finish = Finish::tool_calls;
  if (const Json& u = turn["usage"]; u.is_object())
    reply.usage = {u["input_tokens"].as_int(), 0, 0, u["output_tokens"].as_int(), true};
  return reply;
}

}  // namespace fiel::agent
