// Control flow: basic blocks and the order in which they are laid out.
//
// The order is topological once back edges are cut, and keeps every loop contiguous: strongly
// connected components are ordered, then each is ordered inside without the edges to its header.
// With "lowest pc runs first" (isa/executor.cpp) lanes then meet where their paths join, and lanes
// that have left a loop wait for those that are still in it.
#include <algorithm>

#include "vgpu/lower.h"

namespace fiel::vgpu {
namespace {

constexpr uint32_t kNone = 0xffffffffu;
/// Loops nested deeper are ordered plainly: input is hostile, and the order is only a preference.
constexpr uint32_t kMaxNesting = 64;

bool ends_block(const ptx::Instruction& instruction) {
  using O = ptx::Opcode;
  switch (instruction.op) {
    case O::bra:
    case O::brx:
    case O::ret:
    case O::exit:
    case O::call:
      return true;
    case O::bar:
    case O::barrier:
      return !instruction.mods.warp;
    default:
      return false;
  }
}

/// Statements control can go to from the last one of a block, fall-through last.
void targets_of(const ptx::Function& function, uint32_t at, std::vector<uint32_t>& out) {
  using O = ptx::Opcode;
  const ptx::Instruction& instruction = function.body[at];
  const auto statement = [&](uint32_t label) { return function.labels[label].statement; };
  bool falls = true;
  if (instruction.op == O::bra) {
    out.push_back(statement(instruction.operands[0].reg));
    falls = instruction.guard >= 0;
  } else if (instruction.op == O::brx) {
    if (instruction.prototype >= 0)
      for (const uint32_t label : function.tables[static_cast<size_t>(instruction.prototype)])
        out.push_back(statement(label));
    falls = instruction.guard >= 0;
  } else if (instruction.op == O::ret || instruction.op == O::exit) {
    falls = instruction.guard >= 0;
  }
  if (falls) out.push_back(at + 1);
}

class Orderer {
 public:
  Orderer(const std::vector<std::vector<uint32_t>>& successors)
      : successors_(successors), component_(successors.size(), kNone) {}

  std::vector<uint32_t> run() {
    std::vector<uint32_t> all(successors_.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    region_.assign(successors_.size(), 0);
    order(0, all, kNone, 0, 0);
    return std::move(result_);
  }

 private:
  /// Strongly connected components reachable from `entry` inside region `id`, in topological
  /// order; edges to `cut` do not count.
  std::vector<std::vector<uint32_t>> components(uint32_t entry, uint32_t id, uint32_t cut) {
    struct Visit {
      uint32_t node;
      size_t next;
    };
    std::vector<std::vector<uint32_t>> found;
    std::vector<uint32_t> stack;
    std::vector<Visit> visits;
    uint32_t clock = 0;
    const auto open = [&](uint32_t node) {
      index_[node] = low_[node] = ++clock;
      on_stack_[node] = true;
      stack.push_back(node);
      visits.push_back({node, 0});
    };
    open(entry);
    while (!visits.empty()) {
      Visit& visit = visits.back();
      const uint32_t node = visit.node;
      if (visit.next < successors_[node].size()) {
        const uint32_t to = successors_[node][visit.next++];
        if (region_[to] != id || to == cut) continue;
        if (index_[to] == 0)
          open(to);
        else if (on_stack_[to])
          low_[node] = std::min(low_[node], index_[to]);
        continue;
      }
      visits.pop_back();
      if (!visits.empty())
        low_[visits.back().node] = std::min(low_[visits.back().node], low_[node]);
      if (low_[node] != index_[node]) continue;
      std::vector<uint32_t> component;
      uint32_t member = kNone;
      do {
        member = stack.back();
        stack.pop_back();
        on_stack_[member] = false;
        component.push_back(member);
      } while (member != node);
      found.push_back(std::move(component));
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  void order(uint32_t entry, const std::vector<uint32_t>& nodes, uint32_t cut, uint32_t id,
             uint32_t depth) {
    if (index_.empty()) {
      index_.assign(successors_.size(), 0);
      low_.assign(successors_.size(), 0);
      on_stack_.assign(successors_.size(), false);
    }
    for (const uint32_t node : nodes) index_[node] = 0;
    for (std::vector<uint32_t>& component : components(entry, id, cut)) {
      if (component.size() == 1 || depth >= kMaxNesting) {
        // A component comes out last-visited first; its root was pushed first.
        result_.insert(result_.end(), component.rbegin(), component.rend());
        continue;
      }
      const uint32_t header = component.back();  // where the search entered it
      const uint32_t inner = ++regions_;
      for (const uint32_t node : component) region_[node] = inner;
      order(header, component, header, inner, depth + 1);
    }
  }

  const std::vector<std::vector<uint32_t>>& successors_;
  std::vector<uint32_t> component_, region_, index_, low_, result_;
  std::vector<bool> on_stack_;
  uint32_t regions_ = 0;
};

}  // namespace

Flow build_flow(const ptx::Function& function) {
  Flow flow;
  const auto n = static_cast<uint32_t>(function.body.size());
  flow.block_of_statement.assign(n + 1, kNone);
  if (n == 0) return flow;
  std::vector<bool> leader(n + 1, false);
  leader[0] = true;
  for (const ptx::Label& label : function.labels)
    if (label.statement < n) leader[label.statement] = true;
  for (uint32_t i = 0; i < n; ++i)
    if (ends_block(function.body[i])) leader[i + 1] = true;
  std::vector<FlowBlock> raw;
  std::vector<uint32_t> raw_of(n + 1, kNone);
  for (uint32_t i = 0; i < n; ++i) {
    if (leader[i]) raw.push_back({i, i, {}});
    raw.back().end = i + 1;
    raw_of[i] = static_cast<uint32_t>(raw.size() - 1);
  }
  std::vector<std::vector<uint32_t>> successors(raw.size());
  std::vector<uint32_t> targets;
  for (uint32_t b = 0; b < raw.size(); ++b) {
    targets.clear();
    const uint32_t last = raw[b].end - 1;
    if (ends_block(function.body[last]))
      targets_of(function, last, targets);
    else
      targets.push_back(last + 1);
    for (const uint32_t target : targets)
      if (target < n) successors[b].push_back(raw_of[target]);
  }
  const std::vector<uint32_t> order = Orderer(successors).run();
  std::vector<uint32_t> place(raw.size(), kNone);
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (const uint32_t b : order) {
    FlowBlock block{raw[b].first, raw[b].end, {}};
    for (const uint32_t to : successors[b]) block.successors.push_back(place[to]);
    for (uint32_t i = block.first; i < block.end; ++i)
      flow.block_of_statement[i] = static_cast<uint32_t>(flow.blocks.size());
    flow.blocks.push_back(std::move(block));
  }
  return flow;
}

}  // namespace fiel::vgpu
