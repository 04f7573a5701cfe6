// shell: a command in a fresh sandbox whose one writable place is the workspace.
#include <fmt/core.h>

#include <algorithm>

#include "agent/tools/toolbox.h"
#include "base/text.h"
#include "sandbox/process_tree.h"
#include "sandbox/spawn.h"

namespace fiel::agent {

ToolResult shell_tool(const Workspace& w, const Json& a, const ToolOptions& options) {
  sandbox::SpawnRequest q;
  q.arguments = {"/bin/sh", "-c", a["command"].as_string()};
  q.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", "/tmp"}, {"LANG", "C.UTF-8"}};
  q.writable = w.files().path();
  q.programs = true;
  // The workspace belongs to whoever started us: nobody could not write there.
  q.drop_root = false;
  sandbox::IsolationPolicy policy = options.isolation;
  policy.limits.output_bytes = 1u << 20;
  auto child = sandbox::spawn(q, policy);
  if (!child) return refused(to_string(child.error()));
  const int64_t asked = a["timeout_s"].as_int(options.shell_timeout_ms / 1000) * 1000;
  int64_t timeout_ms = std::clamp<int64_t>(asked, 1000, options.shell_timeout_ms);
  if (options.left_ms) timeout_ms = std::min(timeout_ms, options.left_ms());
  const int64_t deadline = sandbox::now_ms() + timeout_ms;
  while ((*child)->running() && sandbox::now_ms() < deadline) (*child)->pump(100);
  const bool timed_out = (*child)->running();
  if (timed_out) (*child)->kill();
  (*child)->wait(5'000);
  std::string text = (*child)->output;
  if ((*child)->output_bytes > text.size())
    text += fmt::format("\n… {} of output, of which the first {} were kept\n",
                        format_bytes((*child)->output_bytes), format_bytes(text.size()));
  if (timed_out) text += "\n(stopped: out of time)";
  if (!(*child)->limit.empty()) text += "\n(stopped: " + (*child)->limit + ")";
  if (!timed_out && (*child)->exit_code != 0)
    text += fmt::format("\n(exit code {})", (*child)->exit_code);
  ToolResult r = done(std::move(text));
  r.failed = timed_out || (*child)->exit_code != 0 || (*child)->signal != 0;
  r.full_bytes = (*child)->output_bytes;
  return r;
}

}  // namespace fiel::agent
