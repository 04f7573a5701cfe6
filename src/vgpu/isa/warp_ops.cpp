// shfl, vote, match, redux, activemask: lanes that look at each other.
//
// Waiting for the lanes that a member mask names is the executor's; a handler sees the lanes that
// arrived (`mask`). Lanes may carry different member masks (tiles of one warp): each group of equal
// masks is its own operation.
#include "vgpu/findings.h"
#include "vgpu/isa/lanes.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::AtomicOp;
using ptx::ShuffleMode;
using ptx::VoteMode;

void report(Warp& warp, const Op& op, FindingKind kind, uint32_t lanes) {
  report_lanes(warp, op, static_cast<uint8_t>(kind), lanes);
}

/// Calls f(group, participants) for each set of executing lanes with the same member mask.
/// A lane that its own mask does not name has no defined result: reported, and left out.
template <typename F>
void for_groups(Warp& warp, const Op& op, uint32_t members_reg, uint32_t mask, F f) {
  const uint32_t* members = warp.reg<uint32_t>(members_reg);
  uint32_t rest = mask;
  while (rest) {
    const uint32_t named = members[__builtin_ctz(rest)];
    uint32_t group = 0;
    for (int i = 0; i < kLanes; ++i) group |= static_cast<uint32_t>(members[i] == named) << i;
    group &= rest;
    if (group & ~named) [[unlikely]]
      report(warp, op, FindingKind::bad_shuffle_mask, group & ~named);
    f(group, group & named);
    rest &= ~group;
  }
}

// ---- shfl
// ----------------------------------------------------------------------------------------
struct Source {
  alignas(32) uint32_t lane[kLanes];
  uint32_t in_range = 0;
};

template <ShuffleMode mode>
[[gnu::always_inline]] inline void source_lanes(Source& to, const uint32_t* b, const uint32_t* c) {
  alignas(32) uint32_t valid[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t lane = static_cast<uint32_t>(i), value = b[i] & 31u, clamp = c[i] & 31u;
    const uint32_t segment = (c[i] >> 8) & 31u;
    const uint32_t last = (lane & segment) | (clamp & ~segment);
    uint32_t j = 0;
    bool ok = false;
    switch (mode) {
      case ShuffleMode::up:  // for up, the clamp is the lowest lane of the segment
        j = lane - value;
        ok = static_cast<int32_t>(j) >= static_cast<int32_t>(last);
        break;
      case ShuffleMode::down:
        j = lane + value;
        ok = j <= last;
        break;
      case ShuffleMode::bfly:
        j = lane ^ value;
        ok = j <= last;
        break;
      default:
        j = (lane & segment) | (value & ~segment);
        ok = j <= last;
        break;
    }
    to.lane[i] = ok ? j : lane;
    valid[i] = ok ? ~0u : 0u;
  }
  to.in_range = sign_mask(valid);
}

// d[i] = a[lane[i]], 32 lanes: four in-register permutes a result vector.
[[gnu::always_inline]] inline void permute(uint32_t* to, const uint32_t* a, const uint32_t* lane) {
  __m256i source[4];
  settle();
  for (int v = 0; v < 4; ++v)
    source[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + 8 * v));
  for (int v = 0; v < 4; ++v) {
    const __m256i index = _mm256_load_si256(reinterpret_cast<const __m256i*>(lane + 8 * v));
    const __m256i block = _mm256_srli_epi32(index, 3);
    __m256i r = _mm256_permutevar8x32_epi32(source[0], index);
    for (int k = 1; k < 4; ++k) {
      const __m256i here = _mm256_cmpeq_epi32(block, _mm256_set1_epi32(k));
      r = _mm256_blendv_epi8(r, _mm256_permutevar8x32_epi32(source[k], index), here);
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 8 * v), r);
  }
  settle();
}

// Lanes whose source is not executing, or is not in their own member mask.
uint32_t reads_of_absent(const Source& s, const uint32_t* members, uint32_t mask) {
  uint32_t bad = 0;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t present = mask & members[i];
    bad |= ((~present >> s.lane[i]) & 1u) << i;
  }
  return bad & mask;
}

