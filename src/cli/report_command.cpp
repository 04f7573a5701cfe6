// fiel report: one run for a person, in the terminal or as a page.
#include <fmt/core.h>

#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "report/digest.h"
#include "report/page/page.h"
#include "store/store.h"

namespace fiel::cli {
namespace {

/// The verdict that --only names: a number from 1, or the end of a kernel's path.
Result<size_t> chosen(const store::RunRecord& run, const std::string& word) {
  for (size_t i = 0; i < run.verdicts.size(); ++i) {
    const store::Evidence& e = run.verdicts[i];
    if (std::to_string(e.place + 1) == word || e.verdict["kernel"].as_string().ends_with(word))
      return i;
  }
  return fail(ErrorCode::not_found,
              fmt::format("the run has no verdict '{}'", printable(word, 200)),
              "a number from 1, or the end of a kernel's path");
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::usage, "'fiel report' needs one run", "fiel report last");
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  FIEL_TRY(const store::RunHeader header, store.find(arguments.positional.front()));
  FIEL_TRY(const store::RunRecord record, store.load(header, store::Detail::all));
  std::optional<size_t> one;
  if (const auto only = arguments.value("--only")) {
    FIEL_TRY(one, chosen(record, *only));
  }
  if (record.header.entries == 1 && record.verdicts.size() == 1) one = 0;
  if (const auto file = arguments.value("--html")) {
    const std::string page = one ? report::verdict_page(record, *one) : report::run_page(record);
    FIEL_TRY_STATUS(write_output(*file, page));
    context.story(fmt::format("fiel: wrote {}\n", printable(*file, 300)));
    return 0;
  }
  context.print(report::digest(record, {context.color_out, arguments.has("-v")}));
  return 0;
}

}  // namespace

Command report_command() {
  return {{"report",
           "RUN",
           "one run for a person",
           {{"--html", "FILE", "one self-contained page instead"},
            {"--only", "N|KERNEL", "the page of one kernel of many"},
            {"-v", "", "every kernel, also of a long run"}},
           ""},
          run};
}

}  // namespace fiel::cli
