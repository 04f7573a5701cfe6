// A command-line coding agent in a workspace: a program of somebody else, under our budgets.
//
//   FIEL_TRY(EpisodeResult r, run_external({"their-agent -p 'read SKILL.md' {workspace}", …},
//                                          workspace, desk));
//
// It runs as the user's own program, with the user's environment and network (it has to reach its
// model): whoever wants it confined starts fiel inside a container. While it runs the judge answers
// at the workspace's socket; afterwards everything it started is ended, also what left its session.
// Where namespaces work it has process numbers of its own, so that the kernel ends all of it at
// once, a fork bomb too, also when we are killed; elsewhere its processes are found in /proc. The
// result says which.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/loop/episode.h"
#include "agent/workspace/agent_user.h"

namespace fiel::agent {

struct ExternalRequest {
  std::string command;  ///< for /bin/sh -c; {workspace} becomes the folder, quoted
  int64_t max_wall_ms = 0;
  uint32_t max_processes = 4096;      ///< alive at a time; 0: no limit
  std::optional<AgentUser> user;      ///< whose account it runs under; empty: ours
  std::function<bool()> interrupted;  ///< may be empty
};

/// Its output goes to `external.log` in the state folder, the first 16 MiB of it. The result is
/// scored as an episode's.
Result<EpisodeResult> run_external(const ExternalRequest& request, const Workspace& workspace,
                                   Desk& desk);

}  // namespace fiel::agent
