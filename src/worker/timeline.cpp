#include "worker/timeline.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fiel::worker {

Graph::Node* Graph::find(uint64_t id) {
  for (Node& n : nodes)
    if (n.id == id) return &n;
  return nullptr;
}

std::vector<size_t> Graph::order() const {
  std::unordered_map<uint64_t, size_t> index;
  for (size_t i = 0; i < nodes.size(); ++i) index[nodes[i].id] = i;
  std::vector<std::vector<size_t>> followers(nodes.size());
  std::vector<size_t> missing(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i)
    for (uint64_t d : nodes[i].dependencies) {
      auto it = index.find(d);
      if (it == index.end()) continue;
      followers[it->second].push_back(i);
      ++missing[i];
    }
  // The lowest ready index first: the same graph always replays in the same order.
  std::set<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0) ready.insert(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t i = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(i);
    for (size_t f : followers[i])
      if (--missing[f] == 0) ready.insert(f);
  }
  if (order.size() != nodes.size()) order.clear();
  return order;
}

uint64_t Timeline::create_stream(bool non_blocking) {
  uint64_t handle = next_stream_;
  next_stream_ += kHandleStep;
  streams_[handle] = {non_blocking, 0};
  return handle;
}

bool Timeline::destroy_stream(uint64_t stream) {
  if (stream < kFirstHandle) return false;
  return streams_.erase(stream) != 0;
}

bool Timeline::is_non_blocking(uint64_t stream) const {
  auto it = streams_.find(normal(stream));
  return it != streams_.end() && it->second.non_blocking;
}

Timeline::OpId Timeline::submit(uint64_t stream, Work work) {
  stream = normal(stream);
  auto it = streams_.find(stream);
  if (it == streams_.end()) return 0;
  Op op;
  op.stream = stream;
  auto follow = [&](OpId id) {
    if (id != 0 && pending(id)) op.after.push_back(id);
  };
  follow(it->second.last);
  if (stream == kLegacyStream) {
    for (const auto& [handle, other] : streams_)
      if (!other.non_blocking) follow(other.last);
  } else if (!it->second.non_blocking) {
    follow(streams_[kLegacyStream].last);
  }
  if (work.snapshot) snapshot_bytes_ += work.snapshot->size();
  op.work = std::move(work);
  OpId id = next_op_++;
  pending_.emplace(id, std::move(op));
  it->second.last = id;
  return id;
}

void Timeline::wait(uint64_t stream, OpId op) {
  if (!pending(op)) return;
  OpId marker = submit(stream, Work{});
  if (marker != 0) pending_[marker].after.push_back(op);
}

Timeline::OpId Timeline::tail(uint64_t stream) { return submit(stream, Work{}); }

Timeline::OpId Timeline::tail_of_everything() {
  OpId marker = submit(kLegacyStream, Work{});
  Op& op = pending_[marker];
  for (const auto& [id, other] : pending_)
    if (id != marker) op.after.push_back(id);
  return marker;
}

size_t Timeline::pending_work() const {
  return static_cast<size_t>(std::count_if(pending_.begin(), pending_.end(), [](const auto& p) {
    return p.second.work.kind != Work::Kind::marker;
  }));
}

std::vector<Timeline::Due> Timeline::due_with_order(OpId op) {
  std::set<OpId> closure;
  std::vector<OpId> open{op};
  while (!open.empty()) {
    OpId id = open.back();
    open.pop_back();
    auto it = pending_.find(id);
    if (it == pending_.end() || !closure.insert(id).second) continue;
    open.insert(open.end(), it->second.after.begin(), it->second.after.end());
  }
  // Dependencies always have lower numbers, so the set's order is a valid one.
  std::vector<Due> out;
  out.reserve(closure.size());
  for (OpId id : closure) {
    auto it = pending_.find(id);
    if (it->second.work.snapshot) snapshot_bytes_ -= it->second.work.snapshot->size();
    out.push_back({id, it->second.stream, std::move(it->second.after), std::move(it->second.work)});
    pending_.erase(it);
  }
  return out;
}

std::vector<Work> Timeline::due(OpId op) {
  std::vector<Work> out;
  for (Due& d : due_with_order(op))
    if (d.work.kind != Work::Kind::marker) out.push_back(std::move(d.work));
  return out;
}

void Timeline::drop_all() {
  pending_.clear();
  snapshot_bytes_ = 0;
}

}  // namespace fiel::worker
