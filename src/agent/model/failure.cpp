#include "agent/model/failure.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace fiel::agent {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool has_any(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return text.find(w) != std::string::npos; });
}

/// The vendors' words for a prompt that is too long.
bool speaks_of_context(const std::string& text) {
  return has_any(text, {"context_length_exceeded", "prompt is too long", "maximum context length",
                        "context length exceeded", "exceeds the context", "context window",
                        "input is too long", "exceeds the available context", "too many tokens",
                        "maximum number of tokens", "request_too_large", "string_above_max_length",
                        "exceed context limit", "exceeds max context"});
}

/// {"error": {"message": …, "code": …}}, {"error": "…"}, {"message": …} or any text.
std::string words_of(std::string_view body) {
  const auto json = Json::parse(body, {.max_bytes = 1u << 20, .max_depth = 16});
  if (!json || !json->is_object()) return printable(trim(body), 600);
  const Json& error = (*json)["error"];
  std::string words = error.is_string() ? error.as_string() : error["message"].as_string();
  if (words.empty()) words = (*json)["message"].as_string();
  if (words.empty()) words = (*json)["detail"].is_string() ? (*json)["detail"].as_string() : "";
  for (const char* key : {"code", "type"})
    if (error[key].is_string()) words += fmt::format(" ({})", error[key].as_string());
  if (words.empty()) words = std::string(trim(body));
  return printable(words, 600);
}

FailureKind kind_of(int status, const std::string& text) {
  if (status == 413 || speaks_of_context(text)) return FailureKind::context_overflow;
  if (has_any(text, {"insufficient_quota", "credit balance", "billing"})) return FailureKind::quota;
  if (status == 401 || status == 403) return FailureKind::unauthorized;
  if (status == 429) return FailureKind::rate_limited;
  if (status == 408 || status == 425 || status >= 500) return FailureKind::server;
  // Inside a stream there is no status.
  if (status == 0) {
    if (has_any(text, {"rate_limit", "rate limit"})) return FailureKind::rate_limited;
    if (has_any(text, {"overloaded", "server_error", "api_error", "internal", "timeout"}))
      return FailureKind::server;
  }
  return FailureKind::rejected;
}

}  // namespace

ModelFailure classify(int status, std::string_view body) {
  ModelFailure f;
  f.status = status;
  f.message = words_of(body);
  f.kind = kind_of(status, lower(f.message));
  if (status >= 300 && status < 400) {
    f.kind = FailureKind::rejected;
    f.message = "the server redirects elsewhere, where the key does not go: name that address";
  }
  return f;
}

ModelFailure classify(const HttpEnd& end) {
  FailureKind kind = FailureKind::cut;
  switch (end.outcome) {
    case HttpOutcome::unreachable:
      kind = FailureKind::unreachable;
      break;
    case HttpOutcome::stalled:
      kind = FailureKind::stalled;
      break;
    case HttpOutcome::timed_out:
      kind = FailureKind::timed_out;
      break;
    case HttpOutcome::too_large:
      kind = FailureKind::too_large;
      break;
    case HttpOutcome::interrupted:
      kind = FailureKind::interrupted;
      break;
    case HttpOutcome::replay:
      kind = FailureKind::replay;
      break;
    case HttpOutcome::no_client:
      kind = FailureKind::rejected;
      break;
    default:
      break;
  }
  return {kind, end.message, 0, -1};
}

int64_t parse_retry_after(std::string_view value, int64_t now_unix_ms) {
  value = trim(value);
  if (value.empty()) return -1;
  double seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc() && end == value.data() + value.size()) {
    if (!(seconds >= 0)) return -1;
    return static_cast<int64_t>(std::min(seconds, 1e6) * 1000);
  }
  struct tm when = {};
  // "Wed, 21 Oct 2026 07:28:00 GMT"
  if (strptime(std::string(value).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &when) == nullptr)
    return -1;
  return std::max<int64_t>(0, static_cast<int64_t>(timegm(&when)) * 1000 - now_unix_ms);
}

std::optional<Quirks> learn(const Quirks& quirks, const ModelFailure& failure, ReasoningEcho echo,
                            bool has_reasoning) {
  if (failure.kind != FailureKind::rejected || failure.status < 400 || failure.status > 422)
    return {};
  const std::string text = lower(failure.message);
  Quirks next = quirks;
  if (text.find("max_completion_tokens") != std::string::npos)
    next.max_completion_tokens = !quirks.max_completion_tokens;
  else if (text.find("stream_options") != std::string::npos)
    next.stream_usage = false;
  else if (has_any(text, {"return_token_ids", "logprobs"}))
    next.token_ids = false;
  else if (text.find("temperature") != std::string::npos)
    next.temperature = false;
  else if (has_reasoning && echo == ReasoningEcho::learned)
    next.reasoning_back = !quirks.reasoning_back;
  if (next == quirks) return {};
  return next;
}

}  // namespace fiel::agent
