// A model that says what a file says: a proposer without any model, for tests and for replays.
//
//   {"text": "first I read", "calls": [{"name": "read", "arguments": {"path": "kernel.cu"}}]}
//
// One JSON line a turn; "usage": {"input_tokens", "output_tokens"} where it matters. After the last
// line it has nothing to say: an empty answer.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/model/message.h"

namespace fiel::agent {

class ScriptedModel : public Model {
 public:
  static Result<ScriptedModel> open(const std::filesystem::path& file);
  /// Of a resumed run: turns that were played already.
  void skip(size_t turns) { next_ = turns; }
  Completion complete(const ChatRequest& request) override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "scripted";
  std::vector<Json> turns_;
  size_t next_ = 0;
};

}  // namespace fiel::agent
