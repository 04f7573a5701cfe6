#include "vgpu/observer.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/executor.h"
#include "vgpu/isa/transactions.h"
#include "vgpu/program.h"

namespace fiel::vgpu {
namespace {

bool is_write(AccessKind kind) {
  return kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::async_store;
}

bool is_synchronizing(const Access& access) {
  return access.kind == AccessKind::atomic ||
         (access.semantics != ptx::Semantics::none && access.semantics != ptx::Semantics::weak);
}

bool releases(ptx::Semantics s) {
  return s == ptx::Semantics::release || s == ptx::Semantics::acq_rel || s == ptx::Semantics::sc;
}

/// The 32 addresses of an access in whatever shape it came.
const uint64_t* spread(const Access& access, uint64_t (&storage)[kLanes]) {
  if (access.shape == AccessShape::scattered) return access.addresses;
  uint64_t step = access.shape == AccessShape::contiguous ? access.bytes : 0;
  for (uint64_t i = 0; i < kLanes; ++i) storage[i] = access.base + i * step;
  return storage;
}

void count_shared(SharedCounters& c, const Access& access, RequestPattern& last) {
  if (access.shape != AccessShape::scattered) {
    const uint64_t one =
        access.shape == AccessShape::uniform ? 1 : ideal_wavefronts(access.mask, access.bytes);
    c += {1, one, one};
    return;
  }
  // The banks repeat every 128 bytes.
  if (!last.recall(access.addresses, access.mask, access.bytes, 127))
    last.cost = {count_wavefronts(access.addresses, access.mask, access.bytes),
                 ideal_wavefronts(access.mask, access.bytes)};
  c += {1, last.cost[0], std::min(last.cost[0], last.cost[1])};
}

void count_global(MemoryCounters& c, const Access& access, SectorMap& touched, RequestPattern& last,
                  uint64_t (&storage)[kLanes]) {
  uint64_t bytes = uint64_t{access.bytes} * static_cast<uint64_t>(std::popcount(access.mask));
  if (access.shape == AccessShape::uniform) {
    c += {1, sectors_of_range(access.base, access.bytes), (access.bytes + 31) / 32, bytes};
    touched.set(access.base, access.bytes);
  } else if (access.shape == AccessShape::contiguous && access.mask == kFullMask) {
    c += {1, sectors_of_range(access.base, bytes), access.bytes, bytes};
    touched.set(access.base, bytes);
  } else {
    const uint64_t* addresses = spread(access, storage);
    if (!last.recall(addresses, access.mask, access.bytes, 31)) {
      const SectorCount s = count_sectors(addresses, access.mask, access.bytes);
      last.cost = {s.sectors, s.ideal};
    }
    c += {1, last.cost[0], last.cost[1], bytes};
    for (uint32_t m = access.mask; m != 0; m &= m - 1)
      touched.set(addresses[std::countr_zero(m)], access.bytes);
  }
}

uint64_t most_lanes_on_one_address(const uint64_t* addresses, uint32_t mask) {
  uint64_t most = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    uint64_t a = addresses[std::countr_zero(m)], same = 0;
    for (uint32_t n = m; n != 0; n &= n - 1) same += addresses[std::countr_zero(n)] == a;
    most = std::max(most, same);
    if (most * 2 > static_cast<uint64_t>(std::popcount(mask))) break;
  }
  return most;
}

}  // namespace

void TransactionCounts::operator+=(const TransactionCounts& other) {
  global += other.global;
  local += other.local;
  shared += other.shared;
  contention = std::max(contention, other.contention);
}

bool SectorMap::reserve(uint64_t base, uint64_t bytes) {
  base_ = base;
  sectors_ = bytes >> 5;
  void* memory = ::mmap(nullptr, (sectors_ >> 3) + 64, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    sectors_ = 0;
    return false;
  }
  words_ = static_cast<uint64_t*>(memory);
  return true;
}

SectorMap::~SectorMap() {
  if (words_ != nullptr) ::munmap(words_, (sectors_ >> 3) + 64);
}

uint64_t SectorMap::union_bytes(const std::vector<const SectorMap*>& maps) {
  uint64_t low = ~uint64_t{0}, high = 0, sectors = 0;
  for (const SectorMap* map : maps) {
    if (map->words_ == nullptr || map->low_ > map->high_) continue;
    low = std::min(low, map->low_ >> 6);
    high = std::max(high, map->high_ >> 6);
  }
  for (uint64_t w = low; w <= high && low != ~uint64_t{0}; ++w) {
    uint64_t all = 0;
    for (const SectorMap* map : maps)
      if (map->words_ != nullptr && w >= map->low_ >> 6 && w <= map->high_ >> 6)
        all |= map->words_[w];
    sectors += static_cast<uint64_t>(std::popcount(all));
  }
  return sectors * 32;
}

LaunchState::LaunchState() = default;
LaunchState::~LaunchState() = default;

