#include "cli/run_exports.h"

#include <fmt/core.h>

#include <cstdlib>

#include "base/text.h"
#include "cli/output_file.h"

namespace fiel::cli {
namespace {

struct Wanted {
  report::ExportFormat format;
  std::string file;
};

Result<std::vector<Wanted>> wanted_of(const Arguments& arguments) {
  std::vector<Wanted> all;
  const auto text = arguments.value("--export");
  if (!text) return all;
  for (std::string_view part : split(*text, ',')) {
    const size_t equals = part.find('=');
    const std::string_view file = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    FIEL_TRY(const report::ExportFormat format,
             report::parse_export_format(part.substr(0, equals)));
    if (file.empty() && format != report::ExportFormat::github)
      return fail(ErrorCode::usage, fmt::format("'--export {}' names no file", printable(part, 60)),
                  "--export junit=report.xml");
    all.push_back({format, std::string(file)});
  }
  return all;
}

// GitHub takes 1 MiB a step and refuses the whole of what is longer.
constexpr size_t kMaxSummary = 1000u << 10;

Status append_summary(const store::RunRecord& run) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') return {};
  std::string text = report::to_markdown(run);
  if (text.size() > kMaxSummary) {
    text.resize(text.rfind('\n', kMaxSummary) + 1);
    text += "\nThe table was cut to what GitHub shows.\n";
  }
  std::FILE* file = std::fopen(path, "a");
  if (file == nullptr)
    return fail(ErrorCode::io, fmt::format("$GITHUB_STEP_SUMMARY cannot be written: {}", path));
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !whole)
    return fail(ErrorCode::io, fmt::format("$GITHUB_STEP_SUMMARY cannot be written: {}", path));
  return {};
}

}  // namespace

Status check_exports(const Arguments& arguments) {
  FIEL_TRY(const std::vector<Wanted> wanted, wanted_of(arguments));
  static_cast<void>(wanted);
  return {};
}

Status write_exports(const Arguments& arguments, const store::RunRecord& run,
                     const Context& context) {
  FIEL_TRY(const std::vector<Wanted> wanted, wanted_of(arguments));
  for (const Wanted& w : wanted) {
    // stdout belongs to the verdicts; GitHub reads stderr as well.
    if (w.file.empty()) {
      context.story(report::export_run(run, w.format));
      FIEL_TRY_STATUS(append_summary(run));
    } else {
      FIEL_TRY_STATUS(write_export(run, w.format, w.file, context));
    }
  }
  return {};
}

Status write_export(const store::RunRecord& run, report::ExportFormat format,
                    const std::string& file, const Context& context) {
  const std::string bytes = report::export_run(run, format);
  if (file.empty())
    context.print(bytes);
  else
    FIEL_TRY_STATUS(write_output(file, bytes));
  return format == report::ExportFormat::github ? append_summary(run) : Status();
}

}  // namespace fiel::cli
