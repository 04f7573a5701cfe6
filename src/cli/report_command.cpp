// fiel report: one run for a person, in the terminal or as a page.
#include <fmt/core.h>

#include "cli/command.h"
#include "report/digest.h"
#include "store/store.h"

namespace fiel::cli {
namespace {

Result<int> run(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::usage, "'fiel report' needs one run", "fiel report last");
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  FIEL_TRY(const store::RunHeader header, store.find(arguments.positional.front()));
  FIEL_TRY(const store::RunRecord record, store.load(header, store::Detail::all));
  context.print(report::digest(record, {context.color_out, arguments.has("-v")}));
  return 0;
}

}  // namespace

Command report_command() {
  return {{"report",
           "RUN",
           "one run for a person",
           {{"-v", "", "every kernel, also of a long run"}},
           ""},
          run};
}

}  // namespace fiel::cli
