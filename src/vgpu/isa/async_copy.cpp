// cp.async: copies from global to shared memory that are in flight until they are waited for.
#include <cstring>

#include "ptx/module.h"
#include "vgpu/isa/async_state.h"
#include "vgpu/isa/memory_access.h"
#include "vgpu/isa/observe.h"
#include "vgpu/isa/select.h"

namespace fiel::vgpu::FIEL_ISA {

void AsyncCopies::issue(uint32_t mask, uint32_t bytes, const uint32_t* offsets) {
  Copy& copy = copies_.emplace_back();
  copy.number = next_++;
  copy.mask = mask;
  copy.bytes = bytes;
  std::memcpy(copy.offset, offsets, sizeof copy.offset);
  std::memcpy(copy.group, commits_, sizeof copy.group);
}

void AsyncCopies::commit(uint32_t mask) {
  for (int lane = 0; lane < kLanes; ++lane) commits_[lane] += mask >> lane & 1;
}

void AsyncCopies::land_part(Warp& warp, Copy& copy, uint32_t lanes) {
  copy.mask &= ~lanes;
  // Neighbouring lanes mostly write neighbouring bytes.
  uint32_t begin = 0, end = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const uint32_t offset = copy.offset[__builtin_ctz(lanes)];
    if (offset != end || begin == end) {
      if (begin != end) land_shared_bytes(warp, begin, end - begin);
      begin = offset;
    }
    end = offset + copy.bytes;
  }
  if (begin != end) land_shared_bytes(warp, begin, end - begin);
}

void AsyncCopies::forget_landed() {
  while (!copies_.empty() && copies_.front().mask == 0) copies_.pop_front();
}

void AsyncCopies::wait(Warp& warp, uint32_t mask, uint32_t newest) {
  for (Copy& copy : copies_) {
    uint32_t ready = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      // Group g of g < commits - newest; written so that nothing wraps.
      const uint64_t after = uint64_t{copy.group[lane]} + newest;
      ready |= static_cast<uint32_t>(after < commits_[lane]) << lane;
    }
    ready &= copy.mask & mask;
    if (ready != 0) land_part(warp, copy, ready);
  }
  forget_landed();
}

void AsyncCopies::land(Warp& warp, uint64_t bound, uint32_t mask) {
  for (Copy& copy : copies_) {
    if (copy.number >= bound) break;
    if ((copy.mask & mask) != 0) land_part(warp, copy, copy.mask & mask);
  }
  forget_landed();
}

AsyncCopies& async_copies(Warp& warp) {
  Attachment& attachment = warp_attachment(warp);
  if (attachment.state == nullptr) {
    attachment.state = new AsyncCopies;
    attachment.destroy = [](void* state) { delete static_cast<AsyncCopies*>(state); };
  }
  return *static_cast<AsyncCopies*>(attachment.state);
}

namespace {

using ptx::Space;

/// Selection::imm of the copy itself.
struct CopyFields {
  uint32_t bytes;           ///< 4, 8, 16
  bool wide_to, wide_from;  ///< 64-bit addresses
  enum class Fourth : uint8_t { none, size32, size64, ignore, ignore_negated } fourth;
  Space to, from;
  uint64_t packed() const {
    return static_cast<uint64_t>(bytes | wide_to << 8 | wide_from << 9) |
           static_cast<uint64_t>(fourth) << 10 | static_cast<uint64_t>(to) << 16 |
           static_cast<uint64_t>(from) << 24;
  }
  static CopyFields unpacked(uint64_t x) {
    return {static_cast<uint32_t>(x & 255),
            (x >> 8 & 1) != 0,
            (x >> 9 & 1) != 0,
            static_cast<Fourth>(x >> 10 & 7),
            static_cast<Space>(x >> 16 & 255),
            static_cast<Space>(x >> 24 & 255)};
  }
};

/// Bytes that each lane reads; the rest of its copy is zeros.
void source_sizes(Warp& warp, const CopyFields& f, uint32_t slot, uint32_t* sizes) {
  using Fourth = CopyFields::Fourth;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t size = f.bytes;
    switch (f.fourth) {
      case Fourth::none:
        break;
      case Fourth::size32:
        size = warp.reg<uint32_t>(slot)[lane];
        break;
      case Fourth::size64:
        size = warp.reg<uint64_t>(slot)[lane];
        break;
      case Fourth::ignore:
      case Fourth::ignore_negated:
        if (((warp.pred(slot) >> lane & 1) != 0) == (f.fourth == Fourth::ignore)) size = 0;
        break;
    }
    sizes[lane] = size < f.bytes ? static_cast<uint32_t>(size) : f.bytes;
  }
}

/// memcpy of a size known at run time is a call; these sizes are not.
[[gnu::always_inline]] inline void copy_bytes(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  switch (bytes) {
    case 16:
      std::memcpy(to, from, 16);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    default:
      std::memcpy(to, from, bytes);
  }
}

