#include "vgpu/sink.h"

#include <algorithm>
#include <tuple>

namespace fiel::vgpu {

bool CtaFindings::known(FindingKind kind, uint32_t op, uint32_t other_op, uint64_t count) {
  for (Occurrence& group : groups_)
    if (group.kind == kind && group.op == op && group.other_op == other_op) {
      group.count += count;
      return true;
    }
  if (groups_.size() < kMaxGroups) return false;
  dropped_ += count;
  return true;
}

void CtaFindings::add(Occurrence occurrence) {
  if (!known(occurrence.kind, occurrence.op, occurrence.other_op, occurrence.count))
    groups_.push_back(std::move(occurrence));
}

void Sink::merge(const Pending& pending) {
  dropped_ += pending.findings.dropped();
  uint32_t sequence = 0;
  for (const Occurrence& occurrence : pending.findings.groups()) {
    const auto key =
        std::make_tuple(static_cast<uint8_t>(occurrence.kind), occurrence.op, occurrence.other_op);
    const auto [at, fresh] =
        groups_.try_emplace(key, Group{pending.position, sequence, occurrence});
    ++sequence;
    if (fresh) continue;
    Group& group = at->second;
    const uint64_t count = group.occurrence.count + occurrence.count;
    if (pending.position < group.position) group = Group{pending.position, sequence, occurrence};
    group.occurrence.count = count;
  }
}

void Sink::commit(uint64_t position, CtaFindings&& findings, uint64_t low_water) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(Pending{position, std::move(findings)});
  for (size_t i = 0; i < pending_.size();) {
    if (pending_[i].position >= low_water) {
      ++i;
      continue;
    }
    merge(pending_[i]);
    pending_[i] = std::move(pending_.back());
    pending_.pop_back();
  }
}

std::vector<Occurrence> Sink::finish(uint64_t stop, uint64_t& dropped) {
  const std::lock_guard lock(mutex_);
  for (const Pending& pending : pending_)
    if (pending.position <= stop) merge(pending);
  pending_.clear();
  std::vector<const Group*> order;
  order.reserve(groups_.size());
  for (const auto& [key, group] : groups_) order.push_back(&group);
  std::sort(order.begin(), order.end(), [](const Group* a, const Group* b) {
    return std::tie(a->position, a->sequence) < std::tie(b->position, b->sequence);
  });
  std::vector<Occurrence> out;
  dropped = dropped_;
  for (const Group* group : order) {
    if (out.size() < kMaxGroups)
      out.push_back(group->occurrence);
    else
      dropped += group->occurrence.count;
  }
  return out;
}

}  // namespace fiel::vgpu
