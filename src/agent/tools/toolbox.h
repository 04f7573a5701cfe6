// What an agent can do in its workspace, each bounded in time and output.
//
//   Toolbox tools(workspace, desk, {});
//   request.tools = tools.specs();
//   ToolResult r = tools.call(reply.message.calls[0]);
//
// Arguments are checked against the schema that the model was given; a call that does not fit is
// answered with what is wrong. Nothing here reaches outside the workspace: files by Folder,
// programs by the sandbox without a network. The judge is asked through the desk.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/model/message.h"
#include "agent/workspace/desk.h"
#include "sandbox/isolation.h"

namespace fiel::agent {

struct ToolOptions {
  sandbox::IsolationPolicy isolation;
  int64_t shell_timeout_ms = 120'000;
  std::function<int64_t()> left_ms;  ///< of the whole run; may be empty
  size_t max_result_bytes = 16'000;  ///< of one result, as the model gets it
};

struct ToolResult {
  std::string text;
  bool failed = false;
  bool bad_schema = false;  ///< the call itself was malformed
  bool submitted = false;
  uint64_t full_bytes = 0;  ///< before it was cut
};

class Toolbox {
 public:
  Toolbox(const Workspace& workspace, Desk& desk, ToolOptions options)
      : workspace_(workspace), desk_(desk), options_(std::move(options)) {}

  static const std::vector<ToolSpec>& specs();
  ToolResult call(const ToolCall& call);
  const std::string& to_do() const { return to_do_; }
  void set_to_do(std::string text) { to_do_ = std::move(text); }

 private:
  ToolResult dispatch(const ToolCall& call);
  ToolResult judge(Verb verb, const Json& arguments);

  const Workspace& workspace_;
  Desk& desk_;
  ToolOptions options_;
  std::string to_do_;
};

/// Head and tail of a text that is too long, and how much is missing between.
std::string cut_middle(const std::string& text, size_t max_bytes);

// The tools themselves.
ToolResult read_tool(const Workspace& w, const Json& arguments);
ToolResult write_tool(const Workspace& w, const Json& arguments);
ToolResult edit_tool(const Workspace& w, const Json& arguments);
ToolResult glob_tool(const Workspace& w, const Json& arguments);
ToolResult grep_tool(const Workspace& w, const Json& arguments);
ToolResult shell_tool(const Workspace& w, const Json& arguments, const ToolOptions& options);

ToolResult done(std::string text);
ToolResult refused(std::string text);

}  // namespace fiel::agent