/// Reads the sources into `data`, 16 bytes a lane; false when the launch was stopped.
bool read_sources(Warp& warp, const Op& op, const CopyFields& f, const uint64_t* from,
                  uint32_t mask, const uint32_t* sizes, uint8_t (&data)[kLanes][16]) {
  std::memset(data, 0, sizeof data);
  for (uint32_t rest = mask; rest != 0;) {
    const uint32_t size = sizes[__builtin_ctz(rest)];
    uint32_t same = 0;
    for (uint32_t r = rest; r != 0; r &= r - 1) {
      const int lane = __builtin_ctz(r);
      same |= static_cast<uint32_t>(sizes[lane] == size) << lane;
    }
    rest &= ~same;
    if (size == 0) continue;
    LanePointers at;
    const AccessSpec spec{
        .space = f.from, .kind = AccessKind::async_load, .bytes = size, .alignment = f.bytes};
    if (access(warp, op, spec, from, same, at) != same) return false;
    for (uint32_t r = same; r != 0; r &= r - 1) {
      const int lane = __builtin_ctz(r);
      copy_bytes(data[lane], at.at[lane], size);
    }
  }
  return true;
}

void run_copy(Warp& warp, const Op& op, uint32_t mask) {
  const CopyFields f = CopyFields::unpacked(op.imm);
  const uint32_t* list = operand_list(warp, op);
  alignas(64) uint64_t to[kLanes], from[kLanes];
  lane_addresses(warp, list[0], f.wide_to ? 64 : 32, static_cast<int32_t>(list[1]), to);
  lane_addresses(warp, list[2], f.wide_from ? 64 : 32, static_cast<int32_t>(list[3]), from);
  uint32_t sizes[kLanes];
  source_sizes(warp, f, f.fourth == CopyFields::Fourth::none ? 0 : list[5], sizes);
  alignas(64) uint8_t data[kLanes][16];
  if (!read_sources(warp, op, f, from, mask, sizes, data)) return;
  LanePointers at;
  const AccessSpec spec{.space = f.to,
                        .kind = AccessKind::async_store,
                        .bytes = f.bytes,
                        .values = data[0],
                        .value_stride = 16};
  if (access(warp, op, spec, to, mask, at) != mask) return;
  uint32_t offsets[kLanes] = {};
  for (uint32_t r = mask; r != 0; r &= r - 1) {
    const int lane = __builtin_ctz(r);
    copy_bytes(at.at[lane], data[lane], f.bytes);
    offsets[lane] = shared_offset(warp, f.to, to[lane]);
  }
  async_copies(warp).issue(mask, f.bytes, offsets);
}

void run_commit(Warp& warp, const Op&, uint32_t mask) { async_copies(warp).commit(mask); }

void run_wait_group(Warp& warp, const Op& op, uint32_t mask) {
  async_copies(warp).wait(warp, mask, static_cast<uint32_t>(op.imm));
  observe_copy_wait(warp, op, mask);
}
/// The same as commit_group and wait_group 0.
void run_wait_all(Warp& warp, const Op& op, uint32_t mask) {
  async_copies(warp).commit(mask);
  async_copies(warp).wait(warp, mask, 0);
  observe_copy_wait(warp, op, mask);
}

Selection unsupported(const char* why) {
  Selection s;
  s.unsupported = why;
  return s;
}

Selection select_copy(const ptx::Instruction& x, const OperandWidths& widths) {
  using Fourth = CopyFields::Fourth;
  const ptx::Modifiers& m = x.mods;
  const size_t count = x.operands.size() - (m.cache_hint ? 1 : 0);
  if (x.operands.size() < 3 || count < 3 || count > 4 || m.space != Space::shared ||
      m.space2 != Space::global) {
    return unsupported("cp.async other than .ca or .cg from global to shared memory");
  }
  const ptx::Operand& size = x.operands[2];
  const bool sized = size.kind == ptx::Operand::Kind::immediate &&
                     (size.bits == 4 || size.bits == 8 || size.bits == 16);
  if (!sized || (m.cache == ptx::CacheOp::cg && size.bits != 16)) {
    return unsupported("cp.async of a size other than 4, 8 or 16 bytes (16 only with .cg)");
  }
  CopyFields f{static_cast<uint32_t>(size.bits),
               widths.bits[0] == 64,
               widths.bits[1] == 64,
               Fourth::none,
               m.space,
               m.space2};
  if (count == 4) {
    f.fourth = widths.bits[3] == 1
                   ? (x.operands[3].negated ? Fourth::ignore_negated : Fourth::ignore)
               : widths.bits[3] == 64 ? Fourth::size64
                                      : Fourth::size32;
  }
  Selection s;
  s.handler = run_copy;
  s.imm = f.packed();
  return s;
}

}  // namespace

Selection select_async_copy(const ptx::Instruction& x, const OperandWidths& widths) {
  if (x.op != ptx::Opcode::cp || x.mods.mbarrier_arrive) return {};
  Selection s;
  if (x.mods.commit_group) {
    s.handler = run_commit;
  } else if (x.mods.wait_all) {
    s.handler = run_wait_all;
  } else if (x.mods.wait_group) {
    if (x.operands.size() != 1 || x.operands[0].kind != ptx::Operand::Kind::immediate) {
      return unsupported("cp.async.wait_group without a constant");
    }
    s.handler = run_wait_group;
    s.imm = x.operands[0].bits;
  } else {
    return select_copy(x, widths);
  }
  return s;
}

}  // namespace fiel::vgpu::FIEL_ISA
