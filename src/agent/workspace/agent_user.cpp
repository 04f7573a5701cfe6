#include "agent/workspace/agent_user.h"

#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace fiel::agent {
namespace fs = std::filesystem;

Result<AgentUser> find_agent_user(const std::string& name) {
  if (::geteuid() != 0)
    return fail(ErrorCode::usage, "only root can work with another user's account",
                "run the agent and the judge in containers of their own");
  const passwd* p = ::getpwnam(name.c_str());
  if (p == nullptr)
    return fail(ErrorCode::usage, fmt::format("there is no user '{}'", printable(name, 60)));
  if (p->pw_uid == 0)
    return fail(ErrorCode::usage, "root may read everything: name an account without rights");
  return AgentUser{name, p->pw_dir, p->pw_uid, p->pw_gid};
}

Status give_workspace(const Workspace& workspace, const AgentUser& user) {
  const fs::path& root = workspace.files().path();
  std::error_code error;
  std::vector<fs::path> all = {root};
  fs::recursive_directory_iterator it(root, error);
  for (; !error && it != fs::end(it); it.increment(error)) all.push_back(it->path());
  for (const fs::path& path : all)
    if (::lchown(path.c_str(), user.uid, user.gid) != 0)
      return fail(ErrorCode::io, fmt::format("{}: {}", path.string(), std::strerror(errno)));
  if (error) return fail(ErrorCode::io, fmt::format("{}: {}", root.string(), error.message()));
  return {};
}

}  // namespace fiel::agent
