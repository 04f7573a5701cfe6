#include <fmt/core.h>

#include "base/text.h"
#include "report/export.h"

namespace fiel::report {
namespace {

struct Row {
  std::string_view name;
  ExportFormat format;
  std::string (*write)(const store::RunRecord&);
};

constexpr Row kRows[] = {
    {"json", ExportFormat::json, to_json_document},
    {"csv", ExportFormat::csv, to_csv},
    {"markdown", ExportFormat::markdown, to_markdown},
    {"junit", ExportFormat::junit, to_junit},
    {"sarif", ExportFormat::sarif, to_sarif},
    {"github", ExportFormat::github, to_github_annotations},
    {"kernelbench", ExportFormat::kernelbench, to_kernelbench},
    {"baselines", ExportFormat::baselines, to_baselines},
};

}  // namespace

std::vector<std::string> export_format_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

Result<ExportFormat> parse_export_format(std::string_view name) {
  std::string list;
  for (const Row& row : kRows) {
    if (row.name == name) return row.format;
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  }
  const std::string near = did_you_mean(name, export_format_names());
  return fail(ErrorCode::usage, fmt::format("there is no export '{}'", printable(name, 40)),
              near.empty() ? "one of: " + list : fmt::format("did you mean '{}'?", near));
}

std::string export_run(const store::RunRecord& run, ExportFormat format) {
  for (const Row& row : kRows)
    if (row.format == format) return row.write(run);
  return "";
}

}  // namespace fiel::report
