// C's printf on arguments packed as CUDA packs them: each at its natural alignment, floats as
// doubles, strings as device addresses.
//
//   std::string text = format_device(format, arguments, read_string);
//
// Directives are those of the CUDA C++ Programming Guide ("Format Specifiers"): `*` as a width but
// not as a precision, lengths h, l and ll. Whatever else follows a % stands as written and takes no
// argument, as on an H200. hh is converted, though the guide has it not and a GPU loses an argument
// by it; %n is ignored; widths and precisions are bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace fiel::vgpu {

/// The bytes of a %s argument; called with its device address.
using ReadString = std::function<std::string(uint64_t)>;

std::string format_device(std::string_view format, std::span<const uint8_t> arguments,
                          const ReadString& read_string);

}  // namespace fiel::vgpu
