// The class of an instruction in the mix, and its floating-point operations a thread.
#include "vgpu/lower.h"

namespace fiel::vgpu {
namespace {

using O = ptx::Opcode;
using T = ptx::Type;

bool is_half(T type) {
  return type == T::f16 || type == T::f16x2 || type == T::bf16 || type == T::bf16x2;
}
bool is_packed(T type) { return type == T::f16x2 || type == T::bf16x2; }

MixClass arithmetic_class(T type) {
  if (type == T::f32 || type == T::tf32) return MixClass::fp32;
  if (type == T::f64) return MixClass::fp64;
  if (is_half(type)) return MixClass::half;
  return MixClass::integer;
}

}  // namespace

MixClass mix_of(const ptx::Instruction& instruction) {
  const ptx::Modifiers& mods = instruction.mods;
  switch (instruction.op) {
    case O::ld:
    case O::ldu:
    case O::st:
      return mods.space == ptx::Space::shared ? MixClass::shared : MixClass::load_store;
    case O::cp:
    case O::prefetch:
    case O::prefetchu:
      return MixClass::load_store;
    case O::ldmatrix:
    case O::stmatrix:
      return MixClass::shared;
    case O::atom:
    case O::red:
      return MixClass::atomic;
    case O::bra:
    case O::brx:
    case O::call:
    case O::ret:
    case O::exit:
    case O::trap:
      return MixClass::control;
    case O::bar:
    case O::barrier:
    case O::membar:
    case O::fence:
    case O::mbarrier:
      return MixClass::barrier;
    case O::shfl:
    case O::vote:
    case O::match:
    case O::redux:
    case O::activemask:
      return MixClass::warp;
    case O::mma:
    case O::movmatrix:
      return MixClass::tensor;
    case O::wmma:
      return mods.mma
                 ? MixClass::tensor
                 : (mods.space == ptx::Space::shared ? MixClass::shared : MixClass::load_store);
    case O::cvt:
      return MixClass::convert;
    case O::ex2:
    case O::lg2:
    case O::sin:
    case O::cos:
    case O::tanh:
    case O::rsqrt:
    case O::rcp:
    case O::sqrt:
      return MixClass::special_function;
    case O::div:
      return ptx::is_float(mods.types[0]) ? MixClass::special_function : MixClass::integer;
    case O::add:
    case O::sub:
    case O::mul:
    case O::fma:
    case O::mad:
    case O::min:
    case O::max:
    case O::abs:
    case O::neg:
    case O::copysign:
    case O::testp:
    case O::setp:
    case O::set:
      return arithmetic_class(mods.types[mods.n_types > 0 ? mods.n_types - 1 : 0]);
    case O::mov:
    case O::selp:
    case O::cvta:
      return MixClass::other;
    default:
      return MixClass::integer;
  }
}

uint16_t flops_of(const ptx::Instruction& instruction) {
  const ptx::Modifiers& mods = instruction.mods;
  const T type = mods.types[0];
  if (instruction.op == O::mma || (instruction.op == O::wmma && mods.mma)) {
    // 2mnk a warp, spread over its 32 threads; integer shapes are counted like the others.
    const uint32_t total = 2u * mods.shape.m * mods.shape.n * mods.shape.k;
    const uint32_t per_thread = total / 32;
    return static_cast<uint16_t>(per_thread);
  }
  if (!ptx::is_float(type)) return 0;
  const uint32_t lanes = is_packed(type) ? 2 : 1;
  switch (instruction.op) {
    case O::fma:
    case O::mad:
      return static_cast<uint16_t>(2 * lanes);
    case O::add:
    case O::sub:
    case O::mul:
    case O::div:
    case O::sqrt:
    case O::rsqrt:
    case O::rcp:
    case O::ex2:
    case O::lg2:
    case O::sin:
    case O::cos:
    case O::tanh:
      return static_cast<uint16_t>(lanes);
    default:
      return 0;
  }
}

}  // namespace fiel::vgpu
