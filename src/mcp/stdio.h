// The server on standard input and output: one JSON object a line, logs on stderr.
#pragma once

#include <functional>

#include "mcp/server.h"

namespace fiel::mcp {

/// Until the input ends or `stop` says so; work that is under way is then ended.
Status serve_stdio(Server& server, Jobs& jobs, int in, int out, const std::function<bool()>& stop);

}  // namespace fiel::mcp
