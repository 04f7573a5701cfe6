// Text of the device and the compiler made fit for a verdict: no folders of the build, C++ names as
// people write them.
//
//   readable("at /home/me/.cache/fiel/build/tmp.Ab12/source/k.cu:31 (_Z4workPf)")
//     == "at k.cu:31 (work(float*))"
#pragma once

#include <string>
#include <string_view>

namespace fiel::judge {

std::string readable(std::string_view text);

/// "work" or "work<4>(float*)" for a mangled name; any other name as it is.
std::string demangled(std::string_view name);

}  // namespace fiel::judge
