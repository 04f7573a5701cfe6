// The part of JSON schema that tools use, checked before a call is carried out.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace fiel::agent {

/// Empty where `value` fits; else one line that says what does not, with its place.
std::string misfit(const Json& schema, const Json& value, const std::string& place = "");

/// The schema of one argument, and of an object that has these members and no others.
Json property(const char* type, const char* description);
Json object_schema(Json::Object properties, std::vector<std::string> required);

}  // namespace fiel::agent
