#include "search/kernel_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "agent/workspace/feedback.h"
#include "agent/workspace/kernel_text.h"
#include "base/files.h"
#include "base/text.h"

namespace fiel::search {
namespace {

constexpr double kSectorBytes = 32;
constexpr size_t kMaxCauses = 6;

Result<ProcessResult> this_program(const std::vector<std::string>& words, int64_t timeout_ms) {
  ProcessRequest q{.arguments = {executable_path().string()},
                   .timeout_ms = timeout_ms,
                   .max_output_bytes = 64u << 20};
  q.arguments.insert(q.arguments.end(), words.begin(), words.end());
  return run_process(q);
}

double counted_work(const Json& launch) {
  const Json& total = launch["total"];
  double sectors = 0;
  for (const char* kind : {"global_loads", "global_stores", "atomics", "local_memory"})
    sectors += total[kind]["sectors"].as_double();
  // Shared memory moves a wavefront of 128 bytes a cycle; what exceeds one a request is conflict.
  const double instructions = total["warp_instructions"].as_double() +
                              total["shared_loads"]["wavefronts"].as_double() +
                              total["shared_stores"]["wavefronts"].as_double();
  return launch["times"].as_double(1) *
         (sectors * kSectorBytes + instructions * kBytesPerWarpInstruction);
}

}  // namespace

double stand_in_of(const Json& profiles) {
  double logarithms = 0;
  size_t shapes = 0;
  for (const Json& p : profiles["profiles"].items()) {
    double work = 0;
    for (const Json& launch : p["launches"].items()) work += counted_work(launch);
    const double least = p["task_bytes_compulsory"].as_double();
    if (!(work > 0) || !(least > 0)) continue;
    logarithms += std::log(least / work);
    ++shapes;
  }
  return shapes == 0 ? 0 : std::exp(logarithms / static_cast<double>(shapes));
}

FielJudge::FielJudge(FielJudgeOptions options) : options_(std::move(options)) {
  if (!options_.fiel) options_.fiel = this_program;
}

void FielJudge::add_stand_in(const std::string& kernel_path, Outcome& o) const {
  // The limit of a call is wall-clock time, and the machine may be busy.
  const auto ran = options_.fiel(
      {"profile", options_.task, kernel_path, "--json", "--timeout", "600"}, options_.timeout_ms);
  const auto document = ran && ran->ok() ? Json::parse(ran->out) : Result<Json>(Json());
  if (!document || document->is_null()) {
    o.feedback += "there is no profile of it: " +
                  agent::bounded_lines(ran ? ran->err : to_string(ran.error()), 2, 400) + "\n";
    return;
  }
  o.score = stand_in_of(*document);
  if (o.score > 0) o.measure = Measure::stand_in;
  std::string text;
  for (const Json& p : (*document)["profiles"].items())
    for (const Json& cause : p["causes"].items()) {
      if (o.causes.size() == kMaxCauses) break;
      const std::string& code = cause["code"].as_string();
      if (std::find(o.causes.begin(), o.causes.end(), code) != o.causes.end()) continue;
      o.causes.push_back(code);
      text += fmt::format("likely cause of slowness: {} ({})\n", cause["text"].as_string(),
                          cause["where"].as_string());
    }
  o.feedback += agent::bounded_lines(text, kMaxCauses, 2000);
}

agent::KernelForm FielJudge::form_of(const std::string& source) const {
  return is_torch() ? agent::form_of(source, options_.form) : agent::KernelForm::cu;
}

std::string FielJudge::refusal(const std::string& source) const {
  if (!is_torch()) return "";
  const Status runs = agent::runs_on(form_of(source), options_.device);
  return runs ? "" : runs.error().what;
}

Result<Outcome> FielJudge::judge(const std::string& source) {
  FIEL_TRY(const TempDir folder, TempDir::create("fiel-search"));
  const std::string path = (folder.path() / agent::file_name_of(form_of(source))).string();
  FIEL_TRY_STATUS(write_file_atomic(path, source));
  std::vector<std::string> words = {"judge",      options_.task, path,           "--json",
                                    "--no-store", "--budget",    options_.budget};
  if (!options_.device.empty()) words.insert(words.end(), {"--device", options_.device});
  if (!options_.python.empty()) words.insert(words.end(), {"--python", options_.python});
  words.insert(words.end(), options_.more.begin(), options_.more.end());
  const auto begun = std::chrono::steady_clock::now();
  FIEL_TRY(const ProcessResult ran, options_.fiel(words, options_.timeout_ms));
  if (ran.timed_out)
    return fail(ErrorCode::timeout, "the judge did not come to an end in its time");
  const auto document = Json::parse(ran.out);
  if (!document || !(*document)["status"].is_string())
    return fail(ErrorCode::environment,
                "the judge could not judge: " + printable(trim(ran.err), 600));
  if (ran.exit_code == 3 && (*document)["unsupported_by"].as_string() != "kernel" &&
      (*document)["status"].as_string() == "harness_fault")
    return fail(ErrorCode::environment,
                "the judge could not judge: " + printable((*document)["reason"].as_string(), 600));
  const agent::Feedback f = agent::feedback_of(*document, options_.visible_shapes);
  Outcome o;
  o.status = f.entry.status;
  o.reason = f.entry.reason;
  o.feedback = f.text;
  o.speed = f.entry.speed;
  o.verdict = *document;
  if (f.entry.ratio > 0) {
    o.measure = Measure::speed_up;
    o.score = f.entry.ratio;
    o.score_low = f.entry.ratio_low;
  }
  if (o.correct() && !on_a_gpu() && !is_torch()) add_stand_in(path, o);
  o.judge_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now() - begun)
                   .count();
  return o;
}

}  // namespace fiel::search
