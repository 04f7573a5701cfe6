// What a person needs of a failed build: the compiler's first errors, not the traceback around them
// and not the command lines of hundreds of flags.
//
//   v.compiler_output = compiler_words(fault.detail);
//
// Hostile text: bounded, and made printable by the caller.
#pragma once

#include <string>
#include <string_view>

namespace fiel::judge::torch {

inline constexpr size_t kCompilerLines = 40;

/// The text's errors with what follows each, at most 40 lines; its last lines where it names none.
std::string compiler_words(std::string_view text);
/// The first line that is an error; empty where there is none.
std::string first_error(std::string_view text);

}  // namespace fiel::judge::torch