template <ShuffleMode mode>
void shuffle(Warp& warp, const Op& op, uint32_t mask) {
  Source s;
  source_lanes<mode>(s, warp.reg<uint32_t>(op.b), warp.reg<uint32_t>(op.c));
  const uint32_t* members = warp.reg<uint32_t>(op.d);
  uint32_t named = kFullMask;
  for (int i = 0; i < kLanes; ++i) named &= members[i];
  if (mask != kFullMask || named != kFullMask) [[unlikely]] {
    uint32_t outside = 0;  // lanes that their own member mask leaves out
    for (int i = 0; i < kLanes; ++i) outside |= ((~members[i] >> i) & 1u) << i;
    outside &= mask;
    if (outside) report(warp, op, FindingKind::bad_shuffle_mask, outside);
    const uint32_t bad = reads_of_absent(s, members, mask) & ~outside;
    if (bad) report(warp, op, FindingKind::inactive_lane_read, bad);
  }
  alignas(32) uint32_t result[kLanes];
  permute(result, warp.reg<uint32_t>(op.a), s.lane);
  for_lanes<uint32_t, false>(warp, op.dst, mask, [&](int i) { return result[i]; });
  if (op.dst2) write_pred(warp, op.dst2, s.in_range, mask);
}

Selection select_shuffle(const Instruction& in) {
  if (!in.mods.sync) return refuse("shfl without .sync does not exist on sm_70 and later");
  if (in.mods.types[0] != Type::b32 && ptx::bits_of(in.mods.types[0]) != 32)
    return refuse("shfl.sync moves .b32");
  switch (in.mods.shuffle) {
    case ShuffleMode::up:
      return run(shuffle<ShuffleMode::up>);
    case ShuffleMode::down:
      return run(shuffle<ShuffleMode::down>);
    case ShuffleMode::bfly:
      return run(shuffle<ShuffleMode::bfly>);
    case ShuffleMode::idx:
      return run(shuffle<ShuffleMode::idx>);
    default:
      return refuse("shfl needs .up, .down, .bfly or .idx");
  }
}

// ---- vote
// ----------------------------------------------------------------------------------------
template <VoteMode mode>
void vote(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t p = read_pred(warp, op.a, op.flags, kNegatedA);
  uint32_t* ballot = warp.reg<uint32_t>(op.dst);
  for_groups(warp, op, op.b, mask, [&](uint32_t group, uint32_t participants) {
    const uint32_t yes = p & participants;
    if constexpr (mode == VoteMode::ballot) {
      fill_lanes(ballot, yes, group);
    } else {
      const bool all = yes == participants, any = yes != 0;
      const bool result = mode == VoteMode::all ? all : mode == VoteMode::any ? any : all || !any;
      write_pred(warp, op.dst, result ? kFullMask : 0u, group);
    }
  });
}
Selection select_vote(const Instruction& in) {
  if (!in.mods.sync) return refuse("vote without .sync does not exist on sm_70 and later");
  const uint32_t flags = negation_flags(in, 1);
  switch (in.mods.vote) {
    case VoteMode::all:
      return run(vote<VoteMode::all>, 0, flags);
    case VoteMode::any:
      return run(vote<VoteMode::any>, 0, flags);
    case VoteMode::uni:
      return run(vote<VoteMode::uni>, 0, flags);
    case VoteMode::ballot:
      return run(vote<VoteMode::ballot>, 0, flags);
    default:
      return refuse("vote needs .all, .any, .uni or .ballot");
  }
}

