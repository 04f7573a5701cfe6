// fiel version.
#include <fmt/core.h>

#include "cli/command.h"
#include "judge/environment.h"

namespace fiel::cli {
namespace {

Result<int> run(const Arguments& arguments, const Context& context) {
  const judge::Environment e = judge::describe_environment();
  if (arguments.has("--json")) {
    Json j = Json::object();
    j["schema_version"] = 1;
    j["version"] = e.fiel_version;
    j["commit"] = e.fiel_commit;
    j["verdict_schema_version"] = judge::kSchemaVersion;
    context.print_json(j);
  } else {
    context.print(fmt::format("fiel {} ({})\n", e.fiel_version, e.fiel_commit));
  }
  return 0;
}

}  // namespace

Command version_command() { return {{"version", "", "version and commit", {kJsonFlag}, ""}, run}; }

}  // namespace fiel::cli
