// The judge of one workspace behind a socket: what bin/verify and its kin talk to.
//
//   serve(socket, [&](Verb verb, const std::string& note) { return desk.ask(verb, note); }, stop);
//   FIEL_TRY(Json answer, ask_daemon(socket, Verb::verify, "tiled by 32"));
//
// One request a connection: a JSON line {"verb", "note"}, then a JSON line {"good", "text"}. One at
// a time, since the machine is being measured. The socket lies in a folder of its own, which only
// its owner and an agent's user may enter; requests are bounded in size and time.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "agent/workspace/agent_user.h"
#include "agent/workspace/desk.h"

namespace fiel::agent {

using Answerer = std::function<Feedback(Verb verb, const std::string& note)>;

/// Until `stop` says so. An error where the socket cannot be had, or another judge listens there.
/// `user`: whose agent may ask, too.
Status serve(const std::filesystem::path& socket, const Answerer& answer,
             const std::function<bool()>& stop, const std::optional<AgentUser>& user = {});

Result<Feedback> ask_daemon(const std::filesystem::path& socket, Verb verb,
                            const std::string& note);

}  // namespace fiel::agent
