// Writing a run for other programs: `--export FORMAT=FILE,…` of judge, and the verb export.
#pragma once

#include "cli/arguments.h"
#include "cli/command.h"
#include "report/export.h"
#include "store/store.h"

namespace fiel::cli {

/// Before anything is judged: a misspelt format is an error of usage.
Status check_exports(const Arguments& arguments);
Status write_exports(const Arguments& arguments, const store::RunRecord& run,
                     const Context& context);

/// To the file, or to stdout where it is empty. github also appends Markdown to
/// $GITHUB_STEP_SUMMARY where that is set.
Status write_export(const store::RunRecord& run, report::ExportFormat format,
                    const std::string& file, const Context& context);

}  // namespace fiel::cli
