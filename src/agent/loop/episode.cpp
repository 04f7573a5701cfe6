#include "agent/loop/episode.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "agent/loop/prompt.h"
#include "agent/loop/text_calls.h"
#include "base/text.h"
#include "sandbox/process_tree.h"

namespace fiel::agent {
namespace {

constexpr uint32_t kMaxFormatErrors = 3;
/// Compactions in a row that led to no new kernel: more would only read the same files again.
constexpr uint32_t kMaxIdleCompactions = 6;
/// Refusals in a row of what was just made shorter.
constexpr uint32_t kMaxOverflows = 4;

size_t overhead_bytes(const EpisodeOptions& o) {
  size_t bytes = system_prompt(o.text_calls, o.native_calls).size();
  if (o.native_calls)
    for (const ToolSpec& s : Toolbox::specs())
      bytes += s.name.size() + s.description.size() + s.parameters.dump().size() + 50;
  return bytes;
}

/// The list as the agent wrote it last, of a run that is resumed.
std::string last_to_do(const Trajectory& trajectory) {
  std::string text;
  for (const Json& line : trajectory.lines())
    for (const Json& call : line["message"]["calls"].items())
      if (call["name"].as_string() == "todo") text = call["arguments"]["text"].as_string();
  return text;
}

ToolOptions with_time(ToolOptions options, std::function<int64_t()> left_ms) {
  options.left_ms = std::move(left_ms);
  return options;
}

Json optional_json(const std::optional<LedgerEntry>& entry) {
  return entry ? to_json(*entry) : Json();
}

}  // namespace

std::string_view name_of(ExitStatus status) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "submitted",         "final_answer",  "turn_limit",    "token_limit",
      "cost_limit",        "wall_limit",    "process_limit", "kernel_limit",
      "context_exhausted", "format_errors", "model_failed",  "interrupted"};
  return kNames[static_cast<size_t>(status)];
}

Json to_json(const EpisodeResult& r) {
  Json changed = Json::array();
  for (const std::string& name : r.changed_files) changed.push_back(name);
  Json j = Json::object({{"schema_version", 1},
                         {"exit_status", std::string(name_of(r.status))},
                         {"detail", r.detail},
                         {"turns", r.turns},
                         {"compactions", r.compactions},
                         {"scored", optional_json(r.scored)},
                         {"best", optional_json(r.best)},
                         {"best_judged_again", optional_json(r.best_again)},
                         {"changed_fixed_files", changed},
                         {"cost", r.cost}});
  if (!r.processes.empty()) j["processes"] = r.processes;
  return j;
}

void score(Desk& desk, EpisodeResult& r, bool judge_best_again) {
  const auto& entries = desk.ledger().entries();
  const auto submission = std::find_if(entries.rbegin(), entries.rend(),
                                       [](const LedgerEntry& e) { return e.verb == "submit"; });
  if (submission != entries.rend())
    r.scored = *submission;
  else if (!entries.empty())
    r.scored = entries.back();
  r.best = desk.ledger().best();
  if (r.best && judge_best_again) {
    const Feedback again = desk.judge_again(r.best->kernel);
    // Nothing where the judge itself could not.
    if (!again.entry.status.empty()) r.best_again = again.entry;
  }
  r.changed_files = desk.changed_files();
}

Episode::Episode(const Workspace& workspace, Desk& desk, Model& model, EpisodeOptions options)
    : workspace_(workspace),
      desk_(desk),
      model_(model),
      options_(std::move(options)),
      tools_(workspace, desk, with_time(options_.tools, [this] { return left_ms(); })),
      conversation_(user_message(first_prompt(workspace)), options_.context_tokens,
                    options_.max_output_tokens, overhead_bytes(options_)),
      cost_(options_.prices) {
  if (!options_.now_ms) options_.now_ms = [] { return sandbox::now_ms(); };
}

