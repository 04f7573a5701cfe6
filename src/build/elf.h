// Just enough of ELF to look into a shared object that nvcc made: a section, the exported names.
// The file is hostile; every offset is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fiel::build {

std::optional<std::span<const uint8_t>> elf_section(std::span<const uint8_t> file,
                                                    std::string_view name);
/// Defined symbols of .dynsym, at most 65536.
std::vector<std::string> elf_exports(std::span<const uint8_t> file);

}  // namespace fiel::build
