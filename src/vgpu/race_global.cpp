#include <algorithm>
#include <bit>

#include "vgpu/race_rules.h"

namespace fiel::vgpu {
namespace {

constexpr uint64_t kPageShift = 12;
constexpr size_t kMaxSearch = 4096;  // locations followed before an order counts as unknown

}  // namespace

/// Shadow of 4 KiB. Two readers are kept, the first and the last of different blocks: enough to
/// find one that conflicts with any later writer.
struct GlobalRaces::Page {
  struct Cell {
    Epoch write = 0, read = 0, first_read = 0;
    uint32_t write_op = 0, read_op = 0, first_read_op = 0;
    uint32_t write_block = 0, read_block = 0, first_read_block = 0;
    uint32_t readers = 0;  // warps of read_block
  };
  uint32_t shift = 2;
  std::vector<Cell> cells = std::vector<Cell>(size_t{1} << (kPageShift - 2));
};

/// What has been released at one address, in order. An acquirer knows a prefix.
struct GlobalRaces::Location {
  struct Release {
    uint32_t block = 0;
    ClockRow row{};
    std::vector<std::pair<const Location*, uint32_t>> acquired;  // what the releaser itself knew
  };
  std::vector<Release> log;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_block;
};

struct GlobalRaces::Knowledge {
  std::vector<std::pair<const Location*, uint32_t>> acquired;  // first `second` releases
  std::vector<std::pair<const Location*, uint32_t>> fenced;    // as of the last device-scope fence
  void learn(const Location* location, uint32_t upto) { learn(acquired, location, upto); }
  void learn_fenced(const Location* location, uint32_t upto) { learn(fenced, location, upto); }

 private:
  static void learn(std::vector<std::pair<const Location*, uint32_t>>& list,
                    const Location* location, uint32_t upto) {
    for (auto& [known, n] : list)
      if (known == location) {
        n = std::max(n, upto);
        return;
      }
    list.emplace_back(location, upto);
  }
};

GlobalRaces::GlobalRaces() = default;
GlobalRaces::~GlobalRaces() = default;

GlobalRaces::Page& GlobalRaces::page(uint64_t address, uint32_t shift) {
  uint64_t number = address >> kPageShift;
  if (number != last_page_) {
    auto& slot = pages_[number];
    if (!slot) slot = std::make_unique<Page>();
    last_page_ = number;
    last_ = slot.get();
  }
  if (shift < last_->shift) {
    size_t factor = size_t{1} << (last_->shift - shift);
    std::vector<Page::Cell> finer(last_->cells.size() * factor);
    for (size_t i = 0; i < finer.size(); ++i) finer[i] = last_->cells[i / factor];
    last_->cells = std::move(finer);
    last_->shift = shift;
  }
  return *last_;
}

GlobalRaces::Order GlobalRaces::order_of(const Knowledge& knowledge, uint32_t block,
                                         Epoch e) const {
  // Breadth first through what releasers had acquired themselves; each location once, by its
  // longest known prefix. At one location a prefix already holds everything that is transitive
  // there. The latest acquired comes first: a ticket or a flag, after thousands of other atomics.
  std::vector<std::pair<const Location*, uint32_t>> open(knowledge.acquired.rbegin(),
                                                         knowledge.acquired.rend());
  std::unordered_map<const Location*, uint32_t> visited;
  for (size_t next = 0; next < open.size(); ++next) {
    if (next >= kMaxSearch) return Order::unknown;
    auto [location, upto] = open[next];
    uint32_t& seen = visited[location];
    if (upto <= seen) continue;
    if (auto found = location->by_block.find(block); found != location->by_block.end())
      for (uint32_t i : found->second)
        if (i < upto && location->log[i].row[warp_of(e)] >= clock_of(e)) return Order::before;
    for (uint32_t i = upto; i-- > seen;)
      for (const auto& learned : location->log[i].acquired)
        if (learned.first != location) open.push_back(learned);
    seen = upto;
  }
  return Order::none;
}

struct GlobalAccess {
  GlobalRaces& races;
  BlockClocks& clocks;
  const RaceRequest& request;
  const RaceSink& sink;
  uint32_t block, warp, own_clock;
  const GlobalRaces::Knowledge* knowledge;

