// One self-contained HTML page: no script, no remote address, light and dark, readable on a phone.
//
//   FIEL_TRY_STATUS(write_file_atomic(path, verdict_page(run, 0)));
//
// Everything that a candidate wrote is escaped by the template engine after control characters were
// made visible; the page's own policy forbids scripts and loading anything. Same run, same bytes.
#pragma once

#include <cstddef>
#include <string>

#include "store/store.h"

namespace fiel::report {

/// One kernel in full: `index` into run.verdicts.
std::string verdict_page(const store::RunRecord& run, size_t index);

/// The whole run: tally, charts, a row a kernel.
std::string run_page(const store::RunRecord& run);

}  // namespace fiel::report
