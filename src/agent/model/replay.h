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
  /// Of a run that goes on: exchanges that were played before.
  void skip(size_t exchanges) { next_ = exchanges; }
  size_t played() const { return next_; }

 private:
  std::vector<Json> exchanges_;
  size_t next_ = 0;
};

}  // namespace fiel::agent
