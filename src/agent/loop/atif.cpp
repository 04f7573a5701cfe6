#include "agent/loop/atif.h"

#include <algorithm>

namespace fiel::agent {
namespace {

Json call_of(const Json& call) {
  const bool whole = call["arguments"].is_object();
  Json j = Json::object({{"tool_call_id", call["id"]},
                         {"function_name", call["name"]},
                         {"arguments", whole ? call["arguments"] : Json::object()}});
  if (!whole) j["extra"] = Json::object({{"arguments_text", call["arguments_text"]}});
  return j;
}

Json metrics_of(const Json& line) {
  Json metrics = Json::object(
      {{"prompt_tokens", line["input_tokens"]}, {"completion_tokens", line["output_tokens"]}});
  if (const Json& ids = line["tokens"]["ids"]; ids.is_array()) {
    metrics["prompt_token_ids"] = line["tokens"]["prompt_ids"];
    metrics["completion_token_ids"] = ids;
    metrics["logprobs"] = line["tokens"]["log_probs"];
  }
  return metrics;
}

Json step_of(const Json& line, size_t number) {
  const Json& m = line["message"];
  const bool agent = m["role"].as_string() == "assistant";
  Json step = Json::object(
      {{"step_id", number}, {"source", agent ? "agent" : "user"}, {"message", m["text"]}});
  if (!agent) return step;
  if (!m["reasoning"].is_null()) step["reasoning_content"] = m["reasoning"];
  for (const Json& c : m["calls"].items()) step["tool_calls"].push_back(call_of(c));
  step["metrics"] = metrics_of(line);
  return step;
}

bool called(const Json& step, const Json& call_id) {
  const auto& calls = step["tool_calls"].items();
  return std::any_of(calls.begin(), calls.end(),
                     [&](const Json& c) { return c["tool_call_id"] == call_id; });
}

/// To the latest step with that call. Where there is none the result is of no call of its step.
void add_result(const Json& message, std::vector<Json>& steps) {
  const Json& id = message["call_id"];
  Json result = Json::object({{"content", message["text"]}});
  auto step =
      std::find_if(steps.rbegin(), steps.rend(), [&](const Json& s) { return called(s, id); });
  if (step != steps.rend())
    result["source_call_id"] = id;
  else if (steps.empty())
    return;
  else
    step = steps.rbegin();
  (*step)["observation"]["results"].push_back(std::move(result));
}

std::string text_or(const Json& text, const char* otherwise) {
  return text.as_string().empty() ? otherwise : text.as_string();
}

}  // namespace

Json to_atif(const Trajectory& trajectory) {
  std::vector<Json> steps;
  Json about;
  int64_t input = 0, output = 0;
  for (const Json& line : trajectory.lines()) {
    if (line["type"].as_string() == "begin") about = line;
    if (line["type"].as_string() != "message") continue;
    input += line["input_tokens"].as_int();
    output += line["output_tokens"].as_int();
    if (line["message"]["role"].as_string() == "tool")
      add_result(line["message"], steps);
    else
      steps.push_back(step_of(line, steps.size() + 1));
  }
  const size_t count = steps.size();
  return Json::object(
      {{"schema_version", kAtifVersion},
       {"session_id", text_or(about["session"], "unnamed")},
       {"agent", Json::object({{"name", "fiel"},
                               {"version", text_or(about["fiel_version"], "unknown")},
                               {"model_name", text_or(about["model"], "unknown")}})},
       {"steps", Json(Json::Array(std::move(steps)))},
       {"final_metrics", Json::object({{"total_prompt_tokens", input},
                                       {"total_completion_tokens", output},
                                       {"total_steps", count}})}});
}

}  // namespace fiel::agent
