// Time of one warp-wide mma, by form: the arithmetic alone, without operand lists or memory.
//
//   bench_mma --benchmark_filter=bf16
#define FIEL_ISA avx2
#include "vgpu/isa/mma.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "../tests/vgpu/h200/mma_cases.h"

namespace {

using fiel::ptx::Type;
using mma_cases::El;
using mma_cases::Form;

Type type_of(El t) {
  constexpr Type kTypes[] = {Type::f16, Type::bf16, Type::tf32, Type::e4m3, Type::e5m2,
                             Type::s8,  Type::u8,   Type::s4,   Type::u4,   Type::b1,
                             Type::f64, Type::f32,  Type::s32};
  return kTypes[static_cast<int>(t)];
}

void run(benchmark::State& state, const Form& form, mma_cases::Pattern pattern) {
  namespace isa = fiel::vgpu::avx2;
  fiel::vgpu::MmaForm wanted;
  wanted.m = static_cast<uint8_t>(form.m);
  wanted.k = static_cast<uint16_t>(form.k);
  wanted.a = type_of(form.a);
  wanted.b = type_of(form.b);
  wanted.c = wanted.d = type_of(form.c);
  wanted.satfinite = form.satfinite;
  wanted.and_popc = form.and_popc;
  const fiel::vgpu::MmaFunction mma = isa::find_mma(wanted);
  if (mma == nullptr) {
    state.SkipWithError("no such form");
    return;
  }
  const mma_cases::Operands x = mma_cases::make_operands(form, pattern, 1);
  const size_t bytes = form.a == El::f64 ? 8 : 4;
  std::vector<uint8_t> regs(20 * 256);
  fiel::vgpu::MmaFragments f = {};
  uint8_t* next = regs.data();
  const auto place = [&](const uint64_t(&lanes)[32]) {
    for (size_t lane = 0; lane < 32; ++lane) std::memcpy(next + bytes * lane, &lanes[lane], bytes);
    next += 256;
    return next - 256;
  };
  for (int i = 0; i < form.na; ++i) f.a[i] = place(x.a[i]);
  for (int i = 0; i < form.nb; ++i) f.b[i] = place(x.b[i]);
  for (int i = 0; i < form.nc; ++i) f.c[i] = place(x.c[i]);
  for (int i = 0; i < form.nc; ++i) f.d[i] = place(x.c[i]);
  for (auto _ : state) {
    mma(f);
    benchmark::ClobberMemory();
  }
  state.counters["MAC/s"] = benchmark::Counter(
      static_cast<double>(form.m) * 8 * form.k * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Form& form : mma_cases::kForms) {
    const bool is_float = mma_cases::applies(form, mma_cases::Pattern::near);
    const auto pattern = is_float ? mma_cases::Pattern::near : mma_cases::Pattern::raw;
    benchmark::RegisterBenchmark(form.ptx,
                                 [&form, pattern](benchmark::State& s) { run(s, form, pattern); });
  }
  const Form& bf16 = mma_cases::kForms[5];
  benchmark::RegisterBenchmark(
      "m16n8k16 bf16, scalar path (an infinity)",
      [&](benchmark::State& s) { run(s, bf16, mma_cases::Pattern::special); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
