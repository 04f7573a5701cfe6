// A model behind an HTTP endpoint: writes requests, reads answers, waits and tries again.
//
//   FIEL_TRY(Endpoint endpoint, Endpoint::from_environment(Api::chat, "", "gpt-5"));
//   CurlTransport transport;
//   HttpModel model(endpoint, transport);
//   Completion c = model.complete(request);
//
// An answer counts whole or not at all: a stream that breaks is asked for again. What a server
// refuses with status 400 (an option it does not know, reasoning text it does or does not want) is
// tried once the other way and remembered.
#pragma once

#include <functional>
#include <memory>

#include "agent/model/http.h"
#include "agent/model/message.h"
#include "agent/model/wire.h"

namespace fiel::agent {

struct Endpoint {
  Api api = Api::chat;
  std::string base_url;  ///< "https://api.openai.com/v1"
  Secret key;
  WireSettings settings;
  ReasoningEcho echo = ReasoningEcho::learned;

  /// The key comes from OPENAI_API_KEY or ANTHROPIC_API_KEY, the address from OPENAI_BASE_URL or
  /// ANTHROPIC_BASE_URL unless `base_url` names it. Read once, here.
  static Result<Endpoint> from_environment(Api api, const std::string& base_url,
                                           const std::string& model);
};

struct RetryPolicy {
  uint32_t attempts = 6;
  int64_t first_wait_ms = 1000;       ///< then doubled
  int64_t longest_wait_ms = 120'000;  ///< a server that asks for more is given up
  int64_t idle_timeout_ms = 120'000;
  int64_t total_timeout_ms = 1'200'000;
};

class HttpModel : public Model {
 public:
  HttpModel(Endpoint endpoint, HttpTransport& transport, RetryPolicy policy = {});

  Completion complete(const ChatRequest& request) override;
  const std::string& name() const override { return endpoint_.settings.model; }

  /// What this server refused before, in a run that goes on.
  void relearn(int status, std::string_view body);

  std::function<void(int64_t ms)> sleep;  ///< empty: the real one, in pieces
  std::function<bool()> interrupted;      ///< may be empty
  std::function<int64_t()> now_unix_ms;   ///< the real one, for dates in answers
  std::function<int64_t()> now_ms;        ///< the real one, that never goes back
  std::function<void(const ModelFailure&, int64_t wait_ms)> on_retry;  ///< may be empty

 private:
  Completion attempt(const ChatRequest& request, int64_t left_ms);
  /// How long to wait before the next attempt; negative: there is none.
  int64_t wait_for(const ModelFailure& failure, uint32_t attempt) const;
  void wait(int64_t ms) const;

  Endpoint endpoint_;
  HttpTransport& transport_;
  RetryPolicy policy_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace fiel::agent
