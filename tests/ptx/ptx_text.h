// What the tests of this folder share: the frame around a few instructions, and the fixtures.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "places.h"

namespace fiel::ptx::test {

inline const std::string kHeader = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// `body` (from line 8 on) inside a kernel with registers of every width.
inline std::string kernel(std::string_view body) {
  return kHeader +
         ".visible .entry k(.param .u64 p) {\n"
         ".reg .pred %p<9>; .reg .b16 %h<99>; .reg .b32 %r<99>; .reg .b64 %rd<99>;\n"
         ".reg .f32 %f<99>; .reg .f64 %d<99>; .reg .b128 %q<9>;\n"
         "ld.param.u64 %rd1, [p];\n" +
         std::string(body) + "\nret;\n}\n";
}

inline std::filesystem::path fixture_folder() { return in_source("tests/ptx/fixtures"); }

inline std::vector<std::filesystem::path> fixtures() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(fixture_folder()))
    if (entry.path().extension() == ".ptx") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace fiel::ptx::test
