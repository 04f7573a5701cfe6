#include "agent/model/replay.h"

#include <fmt/core.h>

#include <array>

#include "agent/append_line.h"
#include "base/files.h"
#include "base/text.h"

namespace fiel::agent {
namespace {

constexpr std::array<std::string_view, 10> kEnds = {
    "complete",  "stopped",   "unreachable", "cut",       "stalled",
    "timed_out", "too_large", "interrupted", "no_client", "replay"};

HttpOutcome outcome_of(const std::string& name) {
  for (size_t i = 0; i < kEnds.size(); ++i)
    if (kEnds[i] == name) return static_cast<HttpOutcome>(i);
  return HttpOutcome::complete;
}

}  // namespace

HttpEnd RecordingTransport::post(const HttpRequest& request, const HttpSink& sink) {
  Json headers = Json::object();
  int status = 0;
  std::string body;
  const HttpSink both{[&](const HttpHead& head) {
                        status = head.status;
                        for (const char* name : {"content-type", "retry-after", "retry-after-ms"})
                          if (const auto value = head.value(name); !value.empty())
                            headers[name] = value;
                        sink.head(head);
                      },
                      [&](std::string_view bytes) {
                        body += bytes;
                        return sink.body(bytes);
                      }};
  const HttpEnd end = inner_.post(request, both);
  const Json line = Json::object(
      {{"request", Json::object({{"url", request.url}, {"body", key_.redact(request.body)}})},
       {"response", Json::object({{"status", status},
                                  {"headers", headers},
                                  {"body", key_.redact(std::move(body))},
                                  {"end", std::string(kEnds[static_cast<size_t>(end.outcome)])},
                                  {"message", key_.redact(end.message)}})}});
  if (const auto kept = append_line(file_, line.dump()); !kept)
    return {HttpOutcome::replay, to_string(kept.error())};
  return end;
}

Result<ReplayTransport> ReplayTransport::open(const std::filesystem::path& file) {
  FIEL_TRY(const std::string text, read_file(file, 1ull << 30));
  std::vector<Json> exchanges;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto json = Json::parse(line, {.max_bytes = 256u << 20, .max_depth = 64});
    if (!json || !(*json)["response"].is_object())
      return fail(ErrorCode::parse,
                  fmt::format("{}:{}: no exchange with a model", file.string(), number));
    exchanges.push_back(std::move(*json));
  }
  return ReplayTransport(std::move(exchanges));
}

/// Asked the same again, the model had no use for what came: a broken stream has status 200, too.
bool ReplayTransport::is_answer(size_t exchange) const {
  const Json& now = exchanges_[exchange];
  const int64_t status = now["response"]["status"].as_int();
  if (status < 200 || status > 299) return false;
  if (exchange + 1 == exchanges_.size() || !now["request"].is_object()) return true;
  return now["request"]["body"] != exchanges_[exchange + 1]["request"]["body"];
}

std::vector<ReplayTransport::Refusal> ReplayTransport::skip(size_t answers) {
  std::vector<Refusal> refusals;
  if (answers == 0) return refusals;
  for (; next_ < exchanges_.size(); ++next_) {
    if (is_answer(next_)) {
      if (answers-- == 0) break;
      continue;
    }
    const Json& response = exchanges_[next_]["response"];
    if (const auto status = static_cast<int>(response["status"].as_int()); status >= 400)
      refusals.push_back({status, response["body"].as_string()});
  }
  return refusals;
}

HttpEnd ReplayTransport::post(const HttpRequest& request, const HttpSink& sink) {
  if (next_ == exchanges_.size())
    return {HttpOutcome::replay,
            fmt::format("the recording ends after {} requests", exchanges_.size())};
  const Json& exchange = exchanges_[next_++];
  if (const Json* recorded = exchange.find("request");
      recorded != nullptr && (*recorded)["body"].as_string() != request.body)
    return {HttpOutcome::replay, fmt::format("request {} is not the recorded one", next_)};
  const Json& response = exchange["response"];
  if (const auto status = static_cast<int>(response["status"].as_int()); status != 0) {
    HttpHead head{status, {}};
    for (const auto& [name, value] : response["headers"].members())
      head.headers.push_back({name, value.as_string()});
    sink.head(head);
    const std::string& body = response["body"].as_string();
    if (!body.empty() && !sink.body(body)) return {HttpOutcome::stopped, ""};
  }
  return {outcome_of(response["end"].as_string()), response["message"].as_string()};
}

}  // namespace fiel::agent
