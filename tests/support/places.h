// Where the repository and the build are. Functions, not macros: a folder's name in what is
// compiled makes every cache of compilations miss in a fresh clone.
#pragma once

#include <string>

namespace fiel {

std::string in_source(const std::string& path);
std::string in_build(const std::string& path);

}  // namespace fiel