Status Episode::open() {
  FIEL_TRY(trajectory_, Trajectory::open(workspace_.trajectory()));
  if (!trajectory_.begun()) {
    Json about = options_.about;
    about["model"] = model_.name();
    FIEL_TRY_STATUS(trajectory_.begin(std::move(about)));
    return trajectory_.add_message(0, conversation_.messages().front());
  }
  if (trajectory_.ended())
    return fail(ErrorCode::usage, "this run has ended", "begin anew in another workspace");
  FIEL_TRY(std::vector<Message> messages, trajectory_.messages());
  if (!messages.empty()) conversation_.restore(std::move(messages));
  turn_ = trajectory_.turns();
  elapsed_before_ms_ = trajectory_.elapsed_ms();
  cost_.restore(trajectory_.last_cost());
  tools_.set_to_do(last_to_do(trajectory_));
  // What was being done when the run was killed: nobody knows how far it came.
  for (const ToolCall& call : conversation_.open_calls())
    FIEL_TRY_STATUS(add(tool_message(call.id, "interrupted: no result was kept", true)));
  return {};
}

Status Episode::add(Message message) {
  FIEL_TRY_STATUS(
      trajectory_.add_message(turn_, message, Json::object({{"elapsed_ms", elapsed_ms()}})));
  conversation_.add(std::move(message));
  return {};
}

ChatRequest Episode::request() const {
  ChatRequest q;
  q.system = system_prompt(options_.text_calls, options_.native_calls);
  q.messages = conversation_.messages();
  if (options_.native_calls) q.tools = Toolbox::specs();
  q.max_output_tokens = static_cast<uint32_t>(std::min<int64_t>(
      options_.max_output_tokens, std::max<int64_t>(256, options_.context_tokens / 4)));
  if (options_.max_wall_ms > 0) q.timeout_ms = std::max<int64_t>(1, left_ms());
  return q;
}

int64_t Episode::elapsed_ms() const { return elapsed_before_ms_ + options_.now_ms() - begun_ms_; }

int64_t Episode::left_ms() const {
  if (options_.max_wall_ms <= 0) return std::numeric_limits<int64_t>::max();
  return options_.max_wall_ms - elapsed_ms();
}

Episode::Ended Episode::over_budget() const {
  if (options_.interrupted && options_.interrupted()) return ExitStatus::interrupted;
  if (turn_ >= options_.max_turns) return ExitStatus::turn_limit;
  if (options_.max_tokens > 0 && cost_.tokens() >= options_.max_tokens)
    return ExitStatus::token_limit;
  if (options_.max_cost > 0 && cost_.money().value_or(0) >= options_.max_cost)
    return ExitStatus::cost_limit;
  if (left_ms() <= 0) return ExitStatus::wall_limit;
  if (desk_.left() == 0) return ExitStatus::kernel_limit;
  return {};
}

Message Episode::summary() const {
  return user_message(
      summary_prompt(workspace_, desk_, tools_.to_do(), conversation_.summary_bytes()));
}

Episode::Ended Episode::shorten() {
  ++compactions_;
  if (++idle_compactions_ > kMaxIdleCompactions) {
    detail_ = fmt::format("{} compactions without a new kernel", kMaxIdleCompactions);
    return ExitStatus::context_exhausted;
  }
  const Message text = summary();
  const int64_t kept = conversation_.compact(text);
  if (kept < 0) {
    detail_ = "the summary alone is too long for the model";
    return ExitStatus::context_exhausted;
  }
  if (const auto written = trajectory_.add_compaction(text, kept); !written) {
    detail_ = to_string(written.error());
    return ExitStatus::model_failed;
  }
  return {};
}

Result<Episode::Ended> Episode::failed(const ModelFailure& f) {
  detail_ = fmt::format("{}: {}", name_of(f.kind), f.message);
  if (f.kind == FailureKind::interrupted) return Ended(ExitStatus::interrupted);
  if (f.kind == FailureKind::out_of_time) return Ended(ExitStatus::wall_limit);
  if (f.kind != FailureKind::context_overflow) return Ended(ExitStatus::model_failed);
  if (++overflows_ > kMaxOverflows) return Ended(ExitStatus::context_exhausted);
  conversation_.learn_overflow();
  return shorten();
}

