// fiel replay: the call that a kept verdict's witness names, once more.
#include <fmt/core.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/pair_judging.h"
#include "cli/progress.h"
#include "cli/run_flags.h"
#include "cli/source_text.h"
#include "judge/replay.h"
#include "kernel/work_folder.h"
#include "store/store.h"

namespace fiel::cli {
namespace {

namespace fs = std::filesystem;

/// The verdict that was named: a number from 1, the end of a kernel's path, or the only one that
/// has a witness.
Result<const store::Evidence*> chosen(const store::RunRecord& run,
                                      const std::optional<std::string>& word) {
  const store::Evidence* found = nullptr;
  size_t with_witness = 0;
  for (const store::Evidence& e : run.verdicts) {
    if (word) {
      const bool named =
          std::to_string(e.place + 1) == *word || e.verdict["kernel"].as_string().ends_with(*word);
      if (named) return &e;
      continue;
    }
    if (!e.verdict["witness"].is_object()) continue;
    ++with_witness;
    found = &e;
  }
  if (word)
    return fail(ErrorCode::not_found,
                fmt::format("the run has no verdict '{}'", printable(*word, 200)),
                "a number from 1, or the end of a kernel's path");
  if (with_witness > 1)
    return fail(ErrorCode::usage,
                fmt::format("{} verdicts of the run have a witness", with_witness),
                "fiel replay RUN NUMBER");
  return found;
}

/// Where the file still is what was judged, itself (what lies beside it is found); else what was
/// kept.
Result<std::string> source_at(const std::string& folder, const std::string& path,
                              const std::string& digest, const std::string& kept,
                              const fs::path& stage) {
  const fs::path at = fs::path(path).is_absolute() ? fs::path(path) : fs::path(folder) / path;
  if (!digest.empty() && is_unchanged(at.string(), digest)) return at.string();
  if (kept.empty()) return fail(ErrorCode::not_found, "the store holds no source of " + path);
  const fs::path copy = stage / (at / "").parent_path().filename();
  if (kernel::work_files(kept).empty())
    FIEL_TRY_STATUS(write_file_atomic(copy, kept));
  else
    FIEL_TRY_STATUS(kernel::write_work_folder(kept, copy));
  return copy.string();
}

Arguments arguments_for(const store::RunHeader& run, const Json& verdict, const Arguments& own) {
  Arguments a = with_words({}, run.words);
  for (const char* flag : {"seed", "device", "protocol"})
    a.flags[fmt::format("--{}", flag)] = verdict[flag].as_string();
  a.flags["--numerics"] = verdict["numerics_policy"].as_string();
  if (const auto python = own.value("--python")) a.flags["--python"] = *python;
  return a;
}

struct Replay {
  judge::Witness then;
  std::string then_status;
  judge::Verdict again;
  bool alone = true;  ///< false: the whole judgement, since the call alone says nothing
  bool same() const {
    return judge::name_of(again.status) == then_status && again.witness &&
           again.witness->flat_index == then.flat_index && again.witness->probe == then.probe &&
           (format_double(again.witness->got) == format_double(then.got) ||
            again.witness->got == then.got);
  }
  /// Wrong again, if with another element or value: a race does not fail twice alike.
  bool reproduced() const {
    return judge::name_of(again.status) == then_status && again.witness.has_value();
  }
};

std::string value_of(const judge::Witness& w) {
  if (w.flat_index < 0) return w.note;
  return fmt::format("{} element {}: expected {}, got {}", w.output, w.flat_index,
                     format_double(w.expected), format_double(w.got));
}

Json to_json(const Replay& r) {
  Json j = Json::object();
  j["schema_version"] = judge::kSchemaVersion;
  j["alone"] = r.alone;
  j["same"] = r.same();
  j["reproduced"] = r.reproduced();
  j["then"] = Json::object({{"status", r.then_status},
                            {"expected", r.then.expected},
                            {"got", r.then.got},
                            {"flat_index", r.then.flat_index}});
  j["again"] = judge::to_json(r.again);
  return j;
}

std::string to_text(const Replay& r) {
  const judge::Witness& w = r.then;
  std::string text = fmt::format("{} at {}, input set {}, seed {}", judge::name_of(w.probe),
                                 w.shape_set, w.variant, w.seed);
  if (!w.weights.empty()) text += ", weights " + w.weights;
  text += fmt::format("\n  then:  {}  {}\n", r.then_status, value_of(w));
  const std::string now = r.again.witness ? value_of(*r.again.witness) : r.again.reason;
  text += fmt::format("  again: {}  {}\n", judge::name_of(r.again.status), now);
  const char* how = r.alone ? "the call alone, in a fresh process"
                            : "the whole judgement with its seed: the call needs those before it";
  const char* verdict = r.same()         ? "the same"
                        : r.reproduced() ? "wrong again, with other values"
                                         : "not reproduced";
  return text + fmt::format("  {} ({})\n", verdict, how);
}

Result<Replay> replay(const store::RunHeader& run, const store::Evidence& e,
                      const judge::Witness& witness, const Arguments& own, const Context& context) {
  FIEL_TRY(const TempDir stage, TempDir::create("fiel-replay"));
  JudgePair pair;
  FIEL_TRY(pair.task, source_at(run.folder, e.verdict["task_file"].as_string(), e.task_digest,
                                e.task_source, stage.path()));
  FIEL_TRY(pair.kernel, source_at(run.folder, e.verdict["kernel"].as_string(), e.kernel_digest,
                                  e.kernel_source, stage.path()));
  const Arguments arguments = arguments_for(run, e.verdict, own);
  FIEL_TRY(PairJudging judging, PairJudging::create(arguments, context));
  StatusLine line(context);
  const auto show = [&](const judge::Progress& p) { line.show(p.what, p.done, p.total); };
  Replay r;
  r.then = witness;
  r.then_status = e.verdict["status"].as_string();
  r.alone = judge::replayable(witness.probe) &&
            e.verdict["protocol"].as_string() == judge::name_of(judge::Protocol::strict);
  if (r.alone) {
    FIEL_TRY(r.again, judging.replay(pair, show, judge::call_of(witness)));
    r.alone = r.reproduced();
  }
  if (!r.alone) {
    FIEL_TRY(r.again, judging.judge(pair, show));
  }
  return r;
}

Result<int> run(const Arguments& arguments, const Context& context) {
  if (arguments.positional.empty() || arguments.positional.size() > 2)
    return fail(ErrorCode::usage, "'fiel replay' needs a run", "fiel replay last 3");
  FIEL_TRY(store::Store store, store::Store::open_existing({}));
  FIEL_TRY(const store::RunHeader header, store.find(arguments.positional.front()));
  FIEL_TRY(const store::RunRecord record, store.load(header, store::Detail::all));
  std::optional<std::string> word;
  if (arguments.positional.size() == 2) word = arguments.positional[1];
  FIEL_TRY(const store::Evidence* evidence, chosen(record, word));
  const auto witness = evidence == nullptr ? std::nullopt : judge::read_witness(evidence->verdict);
  if (!witness) {
    context.story("fiel: there is no witness to replay\n");
    return 5;
  }
  FIEL_TRY(const Replay r, replay(header, *evidence, *witness, arguments, context));
  if (arguments.has("--json")) {
    context.print_json(to_json(r));
  } else {
    context.print(to_text(r));
  }
  if (judge::exit_code_of(r.again) == 3) return 3;
  return r.reproduced() ? 0 : 1;
}

}  // namespace

Command replay_command() {
  return {
      {"replay",
       "RUN [VERDICT]",
       "the call that a kept verdict's witness names, once more",
       {{"--python", "FILE", "the Python that has PyTorch"}, kJsonFlag},
       "VERDICT is a number from 1 or the end of a kernel's path. Sources come from the store\n"
       "where the files have changed. A failure that needs earlier calls is shown by the whole\n"
       "judgement with its seed. Exit code 0: it is wrong again; 1: it is not."},
      run};
}

}  // namespace fiel::cli
