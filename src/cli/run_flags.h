// The flags of a run: which of them are kept with it, and how a resumed run gets them back.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace fiel::cli {

/// Flags that change what is judged; those about output and the store stay with each call.
std::vector<std::string> words_to_keep(const Arguments& arguments);

/// Adds the kept words that the arguments do not set themselves.
Arguments with_words(Arguments arguments, const std::vector<std::string>& words);

}  // namespace fiel::cli
