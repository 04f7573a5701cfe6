#include "agent/loop/conversation.h"

#include <algorithm>
#include <set>

namespace fiel::agent {
namespace {

size_t bytes_of(const Message& m) {
  size_t bytes = m.text.size() + m.reasoning.size() + 32;
  for (const ToolCall& c : m.calls) bytes += c.name.size() + c.arguments_text.size() + 64;
  if (!m.vendor.is_null()) bytes += m.vendor.dump().size();
  return bytes;
}

}  // namespace

Conversation::Conversation(Message first, int64_t context_tokens, int64_t reserve_tokens,
                           size_t overhead_bytes)
    : limit_tokens_(context_tokens),
      reserve_tokens_(std::min(reserve_tokens, context_tokens / 4)),
      overhead_bytes_(overhead_bytes) {
  messages_.push_back(std::move(first));
}

int64_t Conversation::tokens_of(size_t bytes) const {
  return static_cast<int64_t>(static_cast<double>(bytes) * tokens_per_byte_);
}

int64_t Conversation::estimated_tokens() const {
  size_t bytes = overhead_bytes_;
  for (const Message& m : messages_) bytes += bytes_of(m);
  return tokens_of(bytes);
}

void Conversation::learn_tokens(int64_t input_tokens) {
  const int64_t guess = estimated_tokens();
  if (guess <= 0 || input_tokens <= 0) return;
  const double factor = static_cast<double>(input_tokens) / static_cast<double>(guess);
  tokens_per_byte_ = std::clamp(tokens_per_byte_ * factor, 0.15, 1.0);
}

void Conversation::learn_overflow() {
  limit_tokens_ = std::min(limit_tokens_, estimated_tokens() * 3 / 4);
  reserve_tokens_ = std::min(reserve_tokens_, limit_tokens_ / 4);
}

bool Conversation::needs_compaction() const {
  return estimated_tokens() > limit_tokens_ - reserve_tokens_;
}

size_t Conversation::summary_bytes() const {
  return static_cast<size_t>(
      std::max<double>(600, static_cast<double>(limit_tokens_) * 0.4 / tokens_per_byte_ -
                                static_cast<double>(overhead_bytes_)));
}

int64_t Conversation::compact(Message summary) {
  size_t bytes = overhead_bytes_ + bytes_of(summary);
  if (tokens_of(bytes) > limit_tokens_ - reserve_tokens_) return -1;
  // From the end, turn by turn: a turn begins with what the assistant said.
  size_t keep_from = messages_.size();
  size_t turn_bytes = 0;
  for (size_t i = messages_.size(); i-- > 1;) {
    turn_bytes += bytes_of(messages_[i]);
    if (messages_[i].role != Role::assistant) continue;
    if (tokens_of(bytes + turn_bytes) > limit_tokens_ / 2) break;
    bytes += turn_bytes;
    turn_bytes = 0;
    keep_from = i;
  }
  // Nothing was dropped: the conversation was refused as it is, so half of its turns go.
  if (keep_from == 1) {
    size_t middle = 1 + messages_.size() / 2;
    while (middle < messages_.size() && messages_[middle].role != Role::assistant) ++middle;
    keep_from = middle;
  }
  std::vector<Message> kept{std::move(summary)};
  kept.insert(kept.end(), messages_.begin() + static_cast<ptrdiff_t>(keep_from), messages_.end());
  messages_ = std::move(kept);
  return static_cast<int64_t>(messages_.size()) - 1;
}

std::vector<ToolCall> Conversation::open_calls() const {
  std::set<std::string> answered;
  for (size_t i = messages_.size(); i-- > 0;) {
    const Message& m = messages_[i];
    if (m.role == Role::tool) answered.insert(m.call_id);
    if (m.role != Role::assistant) continue;
    std::vector<ToolCall> open;
    for (const ToolCall& c : m.calls)
      if (!answered.contains(c.id)) open.push_back(c);
    return open;
  }
  return {};
}

bool is_paired(const std::vector<Message>& messages) {
  std::set<std::string> open;
  for (const Message& m : messages) {
    if (m.role == Role::tool) {
      if (open.erase(m.call_id) != 1) return false;
      continue;
    }
    if (!open.empty()) return false;
    for (const ToolCall& c : m.calls)
      if (!open.insert(c.id).second) return false;
  }
  return open.empty();
}

}  // namespace fiel::agent
