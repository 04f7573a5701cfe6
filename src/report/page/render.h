// What the two pages share: the engine, its values, cleaned text.
#pragma once

#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

#include "base/json.h"

namespace fiel::report {

using Values = kainjow::mustache::data;

/// Text of a candidate, bounded and without control characters; the engine escapes it.
Values shown(std::string_view bytes, size_t max_bytes = 2000);

/// A list, and `has_<name>` where it is not empty.
void set_list(Values& page, const std::string& name, Values list);

/// A row {name, value}.
Values fact(const std::string& name, const std::string& value);
Values chart(const std::string& caption, const std::string& svg);

/// "good", "bad", "warn": accepted, refused, could not be judged.
std::string tone_of(const Json& verdict);

std::string render_page(const char* body, const Values& page);

}  // namespace fiel::report
