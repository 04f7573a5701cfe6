// What cases leave behind, as text: recorded on a GPU (golden/cases_sm90.txt), compared with what
// the virtual GPU leaves. A line is
//
//   <case> <module> <buffer or (printed)> <bytes> <XXH3> <first words of four bytes>
//   atomics kernel.ptx wide 8 b0a9f1d54e2c8871 00000040 00000040
//
// and what begins with # is for people. tests/gpu/cases_on_gpu.cpp makes both sides.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "case_file.h"

namespace fiel::vgpu::test {

/// Why a GPU's answers to a case prove nothing; empty: they must be the virtual GPU's to the bit.
std::string why_not_recorded(const Case& test);
/// Whether a GPU of compute capability 9.0 loads it: what is for newer ones it does not.
bool is_for_sm90(const CaseModule& module);

/// Threads print in no particular order: lines, sorted.
std::string sorted_lines(const std::string& printed);

/// A line, without its end. At most `words` words are shown; the digest is of all bytes.
std::string record(const Case& test, const CaseModule& module, const std::string& what,
                   std::span<const std::byte> bytes, size_t words);

/// By "<case> <module> <buffer>". Errors name the line.
Result<std::map<std::string, std::string>> read_records(std::string_view text,
                                                        std::string_view file_name);

struct RecordComparison {
  std::vector<std::string> differences;  ///< each names its case
  std::vector<std::string> unrecorded;   ///< what only `now` has
};
RecordComparison compare_records(const std::map<std::string, std::string>& recorded,
                                 const std::map<std::string, std::string>& now);

}  // namespace fiel::vgpu::test