Result<Episode::Ended> Episode::answer_without_calls(const Message& message) {
  detail_ = printable(message.text, 300);
  if (++hints_ > 1) return Ended(ExitStatus::final_answer);
  FIEL_TRY_STATUS(add(user_message(kTextCallHint)));
  return Ended();
}

ToolResult Episode::call(const ToolCall& call) {
  ToolResult r = tools_.call(call);
  const bool changes = call.name == "write" || call.name == "edit" || call.name == "verify" ||
                       call.name == "bench" || call.name == "submit";
  if (changes && !r.failed) idle_compactions_ = 0;
  if (options_.on_step)
    options_.on_step(turn_, fmt::format("{}: {}", printable(call.name, 40),
                                        printable(split(r.text, '\n')[0], 100)));
  return r;
}

Result<Episode::Ended> Episode::carry_out(const std::vector<ToolCall>& calls, bool native) {
  bool fits = true, submitted = false;
  std::string results;
  for (const ToolCall& c : calls) {
    ToolResult r = submitted ? refused("the work has been submitted") : call(c);
    fits &= !r.bad_schema;
    submitted |= r.submitted;
    if (native)
      FIEL_TRY_STATUS(add(tool_message(c.id, std::move(r.text), r.failed)));
    else
      results += fmt::format("Result of {}:\n{}\n\n", printable(c.name, 40), r.text);
  }
  // A call in the text has no id that a result could name.
  if (!native) FIEL_TRY_STATUS(add(user_message(std::move(results))));
  hints_ = 0;
  format_errors_ = fits ? 0 : format_errors_ + 1;
  if (submitted) return Ended(ExitStatus::submitted);
  if (format_errors_ >= kMaxFormatErrors) return Ended(ExitStatus::format_errors);
  return Ended();
}

Result<Episode::Ended> Episode::turn() {
  if (const Ended over = over_budget()) return over;
  if (conversation_.needs_compaction())
    if (const Ended ended = shorten()) return ended;
  Completion c = model_.complete(request());
  if (!c) return failed(c.error());
  overflows_ = 0;
  ++turn_;
  if (c->usage.known) conversation_.learn_tokens(c->usage.input_tokens);
  cost_.add(c->usage);
  // Calls in the text count only where there are no native ones: never both of one message.
  std::vector<ToolCall> in_text;
  if (c->message.calls.empty() && options_.text_calls)
    in_text = text_calls(c->message.text, Toolbox::specs(), fmt::format("text_{}_", turn_));
  FIEL_TRY_STATUS(trajectory_.add_reply(turn_, *c, cost_.to_json(), elapsed_ms()));
  conversation_.add(c->message);
  if (!in_text.empty()) return carry_out(in_text, false);
  if (c->message.calls.empty()) return answer_without_calls(c->message);
  return carry_out(c->message.calls, true);
}

EpisodeResult Episode::finish(ExitStatus status) {
  EpisodeResult r;
  r.status = status;
  r.detail = detail_;
  r.turns = turn_;
  r.compactions = compactions_;
  r.cost = cost_.to_json();
  // The score is not the agent's time.
  desk_.bound_time({});
  score(desk_, r, options_.judge_best_again && status != ExitStatus::interrupted);
  return r;
}

/// An interrupted run can go on, and one whose endpoint failed, once that is back; all others are
/// over.
Status Episode::close(const EpisodeResult& r) {
  const std::string name(name_of(r.status));
  if (r.status == ExitStatus::interrupted || r.status == ExitStatus::model_failed)
    return trajectory_.pause(name, elapsed_ms());
  return trajectory_.end(name, to_json(r));
}

Result<EpisodeResult> Episode::run() {
  begun_ms_ = options_.now_ms();
  desk_.bound_time([this] { return left_ms(); });
  FIEL_TRY_STATUS(open());
  Ended ended;
  while (!ended) {
    FIEL_TRY(ended, turn());
  }
  const EpisodeResult r = finish(*ended);
  FIEL_TRY_STATUS(close(r));
  return r;
}

}  // namespace fiel::agent