void observe_access(Warp& warp, const Op& op, const Access& access) {
  warp.executor->observer->access(warp, op, access);
}
void observe_barrier(Warp& warp, const Op&, uint32_t id, uint32_t, bool last) {
  Observer& observer = *warp.executor->observer;
  observer.barrier_arrived(warp, id & ~kArriveOnly, (id & kArriveOnly) == 0);
  if (last) observer.barrier_completed(*warp.cta, id & ~kArriveOnly);
}
void observe_warp_sync(Warp& warp, const Op&, uint32_t) {
  warp.executor->observer->warp_sync(warp);
}
void observe_fence(Warp& warp, const Op&, uint32_t, ptx::Scope scope) {
  warp.executor->observer->fence(warp, scope != ptx::Scope::cta);
}
void observe_mbarrier(Warp& warp, const Op&, uint32_t mask, const uint64_t* at, bool arrive) {
  for (uint32_t m = mask; m != 0; m &= m - 1)
    warp.executor->observer->mbarrier(warp, static_cast<uint32_t>(at[std::countr_zero(m)]), arrive);
}

struct Observer::BlockState {
  BlockClocks clocks;
  SharedRaces shared;
  uint32_t arriving[kBarriers] = {}, leaving[kBarriers] = {};
};

Observer::Observer(const Program& program, uint32_t watch, uint64_t arena_base,
                   uint64_t arena_bytes, GlobalRaces* global)
    : program_(program), watch_(watch), global_(global) {
  if ((watch & kWatchMetrics) == 0) return;
  counts_.resize(program.ops.size());
  patterns_.resize(program.ops.size());
  read_.reserve(arena_base, arena_bytes);
  written_.reserve(arena_base, arena_bytes);
}
Observer::~Observer() = default;

Observer::BlockState& Observer::state(const Cta& cta) {
  if (last_cta_ != &cta) {
    auto& slot = blocks_[&cta];
    if (!slot) slot = std::make_unique<BlockState>();
    last_cta_ = &cta;
    last_state_ = slot.get();
  }
  return *last_state_;
}

void Observer::start_block(Cta& cta) {
  if ((watch_ & (kWatchSharedRaces | kWatchGlobalRaces)) == 0) return;
  BlockState& block = state(cta);
  uint32_t warps = static_cast<uint32_t>(cta.warps.size());
  if (!block.clocks.start_block(warps)) {
    block.shared.clear();
    block.clocks.reset();
    (void)block.clocks.start_block(warps);
  }
  block.shared.start_block(cta.shared_bytes);
  std::fill(std::begin(block.arriving), std::end(block.arriving), 0u);
  std::fill(std::begin(block.leaving), std::end(block.leaving), 0u);
}

void Observer::end_block(Cta& cta) {
  if (global_ != nullptr) global_->end_block(static_cast<uint32_t>(cta.linear));
}

void Observer::access(Warp& warp, const Op& op, const Access& access) {
  uint32_t index = static_cast<uint32_t>(&op - warp.executor->ops);
  if ((watch_ & kWatchMetrics) != 0) count(index, access);
  bool shared = access.space == ptx::Space::shared && (watch_ & kWatchSharedRaces) != 0;
  bool global = access.space == ptx::Space::global && (watch_ & kWatchGlobalRaces) != 0;
  if (shared || global) check_races(warp, index, access);
}

void Observer::count(uint32_t op, const Access& access) {
  TransactionCounts& c = counts_[op];
  uint64_t storage[kLanes];
  switch (access.space) {
    case ptx::Space::shared:
      count_shared(c.shared, access, patterns_[op]);
      break;
    case ptx::Space::global:
      count_global(c.global, access, is_write(access.kind) ? written_ : read_, patterns_[op],
                   storage);
      if (access.kind == AccessKind::atomic) {
        const uint64_t* addresses = spread(access, storage);
        for (uint32_t m = access.mask; m != 0; m &= m - 1)
          read_.set(addresses[std::countr_zero(m)], access.bytes);
      }
      break;
    case ptx::Space::local: {
      // Local memory is laid out so that the lanes of one offset are neighbours: bytes decide.
      uint64_t bytes = uint64_t{access.bytes} * static_cast<uint64_t>(std::popcount(access.mask));
      c.local += {1, (bytes + 31) / 32, (bytes + 31) / 32, bytes};
      break;
    }
    default:
      return;
  }
  if (access.kind == AccessKind::atomic)
    c.contention =
        std::max(c.contention, most_lanes_on_one_address(spread(access, storage), access.mask));
}

