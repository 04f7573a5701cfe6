#include "agent/tools/toolbox.h"

#include <fmt/core.h>

#include <algorithm>

#include "agent/tools/schema.h"
#include "base/text.h"

namespace fiel::agent {

ToolResult done(std::string text) {
  ToolResult r;
  r.text = std::move(text);
  return r;
}

ToolResult refused(std::string text) {
  ToolResult r = done(std::move(text));
  r.failed = true;
  return r;
}

std::string cut_middle(const std::string& text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const size_t tail = max_bytes / 3, head = max_bytes - tail;
  return text.substr(0, head) +
         fmt::format("\n… {} of {} left out …\n", format_bytes(text.size() - max_bytes),
                     format_bytes(text.size())) +
         text.substr(text.size() - tail);
}

ToolResult Toolbox::judge(Verb verb, const Json& arguments) {
  const size_t before = desk_.ledger().entries().size();
  const Feedback f = desk_.ask(verb, arguments["note"].as_string());
  ToolResult r = done(f.text);
  r.failed = !f.good;
  r.submitted = verb == Verb::submit && desk_.ledger().entries().size() > before;
  return r;
}

ToolResult Toolbox::dispatch(const ToolCall& call) {
  const Json& a = call.arguments;
  if (call.name == "shell") return shell_tool(workspace_, a, options_);
  if (call.name == "read") return read_tool(workspace_, a);
  if (call.name == "write") return write_tool(workspace_, a);
  if (call.name == "edit") return edit_tool(workspace_, a);
  if (call.name == "glob") return glob_tool(workspace_, a);
  if (call.name == "grep") return grep_tool(workspace_, a);
  if (call.name == "todo") {
    to_do_ = printable(a["text"].as_string(), 4000);
    return done("kept");
  }
  if (const auto verb = parse_verb(call.name)) return judge(*verb, a);
  return refused("there is no such tool");
}

ToolResult Toolbox::call(const ToolCall& call) {
  const auto spec = std::find_if(specs().begin(), specs().end(),
                                 [&](const ToolSpec& s) { return s.name == call.name; });
  std::string why;
  if (spec == specs().end()) {
    std::vector<std::string> names;
    for (const ToolSpec& s : specs()) names.push_back(s.name);
    const std::string near = did_you_mean(call.name, names);
    why = fmt::format("there is no tool '{}'{}", printable(call.name, 60),
                      near.empty() ? "" : "; did you mean '" + near + "'?");
  } else if (call.arguments.is_null()) {
    why = "the arguments are no JSON object";
  } else {
    why = misfit(spec->parameters, call.arguments);
  }
  ToolResult r = why.empty() ? dispatch(call) : refused(why);
  r.bad_schema = !why.empty();
  r.full_bytes = std::max<uint64_t>(r.full_bytes, r.text.size());
  r.text = printable(cut_middle(r.text, options_.max_result_bytes), options_.max_result_bytes * 2);
  if (r.text.empty()) r.text = "(no output)";
  return r;
}

}  // namespace fiel::agent
