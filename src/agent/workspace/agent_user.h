// Another user's account for an agent that is a program of its own: then the judge's folder is not
// its to read or write, whatever it starts.
//
//   FIEL_TRY(const AgentUser user, find_agent_user("builder"));     // root alone may do this
//   FIEL_TRY_STATUS(give_workspace(workspace, user));
#pragma once

#include <sys/types.h>

#include <string>

#include "agent/workspace/layout.h"
#include "base/result.h"

namespace fiel::agent {

struct AgentUser {
  std::string name, home;
  uid_t uid = 0;
  gid_t gid = 0;
};

/// An error where there is no such account, where it is root's, or where we are not root.
Result<AgentUser> find_agent_user(const std::string& name);

/// The workspace and all that is in it becomes the user's; the judge's folder stays ours.
Status give_workspace(const Workspace& workspace, const AgentUser& user);

}  // namespace fiel::agent
