// A run for other programs: JUnit, SARIF, GitHub's annotations, Markdown, CSV, JSON, KernelBench.
//
//   FIEL_TRY(const ExportFormat format, parse_export_format("junit"));
//   std::string bytes = export_run(run, format);
//
// The same run gives the same bytes. What candidates wrote is hostile: text is escaped for the
// format, control characters are made visible, invalid UTF-8 becomes U+FFFD, lengths are bounded. A
// number that is not there is absent, empty or null, never 0.000, inf or nan. docs/reports.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace fiel::report {

enum class ExportFormat : uint8_t {
  json,
  csv,
  markdown,
  junit,
  sarif,
  github,
  kernelbench,
  baselines
};

Result<ExportFormat> parse_export_format(std::string_view name);
std::vector<std::string> export_format_names();

std::string export_run(const store::RunRecord& run, ExportFormat format);

std::string to_junit(const store::RunRecord& run);
std::string to_sarif(const store::RunRecord& run);
/// At most ten lines, the worst first; workflow commands for GitHub Actions.
std::string to_github_annotations(const store::RunRecord& run);
std::string to_markdown(const store::RunRecord& run);
std::string to_csv(const store::RunRecord& run);
std::string to_json_document(const store::RunRecord& run);
/// KernelBench's eval_results.json; times in milliseconds, −1 where there is none.
std::string to_kernelbench(const store::RunRecord& run);
/// CSV, one row a task of a run of `fiel judge --self`: what it costs in PyTorch itself.
std::string to_baselines(const store::RunRecord& run);

}  // namespace fiel::report
