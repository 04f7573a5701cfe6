#include "cli/model_flags.h"

#include <fmt/core.h>

#include "base/text.h"

namespace fiel::cli {
namespace {

Result<agent::Endpoint> endpoint_of(const Arguments& arguments) {
  FIEL_TRY(const std::string api,
           word_value(arguments, "--api", {"chat", "responses", "anthropic"}, "chat"));
  FIEL_TRY(const std::string echo,
           word_value(arguments, "--reasoning", {"learned", "always", "never"}, "learned"));
  const auto replayed = arguments.has("--replay");
  FIEL_TRY(agent::Endpoint e,
           agent::Endpoint::from_environment(
               api == "chat"        ? agent::Api::chat
               : api == "responses" ? agent::Api::responses
                                    : agent::Api::anthropic,
               replayed ? "http://replay/v1" : arguments.value("--base-url").value_or(""),
               arguments.value("--model").value_or("")));
  e.echo = echo == "always"  ? agent::ReasoningEcho::always
           : echo == "never" ? agent::ReasoningEcho::never
                             : agent::ReasoningEcho::learned;
  e.settings.effort = arguments.value("--effort").value_or("");
  FIEL_TRY(const uint64_t thinking, unsigned_value(arguments, "--thinking", 0, 1'000'000));
  e.settings.thinking_tokens = static_cast<uint32_t>(thinking);
  e.settings.want_token_ids = arguments.has("--token-ids");
  if (arguments.has("--temperature")) {
    FIEL_TRY(e.settings.temperature, number_value(arguments, "--temperature", 1));
  }
  return e;
}

}  // namespace

Result<double> number_value(const Arguments& arguments, std::string_view flag, double fallback) {
  const auto word = arguments.value(flag);
  if (!word) return fallback;
  const auto json = Json::parse(*word);
  if (!json || !json->is_number() || !(json->as_double() >= 0))
    return fail(ErrorCode::usage,
                fmt::format("{} needs a number, not '{}'", flag, printable(*word, 60)));
  return json->as_double();
}

Result<std::unique_ptr<ChosenModel>> model_of(const Arguments& arguments, const Context& context) {
  auto p = std::make_unique<ChosenModel>();
  if (const auto script = arguments.value("--script")) {
    FIEL_TRY(agent::ScriptedModel model, agent::ScriptedModel::open(*script));
    auto owned = std::make_unique<agent::ScriptedModel>(std::move(model));
    p->script = owned.get();
    p->model = std::move(owned);
    return p;
  }
  if (!arguments.has("--model"))
    return fail(ErrorCode::usage, "a language model is needed",
                "--model NAME, with --base-url for a server of your own");
  FIEL_TRY(const agent::Endpoint endpoint, endpoint_of(arguments));
  if (const auto file = arguments.value("--replay")) {
    FIEL_TRY(agent::ReplayTransport replay, agent::ReplayTransport::open(*file));
    auto owned = std::make_unique<agent::ReplayTransport>(std::move(replay));
    p->replay = owned.get();
    p->transport = std::move(owned);
  } else if (const auto record = arguments.value("--record")) {
    p->transport = std::make_unique<agent::RecordingTransport>(p->curl, *record, endpoint.key);
  }
  auto model = std::make_unique<agent::HttpModel>(
      endpoint, p->transport ? *p->transport : static_cast<agent::HttpTransport&>(p->curl));
  model->interrupted = context.interrupted;
  model->on_retry = [&context](const agent::ModelFailure& f, int64_t wait_ms) {
    context.story(fmt::format("model: {}: {}; again in {:.0f} s\n", name_of(f.kind),
                              printable(f.message, 200), static_cast<double>(wait_ms) / 1000));
  };
  p->http = model.get();
  p->model = std::move(model);
  return p;
}

void ChosenModel::skip(size_t answers) {
  if (script != nullptr) script->skip(answers);
  if (replay == nullptr) return;
  for (const auto& [status, body] : replay->skip(answers)) http->relearn(status, body);
}

std::vector<Flag> model_flags() {
  return {{"--model", "NAME", "as the endpoint calls it"},
          {"--api", "NAME", "chat (default), responses, anthropic"},
          {"--base-url", "URL", "of the endpoint; else OPENAI_BASE_URL, ANTHROPIC_BASE_URL"},
          {"--prices", "IN,CACHED,OUT", "per million tokens"},
          {"--output", "TOKENS", "of one reply (16384)"},
          {"--reasoning", "NAME", "sent back to the server: learned (default), always, never"},
          {"--effort", "NAME", "of reasoning: low, medium, high"},
          {"--thinking", "TOKENS", "Anthropic's budget of thinking (0)"},
          {"--temperature", "T", "of sampling"},
          {"--token-ids", "", "ask for token ids and log-probabilities, for training"},
          {"--record", "FILE", "keep every exchange with the model"},
          {"--replay", "FILE", "answer from such a recording"},
          {"--script", "FILE", "a scripted model: its answers, one JSON line each"}};
}

}  // namespace fiel::cli
