// Whole conversations kept on disk and played again: the double that tests and CI use for a model.
//
//   RecordingTransport recording(curl, "talk.jsonl", key);      // every exchange, verbatim
//   FIEL_TRY(ReplayTransport replay, ReplayTransport::open("talk.jsonl"));
//
// One JSON line an exchange: {"request": {"url", "body"}, "response": {"status", "headers",
// "body", "end"}}. The key is never in it. A replayed request must equal the recorded one; lines
// without a request (written by hand) are played whatever is asked.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/model/http.h"
#include "base/json.h"
#include "base/result.h"

namespace fiel::agent {

class RecordingTransport : public HttpTransport {
 public:
  RecordingTransport(HttpTransport& inner, std::filesystem::path file, Secret key)
      : inner_(inner), file_(std::move(file)), key_(std::move(key)) {}
  HttpEnd post(const HttpRequest& request, const HttpSink& sink) override;

 private:
  HttpTransport& inner_;
  std::filesystem::path file_;
  Secret key_;
};

class ReplayTransport : public HttpTransport {
 public:
  static Result<ReplayTransport> open(const std::filesystem::path& file);
  explicit ReplayTransport(std::vector<Json> exchanges) : exchanges_(std::move(exchanges)) {}
  HttpEnd post(const HttpRequest& request, const HttpSink& sink) override;
  struct Refusal {
    int status = 0;
    std::string body;
  };
  /// Of a run that goes on: passes so many whole answers, with the failed attempts before and right
  /// after them. Returns what was refused among these: a model learns from it anew.
  std::vector<Refusal> skip(size_t answers);
  size_t played() const { return next_; }

 private:
  bool is_answer(size_t exchange) const;
  std::vector<Json> exchanges_;
  size_t next_ = 0;
};

}  // namespace fiel::agent
