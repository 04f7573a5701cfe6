// The judge of one workspace behind a socket: what bin/verify and its kin talk to.
//
//   serve(socket, [&](Verb verb, const std::string& note) { return desk.ask(verb, note); }, stop);
//   FIEL_TRY(Json answer, ask_daemon(socket, Verb::verify, "tiled by 32"));
//
// One request a connection: a JSON line {"verb", "note"}, then a JSON line {"good", "text"}. One at
// a time, since the machine is being measured. The socket lies in the workspace's state folder,
// which only its owner may enter; requests are bounded in size and time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "agent/workspace/desk.h"

namespace fiel::agent {

using Answerer = std::function<Feedback(Verb verb, const std::string& note)>;

/// Until `stop` says so. An error where the socket cannot be had, or another judge listens there.
Status serve(const std::filesystem::path& socket, const Answerer& answer,
             const std::function<bool()>& stop);

Result<Feedback> ask_daemon(const std::filesystem::path& socket, Verb verb,
                            const std::string& note);

}  // namespace fiel::agent
