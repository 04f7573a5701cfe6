#include "agent/model/call_builder.h"

#include <set>

#include "base/text.h"

namespace fiel::agent {
namespace {

constexpr size_t kMaxCalls = 64;
constexpr size_t kMaxArgumentBytes = 8u << 20;

/// Null where the text is no JSON object; no text at all means no arguments.
Json parsed(const std::string& text) {
  if (trim(text).empty()) return Json::object();
  auto json = Json::parse(text, {.max_bytes = kMaxArgumentBytes, .max_depth = 32});
  return json && json->is_object() ? std::move(*json) : Json();
}

}  // namespace

std::string arguments_text(const Json& arguments) {
  if (arguments.is_string()) return arguments.as_string();
  return arguments.is_null() ? "" : arguments.dump();
}

CallBuilder::Open* CallBuilder::find(const CallPiece& piece) {
  if (open_.empty()) return nullptr;
  if (!piece.id.empty()) {
    for (Open& o : open_)
      if (o.id == piece.id) return &o;
    return nullptr;
  }
  Open* at = &open_.back();
  if (piece.index) {
    // From the back: two calls may share an index, and pieces follow the newer one.
    auto it = open_.rbegin();
    while (it != open_.rend() && it->index && it->index != piece.index) ++it;
    if (it == open_.rend()) return nullptr;
    at = &*it;
  }
  // A name again, after arguments that are whole: servers that give no ids and one index for all.
  if (!piece.name.empty() && !at->name.empty() && !parsed(at->arguments).is_null() &&
      !at->arguments.empty())
    return nullptr;
  return at;
}

bool CallBuilder::piece(const CallPiece& piece) {
  Open* at = find(piece);
  if (at == nullptr) {
    if (open_.size() == kMaxCalls) return false;
    at = &open_.emplace_back(Open{piece.id, piece.index, {}, {}});
  }
  if (at->name.empty()) at->name = piece.name;
  at->arguments += piece.arguments;
  return at->arguments.size() <= kMaxArgumentBytes;
}

std::vector<ToolCall> CallBuilder::finish() const {
  std::vector<ToolCall> calls;
  std::set<std::string> ids;
  for (const Open& o : open_) {
    if (o.name.empty()) continue;
    std::string id = o.id;
    if (id.empty() || ids.contains(id)) id = prefix_ + std::to_string(calls.size());
    while (!ids.insert(id).second) id += '_';
    calls.push_back({std::move(id), o.name, parsed(o.arguments), o.arguments});
  }
  return calls;
}

}  // namespace fiel::agent