void Observer::check_races(Warp& warp, uint32_t op, const Access& access) {
  BlockState& block = state(*warp.cta);
  uint64_t storage[kLanes];
  RaceRequest request{.op = op,
                      .bytes = access.bytes,
                      .mask = access.mask,
                      .write = is_write(access.kind),
                      .synchronizing = is_synchronizing(access),
                      .acquire = is_synchronizing(access) && access.kind != AccessKind::store,
                      .release = releases(access.semantics),
                      .contiguous = access.shape == AccessShape::contiguous,
                      .addresses = spread(access, storage),
                      .values = access.values,
                      .value_stride = access.value_stride};
  if (access.shape == AccessShape::uniform && !request.write) {
    request.many_lanes = (request.mask & (request.mask - 1)) != 0;
    request.mask &= 0u - request.mask;
  }
  RaceSink sink = [&](const RaceHit& hit) { report(warp, op, access, hit); };
  if (access.space == ptx::Space::shared)
    block.shared.access(block.clocks, warp.index, request, sink);
  else
    global_->access(block.clocks, static_cast<uint32_t>(warp.cta->linear), warp.index, request,
                    sink);
}

/// A write that leaves memory as another write left it: whichever comes last, the bytes are the
/// same.
bool leaves_memory_as_it_is(const Warp& warp, const Access& access, const RaceHit& hit) {
  if (!hit.other_wrote || access.kind != AccessKind::store || access.values == nullptr)
    return false;
  uint64_t storage[kLanes];
  const uint64_t address = spread(access, storage)[hit.lane];
  const uint8_t* memory = access.space == ptx::Space::shared
                              ? warp.cta->shared + address
                              : reinterpret_cast<const uint8_t*>(address);
  return std::memcmp(memory, access.values + size_t{hit.lane} * access.value_stride,
                     access.bytes) == 0;
}

void Observer::report(Warp& warp, uint32_t op, const Access& access, const RaceHit& found) {
  RaceHit hit = found;
  if (hit.grade != Grade::info && leaves_memory_as_it_is(warp, access, hit)) {
    hit.kind = FindingKind::same_value_race;
    hit.grade = Grade::info;
  }
  CtaFindings& findings = warp.cta->findings;
  if (findings.known(hit.kind, op, hit.other_op, 1)) return;
  Occurrence o;
  o.kind = hit.kind;
  o.grade = hit.grade;
  o.op = op;
  o.other_op = hit.other_op;
  o.block = warp.cta->linear;
  o.thread = warp.index * kLanes + hit.lane;
  o.has_address = true;
  o.address = hit.address;
  o.bytes = access.bytes;
  o.other_block = access.space == ptx::Space::shared ? warp.cta->linear : hit.other_block;
  o.other_thread = hit.other_warp * kLanes + hit.other_lane;
  bool writes = is_write(access.kind);
  o.detail = std::string(writes ? (hit.other_wrote ? "write after write" : "write after read")
                                : "read after write") +
             (hit.kind == FindingKind::warp_synchronous
                  ? ": lanes of one warp with no __syncwarp() between them"
              : hit.kind == FindingKind::same_value_race
                  ? ": both write the same value"
                  : ", not ordered by a barrier or an atomic with a fence");
  findings.add(std::move(o));
}

void Observer::barrier_arrived(Warp& warp, uint32_t id, bool waits) {
  if ((watch_ & (kWatchSharedRaces | kWatchGlobalRaces)) == 0 || id >= kBarriers) return;
  BlockState& block = state(*warp.cta);
  block.arriving[id] |= 1u << warp.index;
  if (waits) block.leaving[id] |= 1u << warp.index;
}

void Observer::barrier_completed(Cta& cta, uint32_t id) {
  if ((watch_ & (kWatchSharedRaces | kWatchGlobalRaces)) == 0 || id >= kBarriers) return;
  BlockState& block = state(cta);
  // A warp that has ended counts as having arrived: what it did lies before the barrier.
  uint32_t arriving = block.arriving[id];
  for (const WarpState& warp : cta.warps)
    if (warp.finished) arriving |= 1u << warp.index;
  block.clocks.barrier(arriving, block.leaving[id]);
  if (global_ != nullptr)
    global_->barrier(static_cast<uint32_t>(cta.linear), arriving, block.leaving[id]);
  block.arriving[id] = block.leaving[id] = 0;
}

void Observer::warp_sync(Warp& warp) {
  if ((watch_ & (kWatchSharedRaces | kWatchGlobalRaces)) != 0)
    state(*warp.cta).clocks.tick(warp.index);
}

void Observer::fence(Warp& warp, bool device_scope) {
  if ((watch_ & (kWatchSharedRaces | kWatchGlobalRaces)) == 0) return;
  state(*warp.cta).clocks.fence(warp.index, device_scope);
  if (global_ != nullptr && device_scope)
    global_->fence(static_cast<uint32_t>(warp.cta->linear), warp.index);
}

void Observer::mbarrier(Warp& warp, uint32_t offset, bool arrive) {
  if ((watch_ & kWatchSharedRaces) == 0) return;
  BlockState& block = state(*warp.cta);
  if (arrive)
    block.shared.release(block.clocks, warp.index, offset);
  else
    block.shared.acquire(block.clocks, warp.index, offset);
}

}  // namespace fiel::vgpu
