// The texts that an agent is given: SKILL.md, AGENTS.md, and the first message of our own loop.
#pragma once

#include <string>

namespace fiel::agent {

enum class KernelForm : uint8_t;

std::string skill_text(KernelForm form);
std::string agents_text(KernelForm form);

}  // namespace fiel::agent
