#include "agent/model/http_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "agent/model/failure.h"
#include "base/text.h"
#include "sandbox/process_tree.h"

namespace fiel::agent {
namespace {

constexpr size_t kMaxErrorBytes = 1u << 20;
/// Options that one request may turn out to be refused for.
constexpr uint32_t kMaxLearned = 4;

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : std::string(trim(value));
}

bool has_reasoning(const ChatRequest& request) {
  return std::any_of(request.messages.begin(), request.messages.end(),
                     [](const Message& m) { return !m.reasoning.empty(); });
}

/// Hands the body of one answer to the reader, in the form in which it comes.
class Answer {
 public:
  Answer(ReplyReader& reader, const std::function<int64_t()>& now)
      : reader_(reader), now_(now), events_([&](const SseEvent& e) { return reader_.event(e); }) {}

  HttpSink sink() {
    return {[this](const HttpHead& head) { begin(head); },
            [this](std::string_view bytes) { return body(bytes); }};
  }

  Completion end(const HttpEnd& end) {
    if (end.outcome != HttpOutcome::complete && end.outcome != HttpOutcome::stopped &&
        end.outcome != HttpOutcome::cut)
      return tl::unexpected(classify(end));
    if (status_ == 0) return tl::unexpected(classify(end));
    if (status_ < 200 || status_ > 299) return tl::unexpected(refusal());
    if (streams_) {
      events_.finish();
      if (events_.too_long())
        return tl::unexpected(
            ModelFailure{FailureKind::too_large, "an event is longer than 16 MiB", status_, -1});
      return reader_.finish();
    }
    const auto json = Json::parse(text_);
    if (end.outcome == HttpOutcome::cut) return tl::unexpected(classify(end));
    if (!json || !json->is_object())
      return tl::unexpected(
          ModelFailure{FailureKind::malformed, "the answer is no JSON object", status_, -1});
    reader_.document(*json);
    return reader_.finish();
  }

 private:
  void begin(const HttpHead& head) {
    status_ = head.status;
    streams_ = head.value("content-type").find("event-stream") != std::string_view::npos;
    retry_after_ms_ = parse_retry_after(head.value("retry-after"), now_());
    if (const auto ms = head.value("retry-after-ms"); !ms.empty())
      retry_after_ms_ = static_cast<int64_t>(std::strtoll(std::string(ms).c_str(), nullptr, 10));
  }
  bool body(std::string_view bytes) {
    if (status_ >= 200 && status_ <= 299 && streams_) return events_.take(bytes);
    text_ += bytes;
    return status_ < 300 || text_.size() < kMaxErrorBytes;
  }
  ModelFailure refusal() const {
    ModelFailure f = classify(status_, text_);
    f.retry_after_ms = retry_after_ms_;
    return f;
  }

  ReplyReader& reader_;
  const std::function<int64_t()>& now_;
  SseReader events_;
  std::string text_;
  int status_ = 0;
  bool streams_ = false;
  int64_t retry_after_ms_ = -1;
};

}  // namespace

Result<Endpoint> Endpoint::from_environment(Api api, const std::string& base_url,
                                            const std::string& model) {
  const bool anthropic = api == Api::anthropic;
  Endpoint e;
  e.api = api;
  e.settings.model = model;
  e.base_url = base_url;
  if (e.base_url.empty())
    e.base_url = environment_value(anthropic ? "ANTHROPIC_BASE_URL" : "OPENAI_BASE_URL");
  const bool vendors_own = e.base_url.empty();
  if (vendors_own)
    e.base_url = anthropic ? "https://api.anthropic.com/v1" : "https://api.openai.com/v1";
  while (e.base_url.ends_with('/')) e.base_url.pop_back();
  if (!e.base_url.starts_with("http://") && !e.base_url.starts_with("https://"))
    return fail(ErrorCode::usage,
                fmt::format("'{}' is no address of a model", printable(e.base_url, 200)),
                "for example http://localhost:8000/v1");
  const char* name = anthropic ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
  e.key = Secret(environment_value(name));
  if (e.key.empty() && vendors_own)
    return fail(ErrorCode::usage, fmt::format("there is no key for {}", e.base_url),
                fmt::format("put it into the environment as {}", name));
  return e;
}

