// mbarrier.*: barriers in shared memory that count arrivals and bytes, in phases.
#include <cstdio>
#include <cstring>

#include "ptx/module.h"
#include "vgpu/findings.h"
#include "vgpu/isa/async_state.h"
#include "vgpu/isa/memory_access.h"
#include "vgpu/isa/observe.h"
#include "vgpu/isa/select.h"

namespace fiel::vgpu::FIEL_ISA {

BlockBarriers::Barrier* BlockBarriers::find(uint32_t offset) {
  for (Barrier& b : barriers_) {
    if (b.offset == offset) return &b;
  }
  return nullptr;
}
BlockBarriers::Barrier& BlockBarriers::at(uint32_t offset) {
  if (Barrier* b = find(offset)) return *b;
  barriers_.emplace_back().offset = offset;
  return barriers_.back();
}
void BlockBarriers::note_failed_wait(uint32_t warp, const Op& op, uint32_t lanes, uint32_t offset,
                                     uint32_t parity) {
  FailedWait* entry = nullptr;
  for (FailedWait& w : failed_) {
    if (w.warp == warp) entry = &w;
  }
  if (entry == nullptr) entry = &failed_.emplace_back();
  if (entry->changes != changes_) std::memset(entry->failures, 0, sizeof entry->failures);
  entry->warp = warp;
  entry->op = &op;
  entry->offset = offset;
  entry->parity = parity;
  entry->changes = changes_;
  for (int lane = 0; lane < kLanes; ++lane) entry->failures[lane] += lanes >> lane & 1;
}
void BlockBarriers::forget_failed_wait(uint32_t warp, uint32_t lanes) {
  for (FailedWait& w : failed_) {
    if (w.warp != warp) continue;
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane & 1) != 0) w.failures[lane] = 0;
    }
  }
}
uint32_t BlockBarriers::stuck_lanes(uint32_t warp) const {
  // Far more than any loop that polls a barrier and something else needs before it sees the other.
  constexpr uint32_t kMany = 2000;
  const FailedWait* w = failed_wait(warp);
  if (w == nullptr || w->changes != changes_) return 0;
  uint32_t lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes |= static_cast<uint32_t>(w->failures[lane] >= kMany) << lane;
  }
  return lanes;
}
const BlockBarriers::FailedWait* BlockBarriers::failed_wait(uint32_t warp) const {
  for (const FailedWait& w : failed_) {
    if (w.warp == warp) return &w;
  }
  return nullptr;
}

BlockBarriers& block_barriers(Warp& warp) {
  Attachment& attachment = block_attachment(warp);
  if (attachment.state == nullptr) {
    attachment.state = new BlockBarriers;
    attachment.destroy = [](void* state) { delete static_cast<BlockBarriers*>(state); };
    attachment.describe_wait = describe_failed_wait;
    attachment.stuck_lanes = [](Warp& w) { return block_barriers(w).stuck_lanes(w.index); };
  }
  return *static_cast<BlockBarriers*>(attachment.state);
}

namespace {

constexpr uint32_t kLargestCount = (1u << 20) - 1;

/// The 64 bits of the object, and of the state that an arrival returns.
struct Object {
  uint32_t pending = 0, expected = 0;
  int32_t bytes = 0;  ///< tx-count
  bool valid = false;
  uint32_t phase = 0;  ///< parity of the incomplete phase

