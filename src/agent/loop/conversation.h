// The messages that the model sees, kept short enough, and never with a call without its result.
//
//   Conversation c(first_message, limits);
//   c.add(reply.message); c.add(tool_message(id, text));
//   if (c.needs_compaction()) c.compact(summary);
//
// Compaction drops the oldest turns whole (a call goes with its results) and puts a summary in
// their place, made from the ledger and not by a model: it cannot be empty or wrong. Reasoning is
// not part of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/model/message.h"

namespace fiel::agent {

class Conversation {
 public:
  /// `overhead_bytes`: of what every request carries beside the messages (system, tools).
  Conversation(Message first, int64_t context_tokens, int64_t reserve_tokens,
               size_t overhead_bytes);

  void add(Message message) { messages_.push_back(std::move(message)); }
  const std::vector<Message>& messages() const { return messages_; }
  void restore(std::vector<Message> messages) { messages_ = std::move(messages); }

  int64_t estimated_tokens() const;
  /// What the server counted for the last request: estimates follow it.
  void learn_tokens(int64_t input_tokens);
  /// The server refused this size: from now on less is sent.
  void learn_overflow();
  bool needs_compaction() const;
  /// The first message becomes `summary`; as many of the last turns stay as fit into half of the
  /// context. Returns how many messages stayed behind it; negative: not even the summary fits.
  int64_t compact(Message summary);
  /// Bytes that a summary may have.
  size_t summary_bytes() const;

  /// Calls of the last assistant message that have no result yet.
  std::vector<ToolCall> open_calls() const;

 private:
  int64_t tokens_of(size_t bytes) const;

  std::vector<Message> messages_;
  int64_t limit_tokens_, reserve_tokens_;
  size_t overhead_bytes_;
  double tokens_per_byte_ = 0.34;  // code in English words: about three bytes a token
};

/// Whether every call is followed by exactly one result each before the next turn, and no result
/// stands alone: the rule that servers check.
bool is_paired(const std::vector<Message>& messages);

}  // namespace fiel::agent
