// fiel compare: one kernel under all protocols: who is fooled, by what.
#include <fmt/core.h>

#include <filesystem>

#include "base/text.h"
#include "cli/command.h"
#include "cli/pair_judging.h"
#include "cli/pairing.h"
#include "cli/progress.h"

namespace fiel::cli {
namespace {

using judge::Protocol;
using judge::Verdict;

struct Row {
  Protocol protocol{};
  Verdict verdict;
};

bool accepts(const Verdict& v) { return v.status == judge::VerdictStatus::correct; }
bool judged(const Verdict& v) {
  const int code = judge::exit_code_of(v);
  return code == 0 || code == 1;
}

/// What a protocol's verdict is worth beside that of strict.
std::string_view stand(const Verdict& strict, const Verdict& v) {
  if (&strict == &v) return "";
  if (!judged(strict) || !judged(v)) return "cannot tell";
  if (accepts(v) == accepts(strict)) return "agrees";
  return accepts(v) ? "fooled" : "rejects";
}

/// The evidence by which it differs: strict's for those that are fooled, their own for others.
std::string by_what(const Verdict& strict, const Verdict& v) {
  const bool fooled = stand(strict, v) == "fooled";
  const Verdict& source = fooled ? strict : v;
  for (const judge::FindingRecord& f : source.findings)
    if (f.grade == vgpu::Grade::error) return f.code;
  if (source.opinion || !source.witness) return source.reason;
  return fmt::format("{}: {}", judge::name_of(source.witness->probe), source.reason);
}

Json to_json(const std::vector<Row>& rows) {
  const Verdict& strict = rows.front().verdict;
  Json j = Json::object();
  j["schema_version"] = judge::kSchemaVersion;
  j["task"] = strict.task_file;
  j["kernel"] = strict.kernel;
  j["device"] = strict.device;
  j["protocols"] = Json::array();
  for (const Row& r : rows) {
    Json row = Json::object();
    row["protocol"] = judge::name_of(r.protocol);
    row["status"] = judge::name_of(r.verdict.status);
    row["accepted"] = accepts(r.verdict);
    row["beside_strict"] = stand(strict, r.verdict);
    row["by"] = by_what(strict, r.verdict);
    row["reason"] = r.verdict.reason;
    row["verdict"] = judge::to_json(r.verdict);
    j["protocols"].push_back(std::move(row));
  }
  return j;
}

std::string to_text(const std::vector<Row>& rows) {
  const Verdict& strict = rows.front().verdict;
  std::string text = fmt::format("{} for {} on {}\n\n", strict.kernel, strict.task, strict.device);
  text +=
      fmt::format("  {:<22}{:<17}{:<13}{:<10}{}\n", "protocol", "verdict", "", "speed-up", "by");
  for (const Row& r : rows) {
    const auto& o = r.verdict.opinion;
    const std::string speed = o && o->speedup ? fmt::format("{:.3g}", *o->speedup) : "-";
    text += fmt::format("  {:<22}{:<17}{:<13}{:<10}{}\n", judge::name_of(r.protocol),
                        judge::name_of(r.verdict.status), stand(strict, r.verdict), speed,
                        printable(by_what(strict, r.verdict), 160));
  }
  return text;
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (arguments.positional.size() != 2)
    return fail(ErrorCode::usage, "'fiel compare' needs a task and one kernel",
                "fiel compare tasks/softmax.toml examples/softmax/memoised_output.cu");
  std::error_code error;
  for (const std::string& path : arguments.positional)
    if (!std::filesystem::exists(path, error))
      return fail(ErrorCode::not_found, fmt::format("there is no file '{}'", printable(path, 300)));
  FIEL_TRY(PairJudging judging, PairJudging::create(arguments, context));
  const JudgePair pair = entry_of(arguments.positional[0], arguments.positional[1]);
  StatusLine line(context);
  std::vector<Row> rows;
  for (Protocol p : judge::all_protocols()) {
    const auto show = [&](const judge::Progress& at) { line.show(at.what, at.done, at.total); };
    FIEL_TRY(Verdict v, judging.judge(pair, show, p));
    line.clear();
    rows.push_back({p, std::move(v)});
  }
  if (arguments.has("--json")) {
    context.print_json(to_json(rows));
  } else {
    context.print(to_text(rows));
  }
  return judge::exit_code_of(rows.front().verdict);
}

}  // namespace

Command compare_command() {
  std::vector<Flag> flags{
      {"--device", "NAME", "virtual (PTX on the CPU), cpu (PyTorch tasks), cuda:N"},
      {"--seed", "N", "of every judgement; otherwise drawn in secret"},
      {"--shapes", "A,B", "only these shape sets; other protocols take the first"},
      {"--budget", "NAME", "work of strict: quick, standard, thorough"},
      {"--numerics", "NAME", "class an f32 task accepts: fp32, tf32 (default), any"},
      {"--timeout", "SECONDS", "wall-clock limit of one call (60)"},
      {"--time-limit", "SECONDS", "of the judgement of strict"},
      {"--require-isolation", "", "judge only inside the full sandbox"}};
  for (const Flag& f : torch_judging_flags())
    if (f.name != "--self") flags.push_back(f);
  flags.push_back(kJsonFlag);
  return {{"compare", "TASK KERNEL", "one kernel under all protocols: who is fooled, by what",
           flags, "The exit code is that of the strict protocol."},
          run};
}

}  // namespace fiel::cli
