// fiel daemon, fiel ask: the judge of a workspace, and the word that its bin/ commands send it.
#include <fmt/core.h>

#include "agent/workspace/daemon.h"
#include "base/text.h"
#include "cli/command.h"

namespace fiel::cli {
namespace {

Result<int> run_daemon(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::usage, "'fiel daemon' needs a workspace",
                "make one: fiel init TASK --workspace DIR");
  FIEL_TRY(const agent::Workspace workspace, agent::Workspace::open(arguments.positional[0]));
  agent::DeskOptions options;
  FIEL_TRY(const uint64_t judged, unsigned_value(arguments, "--kernels", 100, 100'000));
  options.max_judged = static_cast<uint32_t>(judged);
  FIEL_TRY(agent::Desk desk, agent::Desk::open(workspace, options));
  context.story(
      fmt::format("fiel: judging {}\n", printable(workspace.files().path().string(), 300)));
  const auto answer = [&](agent::Verb verb, const std::string& note) {
    agent::Feedback f = desk.ask(verb, note);
    context.story(fmt::format("{}: {}\n", name_of(verb), printable(split(f.text, '\n')[0], 200)));
    return f;
  };
  std::optional<agent::AgentUser> user;
  if (const auto name = arguments.value("--agent-user")) {
    FIEL_TRY(user, agent::find_agent_user(*name));
    FIEL_TRY_STATUS(give_workspace(workspace, *user));
  }
  FIEL_TRY_STATUS(agent::serve(
      workspace.socket(), answer, [&] { return context.interrupted && context.interrupted(); },
      user));
  return 0;
}

Result<int> run_ask(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 2)
    return fail(ErrorCode::usage, "'fiel ask' needs a workspace and a verb",
                "fiel ask work verify");
  const auto verb = agent::parse_verb(arguments.positional[1]);
  if (!verb)
    return fail(ErrorCode::usage,
                fmt::format("there is no verb '{}'", printable(arguments.positional[1], 60)),
                "compile, verify, bench, profile, submit");
  // Another user's agent cannot see whether there is more to this workspace.
  const auto socket = agent::socket_of(arguments.positional[0]);
  if (std::error_code error; !std::filesystem::exists(socket.parent_path(), error))
    return fail(ErrorCode::not_found,
                fmt::format("{} is no workspace", printable(arguments.positional[0], 300)),
                "make one: fiel init TASK --workspace DIR");
  FIEL_TRY(const agent::Feedback f,
           agent::ask_daemon(socket, *verb, arguments.value("--note").value_or("")));
  context.print(f.text);
  return f.good ? 0 : 1;
}

}  // namespace

Command daemon_command() {
  return {
      {"daemon",
       "WORKSPACE",
       "the judge of a workspace, for its bin/verify and the like",
       {{"--kernels", "N", "that may be judged in all (100)"},
        {"--agent-user", "NAME", "whose agent works there: gets the workspace, may ask (root)"}},
       "Listens beside the workspace, not in it, until it is interrupted. References, hidden\n"
       "shapes, seeds and verdicts stay on this side."},
      run_daemon};
}

Command ask_command() {
  return {{"ask",
           "WORKSPACE VERB",
           "asks that judge: compile, verify, bench, profile, submit",
           {{"--note", "TEXT", "what this version tries, kept in the ledger"}},
           ""},
          run_ask};
}

}  // namespace fiel::cli
