// atom and red. Lanes act one after the other, lowest first, so that a seed gives one result; only
// integer operations on global memory can meet another worker (launch.cpp runs everything whose
// order matters on one), and those use the host's atomics.
#include "ptx/module.h"
#include "vgpu/isa/memory_inline.h"

namespace fiel::vgpu::FIEL_ISA {
namespace {

using ptx::AtomicOp;
using ptx::Type;

struct Add {
  template <typename T>
  static T apply(T old, T b, T) {
    return static_cast<T>(old + b);
  }
};
struct Min {
  template <typename T>
  static T apply(T old, T b, T) {
    return b < old ? b : old;
  }
};
struct Max {
  template <typename T>
  static T apply(T old, T b, T) {
    return b > old ? b : old;
  }
};
struct And {
  template <typename T>
  static T apply(T old, T b, T) {
    return static_cast<T>(old & b);
  }
};
struct Or {
  template <typename T>
  static T apply(T old, T b, T) {
    return static_cast<T>(old | b);
  }
};
struct Xor {
  template <typename T>
  static T apply(T old, T b, T) {
    return static_cast<T>(old ^ b);
  }
};
struct Exchange {
  template <typename T>
  static T apply(T, T b, T) {
    return b;
  }
};
struct CompareAndSwap {
  template <typename T>
  static T apply(T old, T compare, T value) {
    return old == compare ? value : old;
  }
};
struct Increment {
  template <typename T>
  static T apply(T old, T limit, T) {
    return old >= limit ? T{0} : static_cast<T>(old + 1);
  }
};
struct Decrement {
  template <typename T>
  static T apply(T old, T limit, T) {
    return old == 0 || old > limit ? limit : static_cast<T>(old - 1);
  }
};

float flushed(float x) {
  uint32_t bits = 0;
  memcpy(&bits, &x, 4);
  if ((bits & 0x7f800000u) != 0) return x;
  bits &= 0x80000000u;
  memcpy(&x, &bits, 4);
  return x;
}
uint16_t add_f16(uint16_t a, uint16_t b) {
  // Exact enough: binary32 has 2 * 11 + 2 bits, so that rounding twice is rounding once.
  const float sum = _cvtsh_ss(a) + _cvtsh_ss(b);
  if (sum != sum) return 0x7fff;
  return _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT);
}
uint16_t add_bf16(uint16_t a, uint16_t b) {
  const uint32_t wide_a = static_cast<uint32_t>(a) << 16, wide_b = static_cast<uint32_t>(b) << 16;
  float x = 0, y = 0;
  memcpy(&x, &wide_a, 4);
  memcpy(&y, &wide_b, 4);
  const float sum = x + y;
  if (sum != sum) return 0x7fff;
  uint32_t bits = 0;
  memcpy(&bits, &sum, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// PTX: atom.add.f32 on global memory flushes subnormal inputs and results; on shared it does not,
/// whether the address says so or is generic.
struct AddF32Global {
  static uint32_t apply(uint32_t old, uint32_t b, uint32_t) {
    float x = 0, y = 0;
    memcpy(&x, &old, 4);
    memcpy(&y, &b, 4);
    const float sum = flushed(flushed(x) + flushed(y));
    if (sum != sum) return 0x7fffffffu;
    uint32_t bits = 0;
    memcpy(&bits, &sum, 4);
    return bits;
  }
};
struct AddF32 {
  static uint32_t apply(uint32_t old, uint32_t b, uint32_t) {
    float x = 0, y = 0;
    memcpy(&x, &old, 4);
    memcpy(&y, &b, 4);
    const float sum = x + y;
    if (sum != sum) return 0x7fffffffu;
    uint32_t bits = 0;
    memcpy(&bits, &sum, 4);
    return bits;
  }
};
struct AddF64 {
  static uint64_t apply(uint64_t old, uint64_t b, uint64_t) {
    double x = 0, y = 0;
    memcpy(&x, &old, 8);
    memcpy(&y, &b, 8);
    const double sum = x + y;
    uint64_t bits = 0;
    memcpy(&bits, &sum, 8);
    return bits;
  }
};
struct AddF16 {
  static uint16_t apply(uint16_t old, uint16_t b, uint16_t) { return add_f16(old, b); }
};
struct AddBf16 {
  static uint16_t apply(uint16_t old, uint16_t b, uint16_t) { return add_bf16(old, b); }
};
struct AddF16x2 {
  static uint32_t apply(uint32_t old, uint32_t b, uint32_t) {
    return static_cast<uint32_t>(add_f16(static_cast<uint16_t>(old), static_cast<uint16_t>(b))) |
           static_cast<uint32_t>(
               add_f16(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(b >> 16)))
               << 16;
  }
};
struct AddBf16x2 {
  static uint32_t apply(uint32_t old, uint32_t b, uint32_t) {
    return static_cast<uint32_t>(add_bf16(static_cast<uint16_t>(old), static_cast<uint16_t>(b))) |
           static_cast<uint32_t>(
               add_bf16(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(b >> 16)))
               << 16;
  }
};

template <typename T, typename F>
FIEL_INLINE T update(uint8_t* at, T b, T c, bool concurrent) {
  T* cell = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(cell, __ATOMIC_RELAXED);
  if (!concurrent) {
    __atomic_store_n(cell, static_cast<T>(F::apply(old, b, c)), __ATOMIC_RELAXED);
    return old;
  }
  while (!__atomic_compare_exchange_n(cell, &old, static_cast<T>(F::apply(old, b, c)), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
  return old;
}

template <typename T, typename F>
FIEL_INLINE T update_at(ptx::Space space, uint64_t address, uint8_t* at, T b, T c,
                        bool concurrent) {
  if constexpr (std::is_same_v<F, AddF32Global>)
    if (space == ptx::Space::generic && address - kSharedWindow < kWindowBytes)
      return update<T, AddF32>(at, b, c, concurrent);
  return update<T, F>(at, b, c, concurrent);
}

/// T: the type that F computes in; registers are 32-bit lanes up to 32 bits, 64-bit above.
template <typename T, typename F>
void atomic(Warp& warp, const Op& op, uint32_t mask) {
  using R = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const MemoryShape form = MemoryShape::decode(op.imm);
  alignas(64) uint64_t addresses[kLanes];
  lane_addresses(warp, op.a, (op.flags & kAddress64) != 0 ? 64 : 32, MemoryShape::offset_of(op.imm),
                 addresses);
  LanePointers at;
  mask = access(warp, op,
                {.space = form.space,
                 .kind = AccessKind::atomic,
                 .semantics = form.semantics,
                 .scope = form.scope,
                 .bytes = sizeof(T)},
                addresses, mask, at);
  const R* b = warp.reg<R>(op.b);
  const R* c = warp.reg<R>(op.c != 0 ? op.c : op.b);
  const bool concurrent = warp.executor->concurrent;
  R* to = warp.reg<R>(op.dst);
  for_lanes(mask, [&](int i) {
    const T old = update_at<T, F>(form.space, addresses[i], at.at[i], static_cast<T>(b[i]),
                                  static_cast<T>(c[i]), concurrent);
    using U = std::make_unsigned_t<T>;
    if (op.dst != 0) to[i] = static_cast<R>(static_cast<U>(old));
  });
}

template <typename T>
Handler integer(AtomicOp operation) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
    case AtomicOp::add:
      return &atomic<U, Add>;
    case AtomicOp::min:
      return &atomic<T, Min>;
    case AtomicOp::max:
      return &atomic<T, Max>;
    case AtomicOp::inc:
      return &atomic<U, Increment>;
    case AtomicOp::dec:
      return &atomic<U, Decrement>;
    case AtomicOp::exch:
      return &atomic<U, Exchange>;
    case AtomicOp::cas:
      return &atomic<U, CompareAndSwap>;
    case AtomicOp::and_:
      return &atomic<U, And>;
    case AtomicOp::or_:
      return &atomic<U, Or>;
    case AtomicOp::xor_:
      return &atomic<U, Xor>;
    case AtomicOp::none:
      break;
  }
  return nullptr;
}

}  // namespace

Handler select_atomic(const ptx::Instruction& instruction);
Handler select_atomic(const ptx::Instruction& instruction) {
  const ptx::Modifiers& mods = instruction.mods;
  const AtomicOp operation = mods.cas ? AtomicOp::cas : mods.atomic;
  if (mods.vector != 1) return nullptr;
  const Type type = mods.types[mods.n_types > 0 ? mods.n_types - 1 : 0];
  const bool add = operation == AtomicOp::add;
  switch (type) {
    case Type::b16:
    case Type::u16:
    case Type::s16:
      return operation == AtomicOp::cas || operation == AtomicOp::exch
                 ? integer<uint16_t>(operation)
                 : nullptr;
    case Type::u32:
    case Type::b32:
      return integer<uint32_t>(operation);
    case Type::s32:
      return integer<int32_t>(operation);
    case Type::u64:
    case Type::b64:
      return integer<uint64_t>(operation);
    case Type::s64:
      return integer<int64_t>(operation);
    case Type::f32:
      if (operation == AtomicOp::exch) return integer<uint32_t>(operation);
      if (!add) return nullptr;
      return mods.space == ptx::Space::shared ? &atomic<uint32_t, AddF32>
                                              : &atomic<uint32_t, AddF32Global>;
    case Type::f64:
      return add ? &atomic<uint64_t, AddF64> : nullptr;
    case Type::f16:
      return add ? &atomic<uint16_t, AddF16> : nullptr;
    case Type::bf16:
      return add ? &atomic<uint16_t, AddBf16> : nullptr;
    case Type::f16x2:
      return add ? &atomic<uint32_t, AddF16x2> : nullptr;
    case Type::bf16x2:
      return add ? &atomic<uint32_t, AddBf16x2> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace fiel::vgpu::FIEL_ISA