  GlobalRaces::Order order(uint32_t other_block, Epoch e) const {
    using Order = GlobalRaces::Order;
    if (other_block == block) return clocks.before(e, warp) ? Order::before : Order::none;
    return knowledge == nullptr ? Order::none : races.order_of(*knowledge, other_block, e);
  }
  void hit(uint64_t address, uint32_t lane, FindingKind kind, Grade grade, bool other_wrote,
           uint32_t other_block, Epoch other, uint32_t other_op) const {
    sink({.kind = kind,
          .grade = grade,
          .lane = lane,
          .address = address,
          .other_wrote = other_wrote,
          .other_op = other_op & kOpMask,
          .other_block = other_block,
          .other_warp = warp_of(other),
          .other_lane = lane_of(other)});
  }
  /// An earlier access against ours; `many` = by several lanes of its warp.
  void check(uint64_t address, uint32_t lane, bool other_wrote, uint32_t other_block, Epoch e,
             uint32_t op) const {
    if (e == 0 || both_synchronize(op, request)) return;
    if (other_block == block && warp_of(e) == warp) {
      bool other_lane = lane_of(e) != lane || (op & kManyLanes) != 0;
      if (other_lane && clock_of(e) == own_clock && (op & kOpMask) != request.op)
        hit(address, lane, FindingKind::warp_synchronous, Grade::warn, other_wrote, block, e, op);
      return;
    }
    const GlobalRaces::Order known = order(other_block, e);
    if (known == GlobalRaces::Order::before) return;
    hit(address, lane, FindingKind::global_race,
        known == GlobalRaces::Order::none ? Grade::error : Grade::warn, other_wrote, other_block, e,
        op);
  }
  void granule(GlobalRaces::Page::Cell& cell, uint64_t address, uint32_t lane) const {
    check(address, lane, true, cell.write_block, cell.write, cell.write_op);
    Epoch mine = make_epoch(own_clock, warp, lane);
    uint32_t op = op_with_flags(request);
    if (request.write) {
      check_readers(cell, address, lane);
      cell.write = mine;
      cell.write_op = op & ~kManyLanes;
      cell.write_block = block;
      cell.read = cell.first_read = 0;
      cell.readers = 0;
      return;
    }
    if (cell.read != 0 && cell.read_block != block && cell.first_read == 0) {
      cell.first_read = cell.read;
      cell.first_read_op = cell.read_op;
      cell.first_read_block = cell.read_block;
    }
    bool same_warp = cell.read != 0 && cell.read_block == block && warp_of(cell.read) == warp;
    if (same_warp && clock_of(cell.read) == own_clock &&
        (lane_of(cell.read) != lane || (cell.read_op & kManyLanes) != 0))
      op |= kManyLanes;
    cell.readers = cell.read_block == block ? cell.readers | 1u << warp : 1u << warp;
    cell.read = mine;
    cell.read_op = op;
    cell.read_block = block;
  }
  void check_readers(const GlobalRaces::Page::Cell& cell, uint64_t address, uint32_t lane) const {
    check(address, lane, false, cell.first_read_block, cell.first_read, cell.first_read_op);
    check(address, lane, false, cell.read_block, cell.read, cell.read_op);
    if (cell.read == 0 || cell.read_block != block) return;
    // Other warps of this block read under an earlier or equal clock than the tag's.
    for (uint32_t m = cell.readers & ~(1u << warp) & ~(1u << warp_of(cell.read)); m != 0;
         m &= m - 1) {
      uint32_t r = static_cast<uint32_t>(std::countr_zero(m));
      if (clocks.row(warp)[r] >= clock_of(cell.read)) continue;
      return hit(address, lane, FindingKind::global_race, Grade::warn, false, block,
                 make_epoch(clock_of(cell.read), r, 0), cell.read_op);
    }
  }
  void lane(uint32_t l, uint32_t shift) const {
    uint64_t begin = request.addresses[l], end = begin + request.bytes;
    for (uint64_t a = begin; a < end;) {
      GlobalRaces::Page& page = races.page(a, shift);
      uint64_t step = uint64_t{1} << page.shift, offset = a & ((1u << kPageShift) - 1);
      granule(page.cells[offset >> page.shift], a, l);
      a = (a & ~(step - 1)) + step;
    }
  }
};

void GlobalRaces::access(BlockClocks& clocks, uint32_t block, uint32_t warp,
                         const RaceRequest& request, const RaceSink& sink) {
  if (clocks.overflowed()) return;
  if (request.synchronizing && (request.acquire || !request.write)) {
    auto& mine = knowledge_[uint64_t{block} << 5 | warp];
    for (uint32_t m = request.mask; m != 0; m &= m - 1) {
      auto found = locations_.find(request.addresses[std::countr_zero(m)]);
      if (found == locations_.end()) continue;
      if (!mine) mine = std::make_unique<Knowledge>();
      mine->learn(found->second.get(), static_cast<uint32_t>(found->second->log.size()));
      if (auto own = found->second->by_block.find(block); own != found->second->by_block.end())
        for (uint32_t i : own->second) clocks.join(warp, found->second->log[i].row);
    }
  }
  auto known = knowledge_.find(uint64_t{block} << 5 | warp);
  GlobalAccess checker{
      *this, clocks, request,          sink,
      block, warp,   clocks.own(warp), known == knowledge_.end() ? nullptr : known->second.get()};
  check_lanes_that_meet(request, FindingKind::global_race,
                        [&](uint32_t lane, uint32_t other, FindingKind kind, Grade grade) {
                          checker.hit(request.addresses[lane], other, kind, grade, true, block,
                                      make_epoch(clocks.own(warp), warp, lane), request.op);
                        });
  uint32_t shift = static_cast<uint32_t>(std::min(2, std::countr_zero(request.bytes)));
  for (uint32_t m = request.mask; m != 0; m &= m - 1)
    checker.lane(static_cast<uint32_t>(std::countr_zero(m)), shift);
  if (request.synchronizing && request.write) synchronize(clocks, block, warp, request);
}

void GlobalRaces::synchronize(BlockClocks& clocks, uint32_t block, uint32_t warp,
                              const RaceRequest& request) {
  auto known = knowledge_.find(uint64_t{block} << 5 | warp);
  uint64_t previous = ~uint64_t{0};
  for (uint32_t m = request.mask; m != 0; m &= m - 1) {
    uint64_t address = request.addresses[std::countr_zero(m)];
    if (address == previous) continue;  // a whole warp on one counter is one release
    previous = address;
    auto& location = locations_[address];
    if (!location) location = std::make_unique<Location>();
    location->by_block[block].push_back(static_cast<uint32_t>(location->log.size()));
    Location::Release release;
    release.block = block;
    release.row = request.release ? clocks.row(warp) : clocks.fenced(warp, true);
    if (known != knowledge_.end() && known->second)
      release.acquired = request.release ? known->second->acquired : known->second->fenced;
    location->log.push_back(std::move(release));
  }
  clocks.tick(warp);
}

void GlobalRaces::fence(uint32_t block, uint32_t warp) {
  auto known = knowledge_.find(uint64_t{block} << 5 | warp);
  if (known != knowledge_.end() && known->second) known->second->fenced = known->second->acquired;
}

void GlobalRaces::barrier(uint32_t block, uint32_t arriving, uint32_t leaving) {
  Knowledge all;
  for (uint32_t m = arriving; m != 0; m &= m - 1) {
    auto known = knowledge_.find(uint64_t{block} << 5 | static_cast<uint32_t>(std::countr_zero(m)));
    if (known == knowledge_.end() || !known->second) continue;
    for (const auto& [location, upto] : known->second->acquired) all.learn(location, upto);
    for (const auto& [location, upto] : known->second->fenced) all.learn_fenced(location, upto);
  }
  if (all.acquired.empty()) return;
  for (uint32_t m = leaving; m != 0; m &= m - 1) {
    auto& mine = knowledge_[uint64_t{block} << 5 | static_cast<uint32_t>(std::countr_zero(m))];
    if (!mine) mine = std::make_unique<Knowledge>();
    for (const auto& [location, upto] : all.acquired) mine->learn(location, upto);
    for (const auto& [location, upto] : all.fenced) mine->learn_fenced(location, upto);
  }
}

void GlobalRaces::end_block(uint32_t block) {
  for (uint32_t w = 0; w < kMaxWarps; ++w) knowledge_.erase(uint64_t{block} << 5 | w);
}

}  // namespace fiel::vgpu
