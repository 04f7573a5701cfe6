// Puts tool calls together from the pieces that a server sends, and gives each an id of its own.
//
//   CallBuilder calls("call_7_");
//   calls.piece({.id = "a1", .index = 0, .name = "read", .arguments = "{\"pa"});
//   calls.piece({.index = 0, .arguments = "th\":\"k.cu\"}"});
//   std::vector<ToolCall> done = calls.finish();
//
// A new id begins a new call even at the same index; a piece without an id belongs to the call of
// its index, else to the last one. Bounded: 64 calls, 8 MiB of arguments each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/model/message.h"

namespace fiel::agent {

struct CallPiece {
  std::string id;
  std::optional<int64_t> index;
  std::string name;
  std::string arguments;
};

class CallBuilder {
 public:
  explicit CallBuilder(std::string prefix) : prefix_(std::move(prefix)) {}
  /// False beyond the bounds.
  bool piece(const CallPiece& piece);
  bool empty() const { return open_.empty(); }
  /// Ids that are empty or come twice are replaced; calls without a name are dropped.
  std::vector<ToolCall> finish() const;

 private:
  struct Open {
    std::string id;
    std::optional<int64_t> index;
    std::string name, arguments;
  };
  Open* find(const CallPiece& piece);

  std::string prefix_;
  std::vector<Open> open_;
};

/// `arguments` of a call as text, whether the server sent a string or an object.
std::string arguments_text(const Json& arguments);

}  // namespace fiel::agent
