// A kept run for a person at a terminal: the tally, then a line a kernel, the refused ones first.
#pragma once

#include <string>

#include "report/terminal.h"
#include "store/store.h"

namespace fiel::report {

std::string digest(const store::RunRecord& run, const TerminalStyle& style);

}  // namespace fiel::report