  static Object from(uint64_t x) {
    Object o;
    o.pending = static_cast<uint32_t>(x) & kLargestCount;
    o.expected = static_cast<uint32_t>(x >> 20) & kLargestCount;
    o.bytes = static_cast<int32_t>(static_cast<uint32_t>(x >> 40) << 10) >> 10;
    o.valid = (x >> 62 & 1) != 0 && o.expected != 0;
    o.phase = static_cast<uint32_t>(x >> 63);
    return o;
  }
  uint64_t word() const {
    return uint64_t{pending} | uint64_t{expected} << 20 |
           uint64_t{static_cast<uint32_t>(bytes) & 0x3fffffu} << 40 | uint64_t{1} << 62 |
           uint64_t{phase} << 63;
  }
};

enum class Action : uint8_t {
  init,
  inval,
  expect_tx,
  complete_tx,
  arrive,
  test_wait,
  try_wait,
  track,  ///< cp.async.mbarrier.arrive
};

/// Selection::imm.
struct Fields {
  Action action;
  bool wide_address;
  bool parity;          ///< waits: by parity, not by state
  bool has_result;      ///< arrive: the state is not `_`
  bool has_count;       ///< arrive: a count, or bytes with expect_tx
  bool expects, drops;  ///< arrive.expect_tx, arrive_drop
  bool not_complete;    ///< arrive.noComplete
  bool noinc;
  ptx::Space space;
  uint64_t packed() const {
    return static_cast<uint64_t>(action) |
           static_cast<uint64_t>(wide_address << 4 | parity << 5 | has_result << 6 |
                                 has_count << 7 | expects << 8 | drops << 9 | not_complete << 10 |
                                 noinc << 11) |
           static_cast<uint64_t>(space) << 16;
  }
  static Fields unpacked(uint64_t x) {
    const auto bit = [x](int at) { return (x >> at & 1) != 0; };
    return {static_cast<Action>(x & 15),
            bit(4),
            bit(5),
            bit(6),
            bit(7),
            bit(8),
            bit(9),
            bit(10),
            bit(11),
            static_cast<ptx::Space>(x >> 16 & 255)};
  }
};

/// The objects that the lanes name, checked.
struct Objects {
  uint8_t* at[kLanes];
  uint64_t offset[kLanes];
};
bool find_objects(Warp& warp, const Op& op, const Fields& f, const uint32_t* address, uint32_t mask,
                  Objects& objects) {
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, address[0], f.wide_address ? 64 : 32, static_cast<int32_t>(address[1]),
                 addresses);
  LanePointers at;
  const AccessSpec spec{.space = f.space,
                        .kind = f.action == Action::init ? AccessKind::store : AccessKind::atomic,
                        .semantics = ptx::Semantics::relaxed,
                        .scope = ptx::Scope::cta,
                        .bytes = 8};
  if (access(warp, op, spec, addresses, mask, at) != mask) return false;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    objects.at[lane] = at.at[lane];
    objects.offset[lane] = shared_offset(warp, f.space, addresses[lane]);
    if (objects.offset[lane] == ~0u) {
      report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::invalid_barrier), 1u << lane,
                         "an mbarrier must lie in shared memory");
      return false;
    }
  }
  return true;
}
Object read_object(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return Object::from(word);
}
void write_object(uint8_t* at, const Object& o) {
  const uint64_t word = o.word();
  std::memcpy(at, &word, 8);
}
void report(Warp& warp, const Op& op, int lane, const char* what) {
  report_with_detail(warp, op, static_cast<uint8_t>(FindingKind::invalid_barrier), 1u << lane,
                     what);
}

/// Ends the phase when all arrivals and bytes are in: tracked copies land.
void complete_if_due(Warp& warp, Object& o, uint32_t offset) {
  if (o.pending != 0 || o.bytes != 0) return;
  o.phase ^= 1;
  o.pending = o.expected;
  if (BlockBarriers::Barrier* b = block_barriers(warp).find(offset)) {
    for (const BlockBarriers::Tracked& t : b->tracked) t.copies->land(warp, t.bound, t.lanes);
    b->tracked.clear();
    b->expected_bytes = 0;
  }
}

void expect_bytes(Warp& warp, Object& o, uint32_t offset, uint32_t bytes) {
  o.bytes += static_cast<int32_t>(bytes);
  block_barriers(warp).at(offset).expected_bytes += bytes;
}

/// One lane's arrival of `count`; `bytes` are expected first.
void arrive(Warp& warp, const Op& op, const Fields& f, int lane, Object& o, uint32_t offset,
            uint32_t count, uint32_t bytes) {
  if (f.expects) expect_bytes(warp, o, offset, bytes);
  if (count > o.pending || count == 0) {
    report(warp, op, lane,
           count == 0 ? "an arrival of count 0"
                      : "more arrivals in this phase than mbarrier.init said");
    count = count == 0 ? 0 : o.pending;
  }
  if (f.drops) o.expected -= count < o.expected ? count : o.expected;
  o.pending -= count;
  if (f.not_complete && o.pending == 0 && o.bytes == 0) {
    report(warp, op, lane, "arrive.noComplete completes the phase");
  }
  complete_if_due(warp, o, offset);
}

