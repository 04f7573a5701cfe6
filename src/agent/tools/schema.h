// The part of JSON schema that tools use, checked before a call is carried out.
#pragma once

#include <string>

#include "base/json.h"

namespace fiel::agent {

/// Empty where `value` fits; else one line that says what does not, with its place.
std::string misfit(const Json& schema, const Json& value, const std::string& place = "");

}  // namespace fiel::agent
