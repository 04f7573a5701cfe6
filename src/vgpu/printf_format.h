// C's printf on arguments packed as CUDA packs them: each at its natural alignment, floats as
// doubles, strings as device addresses.
//
//   std::string text = format_device(format, arguments, read_string);
//
// `*` widths, every length modifier, %n ignored as CUDA does; widths and precisions are bounded.
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