// ---- match
// ---------------------------------------------------------------------------------------
template <typename T>
uint32_t equal_lanes(const T* a, T value) {
  return lanes_where<T>([=](int i) { return a[i] == value; });
}
template <typename T>
void match_any(Warp& warp, const Op& op, uint32_t mask) {
  alignas(32) T a[kLanes];
  copy_bytes<sizeof a>(a, warp.reg<T>(op.a));
  uint32_t* d = warp.reg<uint32_t>(op.dst);
  for_groups(warp, op, op.b, mask, [&](uint32_t group, uint32_t participants) {
    fill_lanes(d, 0, group & ~participants);
    for (uint32_t rest = participants; rest;) {
      const uint32_t same = equal_lanes(a, a[__builtin_ctz(rest)]) & rest;
      fill_lanes(d, same, same);
      rest &= ~same;
    }
  });
}
template <typename T>
void match_all(Warp& warp, const Op& op, uint32_t mask) {
  alignas(32) T a[kLanes];
  copy_bytes<sizeof a>(a, warp.reg<T>(op.a));
  uint32_t* d = warp.reg<uint32_t>(op.dst);
  for_groups(warp, op, op.b, mask, [&](uint32_t group, uint32_t participants) {
    const bool all = participants != 0 && (equal_lanes(a, a[__builtin_ctz(participants)]) &
                                           participants) == participants;
    fill_lanes(d, all ? participants : 0u, group);
    if (op.dst2) write_pred(warp, op.dst2, all ? kFullMask : 0u, group);
  });
}
Selection select_match(const Instruction& in) {
  const bool wide = ptx::bits_of(in.mods.types[0]) == 64;
  if (in.mods.any) return run(wide ? match_any<uint64_t> : match_any<uint32_t>);
  if (in.mods.all) return run(wide ? match_all<uint64_t> : match_all<uint32_t>);
  return refuse("match needs .any or .all");
}

// ---- redux
// ---------------------------------------------------------------------------------------
template <typename T, AtomicOp how>
void redux(Warp& warp, const Op& op, uint32_t mask) {
  alignas(32) uint32_t a[kLanes];
  copy_bytes<sizeof a>(a, warp.reg<uint32_t>(op.a));
  uint32_t* d = warp.reg<uint32_t>(op.dst);
  for_groups(warp, op, op.b, mask, [&](uint32_t group, uint32_t participants) {
    uint32_t r = 0;
    for (uint32_t rest = participants; rest; rest &= rest - 1) {
      const uint32_t x = a[__builtin_ctz(rest)];
      if (rest == participants) {
        r = x;
        continue;
      }
      switch (how) {
        case AtomicOp::add:
          r += x;
          break;
        case AtomicOp::min:
          r = static_cast<T>(x) < static_cast<T>(r) ? x : r;
          break;
        case AtomicOp::max:
          r = static_cast<T>(x) > static_cast<T>(r) ? x : r;
          break;
        case AtomicOp::and_:
          r &= x;
          break;
        case AtomicOp::or_:
          r |= x;
          break;
        default:
          r ^= x;
          break;
      }
    }
    fill_lanes(d, r, group);
  });
}
Selection select_redux(const Instruction& in) {
  const Type t = in.mods.types[0];
  if (t != Type::s32 && t != Type::u32 && t != Type::b32)
    return refuse("redux.sync reduces .s32, .u32 and .b32");
  const bool is_signed = t == Type::s32;
  switch (in.mods.atomic) {
    case AtomicOp::add:
      return run(redux<uint32_t, AtomicOp::add>);
    case AtomicOp::min:
      return run(is_signed ? redux<int32_t, AtomicOp::min> : redux<uint32_t, AtomicOp::min>);
    case AtomicOp::max:
      return run(is_signed ? redux<int32_t, AtomicOp::max> : redux<uint32_t, AtomicOp::max>);
    case AtomicOp::and_:
      return run(redux<uint32_t, AtomicOp::and_>);
    case AtomicOp::or_:
      return run(redux<uint32_t, AtomicOp::or_>);
    case AtomicOp::xor_:
      return run(redux<uint32_t, AtomicOp::xor_>);
    default:
      return refuse("redux.sync reduces by add, min, max, and, or, xor");
  }
}

void activemask(Warp& warp, const Op& op, uint32_t mask) {
  fill_lanes(warp.reg<uint32_t>(op.dst), mask, mask);
}

}  // namespace

Selection select_warp(const Instruction& in, const OperandWidths&) {
  switch (in.op) {
    case Opcode::shfl:
      return select_shuffle(in);
    case Opcode::vote:
      return select_vote(in);
    case Opcode::match:
      return select_match(in);
    case Opcode::redux:
      return select_redux(in);
    case Opcode::activemask:
      return run(activemask);
    default:
      return {};
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