HttpModel::HttpModel(Endpoint endpoint, HttpTransport& transport, RetryPolicy policy)
    : now_unix_ms([] {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
      }),
      now_ms(sandbox::now_ms),
      endpoint_(std::move(endpoint)),
      transport_(transport),
      policy_(policy),
      wire_(make_wire(endpoint_.api)) {
  if (endpoint_.echo == ReasoningEcho::never) endpoint_.settings.quirks.reasoning_back = false;
}

Completion HttpModel::attempt(const ChatRequest& request, int64_t left_ms) {
  HttpRequest http;
  http.url = endpoint_.base_url + wire_->path();
  http.headers = wire_->headers();
  http.secret_header = wire_->secret_header(endpoint_.key);
  http.body = wire_->body(request, endpoint_.settings).dump();
  http.idle_timeout_ms = policy_.idle_timeout_ms;
  http.total_timeout_ms = std::min(policy_.total_timeout_ms, left_ms);
  http.interrupted = interrupted;
  const auto reader = wire_->reader(fmt::format("call_{}_", request.messages.size()));
  Answer answer(*reader, now_unix_ms);
  const HttpEnd end = transport_.post(http, answer.sink());
  Completion c = answer.end(end);
  if (!c) c.error().message = endpoint_.key.redact(std::move(c.error().message));
  return c;
}

int64_t HttpModel::wait_for(const ModelFailure& failure, uint32_t attempt) const {
  if (!is_transient(failure.kind) || attempt + 1 >= policy_.attempts) return -1;
  if (failure.retry_after_ms > policy_.longest_wait_ms) return -1;
  if (failure.retry_after_ms >= 0) return failure.retry_after_ms;
  return std::min(policy_.first_wait_ms << std::min(attempt, 20u), policy_.longest_wait_ms);
}

void HttpModel::wait(int64_t ms) const {
  if (sleep) return sleep(ms);
  for (int64_t done = 0; done < ms && !(interrupted && interrupted()); done += 100)
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<int64_t>(100, ms - done)));
}

void HttpModel::relearn(int status, std::string_view body) {
  const bool of_reasoning = body.find("reasoning") != std::string_view::npos;
  Quirks& quirks = endpoint_.settings.quirks;
  if (const auto other = learn(quirks, classify(status, body), endpoint_.echo, of_reasoning))
    quirks = *other;
}

Completion HttpModel::complete(const ChatRequest& request) {
  const bool reasoning_before = endpoint_.settings.quirks.reasoning_back;
  Quirks& quirks = endpoint_.settings.quirks;
  uint32_t learned = 0;
  const int64_t begun_ms = now_ms();
  const auto left_ms = [&] {
    if (request.timeout_ms <= 0) return std::numeric_limits<int64_t>::max();
    return request.timeout_ms - (now_ms() - begun_ms);
  };
  for (uint32_t n = 0;;) {
    Completion c = attempt(request, std::max<int64_t>(1, left_ms()));
    if (c) return c;
    const bool reasoning_tried = quirks.reasoning_back != reasoning_before;
    const auto other =
        learn(quirks, c.error(), endpoint_.echo, has_reasoning(request) && !reasoning_tried);
    if (other && learned++ < kMaxLearned) {
      quirks = *other;
      continue;
    }
    // The other way was no better.
    if (c.error().kind == FailureKind::rejected) quirks.reasoning_back = reasoning_before;
    const int64_t ms = wait_for(c.error(), n++);
    if (ms < 0) return c;
    if (ms >= left_ms())
      return tl::unexpected(ModelFailure{FailureKind::out_of_time, c.error().message, 0, -1});
    if (on_retry) on_retry(c.error(), ms);
    wait(ms);
    if (interrupted && interrupted())
      return tl::unexpected(ModelFailure{FailureKind::interrupted, "interrupted", 0, -1});
  }
}

}  // namespace fiel::agent