void run_init(Warp& warp, const Op& op, const Fields& f, const uint32_t* list, uint32_t mask) {
  Objects objects;
  if (!find_objects(warp, op, f, list, mask, objects)) return;
  block_barriers(warp).note_change();
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint32_t count = warp.reg<uint32_t>(list[2])[lane];
    if (count == 0 || count > kLargestCount) {
      report(warp, op, lane, "mbarrier.init with a count outside 1 … 1048575");
      continue;
    }
    Object o;
    o.pending = o.expected = count;
    write_object(objects.at[lane], o);
    if (BlockBarriers::Barrier* b =
            block_barriers(warp).find(static_cast<uint32_t>(objects.offset[lane]))) {
      b->tracked.clear();
      b->expected_bytes = 0;
    }
  }
}

/// inval, expect_tx, complete_tx, arrive, track: they change the object, lane after lane.
void run_change(Warp& warp, const Op& op, const Fields& f, const uint32_t* list, uint32_t mask) {
  const bool returns = f.action == Action::arrive;
  const uint32_t* address = returns ? list + 1 : list;
  Objects objects;
  if (!find_objects(warp, op, f, address, mask, objects)) return;
  block_barriers(warp).note_change();
  // Before the loop: an arrival may complete the phase, and release what came before it.
  if (returns || f.action == Action::track) {
    observe_mbarrier(warp, op, mask, objects.offset, true);
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    Object o = read_object(objects.at[lane]);
    const uint32_t offset = static_cast<uint32_t>(objects.offset[lane]);
    if (!o.valid) {
      report(warp, op, lane, "no mbarrier is here: mbarrier.init has not run, or was overwritten");
      if (returns && f.has_result) warp.reg<uint64_t>(list[0])[lane] = 0;
      continue;
    }
    const uint32_t operand = returns && !f.has_count ? 1
                             : f.action == Action::inval || f.action == Action::track
                                 ? 0
                                 : warp.reg<uint32_t>(address[2])[lane];
    if (f.action == Action::inval) {
      std::memset(objects.at[lane], 0, 8);
      continue;
    }
    if (f.action == Action::expect_tx) {
      expect_bytes(warp, o, offset, operand);
    } else if (f.action == Action::complete_tx) {
      o.bytes -= static_cast<int32_t>(operand);
      complete_if_due(warp, o, offset);
    } else if (f.action == Action::track) {
      AsyncCopies& copies = async_copies(warp);
      block_barriers(warp).at(offset).tracked.push_back({&copies, copies.issued(), 1u << lane});
      // Without .noinc the arrival that the copies make is added to the count first: no change.
      if (f.noinc) arrive(warp, op, f, lane, o, offset, 1, 0);
    } else {
      if (f.has_result) warp.reg<uint64_t>(list[0])[lane] = o.word();
      arrive(warp, op, f, lane, o, offset, f.expects ? 1 : operand, operand);
    }
    write_object(objects.at[lane], o);
  }
}

void run_wait(Warp& warp, const Op& op, const Fields& f, const uint32_t* list, uint32_t mask) {
  Objects objects;
  if (!find_objects(warp, op, f, list + 1, mask, objects)) return;
  uint32_t complete = 0;
  int waiting = -1;
  uint32_t waiting_parity = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const Object o = read_object(objects.at[lane]);
    if (!o.valid) {
      report(warp, op, lane, "no mbarrier is here: mbarrier.init has not run, or was overwritten");
      complete |= 1u << lane;  // waiting for nothing would never end
      continue;
    }
    const uint32_t phase = f.parity
                               ? warp.reg<uint32_t>(list[3])[lane] & 1
                               : static_cast<uint32_t>(warp.reg<uint64_t>(list[3])[lane] >> 63);
    if (o.phase != phase) {
      complete |= 1u << lane;
    } else {
      waiting = lane;
      waiting_parity = phase;
    }
  }
  uint32_t& result = warp.pred(list[0]);
  result = (result & ~mask) | complete;
  BlockBarriers& barriers = block_barriers(warp);
  if (complete != 0) {
    barriers.forget_failed_wait(warp.index, complete);
    observe_mbarrier(warp, op, complete, objects.offset, false);
    observe_copy_wait(warp, op, complete);
  }
  if (waiting >= 0) {
    barriers.note_failed_wait(warp.index, op, mask & ~complete,
                              static_cast<uint32_t>(objects.offset[waiting]), waiting_parity);
    yield_after(warp);
  }
}

