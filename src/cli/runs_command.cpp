// fiel runs: what has been judged and kept. fiel export: one of these for another program.
#include <fmt/core.h>

#include <ctime>

#include "base/text.h"
#include "cli/command.h"
#include "cli/run_exports.h"
#include "report/tally.h"
#include "store/store.h"

namespace fiel::cli {
namespace {

std::string when(int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

Json to_json(const store::RunHeader& run) {
  Json j = Json::object();
  j["name"] = run.name;
  j["state"] = run.state;
  j["begun_ms"] = run.begun_ms;
  j["ended_ms"] = run.ended_ms > 0 ? Json(run.ended_ms) : Json();
  j["folder"] = run.folder;
  j["words"] = Json::array();
  for (const std::string& w : run.words) j["words"].push_back(w);
  j["entries"] = run.entries;
  j["verdicts"] = run.verdicts;
  j["accepted"] = run.accepted;
  return j;
}

Result<int> list(const Arguments& arguments, const Context& context) {
  if (!arguments.positional.empty())
    return fail(ErrorCode::usage, "'fiel runs' takes no words",
                fmt::format("fiel report {}", printable(arguments.positional.front(), 60)));
  FIEL_TRY(const uint64_t at_most, unsigned_value(arguments, "--last", 20, 100'000));
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  if (arguments.has("--check")) FIEL_TRY_STATUS(store.check());
  FIEL_TRY(const std::vector<store::RunHeader> runs, store.runs(at_most));
  if (arguments.has("--json")) {
    Json j = Json::object();
    j["schema_version"] = 1;
    j["store"] = store.file().string();
    j["runs"] = Json::array();
    for (const store::RunHeader& run : runs) j["runs"].push_back(to_json(run));
    context.print_json(j);
    return 0;
  }
  size_t width = 4;
  for (const store::RunHeader& run : runs) width = std::max(width, run.name.size());
  context.print(fmt::format("{:<{}}  {:<16}  {:<8}{:>9}{:>10}\n", "run", width, "begun (UTC)",
                            "state", "judged", "accepted"));
  for (const store::RunHeader& run : runs)
    context.print(fmt::format("{:<{}}  {:<16}  {:<8}{:>9}{:>10}\n", run.name, width,
                              when(run.begun_ms), run.state,
                              fmt::format("{}/{}", run.verdicts, run.entries), run.accepted));
  return 0;
}

Result<int> export_one(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::usage, "'fiel export' needs one run", "fiel export last --format junit");
  FIEL_TRY(const report::ExportFormat format,
           report::parse_export_format(arguments.value("--format").value_or("json")));
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  FIEL_TRY(const store::RunHeader header, store.find(arguments.positional.front()));
  FIEL_TRY(const store::RunRecord run, store.load(header, store::Detail::all));
  FIEL_TRY_STATUS(write_export(run, format, arguments.value("-o").value_or(""), context));
  return 0;
}

}  // namespace

Command runs_command() {
  return {{"runs",
           "",
           "what has been judged and kept, newest first",
           {{"--last", "N", "how many (20)"},
            {"--check", "", "check the store's file as a whole"},
            kJsonFlag},
           "The store is $FIEL_STORE, or ~/.local/share/fiel. 'last' and the begin of a name are\n"
           "names of a run too."},
          list};
}

Command export_command() {
  return {
      {"export",
       "RUN",
       "a run for another program: JUnit, SARIF, GitHub, Markdown, CSV, JSON, KernelBench",
       {{"--format", "NAME", "junit, sarif, github, markdown, csv, json (default), kernelbench"},
        {"-o", "FILE", "write there, not to stdout"}},
       ""},
      export_one};
}

}  // namespace fiel::cli
