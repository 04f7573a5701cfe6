// The words that our own loop gives a model.
#pragma once

#include <string>

#include "agent/workspace/desk.h"
#include "agent/workspace/layout.h"

namespace fiel::agent {

std::string system_prompt(bool with_text_calls, bool native_calls);
std::string first_prompt(const Workspace& workspace);
/// What stays when old turns go: the task, the best kernel, what was tried. At most max_bytes.
std::string summary_prompt(const Workspace& workspace, const Desk& desk, const std::string& to_do,
                           size_t max_bytes);

}  // namespace fiel::agent