void run(Warp& warp, const Op& op, uint32_t mask) {
  const Fields f = Fields::unpacked(op.imm);
  const uint32_t* list = operand_list(warp, op);
  switch (f.action) {
    case Action::init:
      return run_init(warp, op, f, list, mask);
    case Action::test_wait:
    case Action::try_wait:
      return run_wait(warp, op, f, list, mask);
    default:
      return run_change(warp, op, f, list, mask);
  }
}

void run_pending_count(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t* list = operand_list(warp, op);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    warp.reg<uint32_t>(list[0])[lane] = Object::from(warp.reg<uint64_t>(list[1])[lane]).pending;
  }
}

Selection unsupported(const char* why) {
  Selection s;
  s.unsupported = why;
  return s;
}

}  // namespace

const Op* describe_failed_wait(Warp& warp, char* buffer, size_t size) {
  const BlockBarriers::FailedWait* w = block_barriers(warp).failed_wait(warp.index);
  if (w == nullptr) return nullptr;
  const Object o = read_object(shared_memory(warp) + w->offset);
  if (!o.valid || o.phase != w->parity) return nullptr;
  const BlockBarriers::Barrier* b = block_barriers(warp).find(w->offset);
  const uint64_t expected_bytes = b == nullptr ? 0 : b->expected_bytes;
  int n = std::snprintf(buffer, size, "mbarrier at shared offset 0x%x lacks %u of %u arrivals",
                        w->offset, o.pending, o.expected);
  if (o.bytes != 0 && n > 0 && static_cast<size_t>(n) < size) {
    std::snprintf(buffer + n, size - static_cast<size_t>(n), " and %d of %llu bytes", o.bytes,
                  static_cast<unsigned long long>(expected_bytes));
  }
  return w->op;
}

Selection select_mbarrier(const ptx::Instruction& x, const OperandWidths& widths) {
  const ptx::Modifiers& m = x.mods;
  const bool track = x.op == ptx::Opcode::cp && m.mbarrier_arrive;
  if (x.op != ptx::Opcode::mbarrier && !track) return {};
  Selection s;
  if (m.pending_count) {
    s.handler = run_pending_count;
    return s;
  }
  Fields f{};
  f.space = m.space;
  f.noinc = m.noinc;
  size_t address = 0;
  if (track) {
    f.action = Action::track;
  } else if (m.init) {
    f.action = Action::init;
  } else if (m.inval) {
    f.action = Action::inval;
  } else if (m.arrive) {
    f.action = Action::arrive;
    address = 1;
    f.has_result = !x.operands.empty() && x.operands[0].kind == ptx::Operand::Kind::reg;
    f.has_count = x.operands.size() == 3;
    f.expects = m.expect_tx;
    f.drops = m.drop;
    f.not_complete = m.no_complete;
  } else if (m.test_wait || m.try_wait) {
    f.action = m.test_wait ? Action::test_wait : Action::try_wait;
    address = 1;
    f.parity = m.parity;
  } else if (m.expect_tx || m.complete_tx) {
    f.action = m.expect_tx ? Action::expect_tx : Action::complete_tx;
  } else {
    return unsupported("this form of mbarrier");
  }
  if (x.operands.size() <= address || x.operands[address].kind != ptx::Operand::Kind::memory) {
    return unsupported("this form of mbarrier");
  }
  f.wide_address = widths.bits[address] == 64;
  s.handler = run;
  s.imm = f.packed();
  return s;
}

}  // namespace fiel::vgpu::FIEL_ISA
