// What another protocol saw, for a person: its trials, its times, and where they come from.
#pragma once

#include <string>

#include "judge/protocols/opinion.h"

namespace fiel::report {

std::string render_opinion(const judge::Opinion& opinion);

}  // namespace fiel::report
