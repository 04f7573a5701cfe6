// Tensor-core arithmetic against the scalar model, and against an H200 where it has been recorded.
#define FIEL_ISA avx2  // mma.h wants a set; find_mma is declared of both
#include "vgpu/isa/mma.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "isa_builds.h"
#include "mma_model.h"
#include "places.h"

namespace fiel::vgpu {
namespace {

using mma_cases::El;
using mma_cases::Form;
using mma_cases::kForms;
using mma_cases::Operands;
using mma_cases::Pattern;

ptx::Type type_of(El t) {
  switch (t) {
    case El::f16:
      return ptx::Type::f16;
    case El::bf16:
      return ptx::Type::bf16;
    case El::tf32:
      return ptx::Type::tf32;
    case El::e4m3:
      return ptx::Type::e4m3;
    case El::e5m2:
      return ptx::Type::e5m2;
    case El::s8:
      return ptx::Type::s8;
    case El::u8:
      return ptx::Type::u8;
    case El::s4:
      return ptx::Type::s4;
    case El::u4:
      return ptx::Type::u4;
    case El::b1:
      return ptx::Type::b1;
    case El::f64:
      return ptx::Type::f64;
    case El::f32:
      return ptx::Type::f32;
    case El::s32:
      return ptx::Type::s32;
  }
  return ptx::Type::none;
}

MmaFunction find_mma(IsaChoice isa, const MmaForm& form) {
  return isa == IsaChoice::avx512 ? avx512::find_mma(form) : avx2::find_mma(form);
}

MmaFunction function_of(const Form& f, IsaChoice isa) {
  return find_mma(isa, {.m = static_cast<uint8_t>(f.m),
                        .k = static_cast<uint16_t>(f.k),
                        .a = type_of(f.a),
                        .b = type_of(f.b),
                        .c = type_of(f.c),
                        .d = type_of(f.c),
                        .satfinite = f.satfinite,
                        .and_popc = f.and_popc});
}

/// Runs the handler's function on registers as the register file holds them.
mma_model::Result run(const Form& f, const Operands& x, MmaFunction mma) {
  const size_t bytes = f.a == El::f64 ? 8 : 4;
  uint8_t regs[20][256] = {};
  MmaFragments fragments = {};
  int next = 0;
  const auto place = [&](const uint64_t(&lanes)[32]) {
    for (int lane = 0; lane < 32; ++lane) {
      std::memcpy(regs[next] + bytes * static_cast<size_t>(lane), &lanes[lane], bytes);
    }
    return regs[next++];
  };
  for (int i = 0; i < f.na; ++i) fragments.a[i] = place(x.a[i]);
  for (int i = 0; i < f.nb; ++i) fragments.b[i] = place(x.b[i]);
  for (int i = 0; i < f.nc; ++i) fragments.c[i] = place(x.c[i]);
  // The worst case of aliasing: d is c, in another order.
  for (int i = 0; i < f.nc; ++i) fragments.d[i] = const_cast<uint8_t*>(fragments.c[f.nc - 1 - i]);
  mma(fragments);
  mma_model::Result result;
  for (int i = 0; i < f.nc; ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      std::memcpy(&result.d[i][lane], fragments.d[i] + bytes * static_cast<size_t>(lane), bytes);
    }
  }
  return result;
}

/// Every form with each build of the handlers.
class MmaForms : public testing::TestWithParam<std::tuple<int, IsaChoice>> {
 protected:
  void SetUp() override { FIEL_SKIP_UNLESS_RUNS(std::get<1>(GetParam())); }
};

TEST_P(MmaForms, AgreesWithTheScalarModelBitForBit) {
  const auto& [index, isa] = GetParam();
  const Form& f = kForms[index];
  const MmaFunction mma = function_of(f, isa);
  ASSERT_NE(mma, nullptr) << f.ptx;
  for (int p = 0; p < static_cast<int>(Pattern::kCount); ++p) {
    const Pattern pattern = static_cast<Pattern>(p);
    if (!mma_cases::applies(f, pattern)) continue;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const Operands x = mma_cases::make_operands(f, pattern, seed);
      const mma_model::Result expected = mma_model::multiply(f, x);
      const mma_model::Result got = run(f, x, mma);
      for (int r = 0; r < f.nc; ++r) {
        for (int lane = 0; lane < 32; ++lane) {
          ASSERT_EQ(got.d[r][lane], expected.d[r][lane])
              << f.ptx << ' ' << mma_cases::kPatternNames[p] << " seed " << seed << " register "
              << r << " lane " << lane << std::hex << ": got " << got.d[r][lane] << ", expected "
              << expected.d[r][lane];
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MmaForms,
                         testing::Combine(testing::Range(0, mma_cases::kFormCount),
                                          testing::ValuesIn(kBuilds)),
                         [](const auto& form) {
                           std::string name = kForms[std::get<0>(form.param)].ptx;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name + "_" + name_of(std::get<1>(form.param));
                         });

class Mma : public OnEachBuild {};
INSTANTIATE_TEST_SUITE_P(Build, Mma, testing::ValuesIn(kBuilds), build_name);

/// d of an m16n8k16 bf16 whose every row and column has the same 16 products a[k]·1, and this c.
uint32_t bf16_dot(IsaChoice isa, const std::vector<float>& terms, float c) {
  Operands x = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      for (int s = 0; s < 2; ++s) {
        const float term = terms[static_cast<size_t>(r / 2 * 8 + lane % 4 * 2 + s)];
        x.a[r][lane] |= mma_model::bits_of_f32(term) >> 16 << (16 * s);
      }
      x.b[r % 2][lane] = 0x3f803f80;
      x.c[r][lane] = mma_model::bits_of_f32(c);
    }
  }
  const Form f = {"", 16, 16, El::bf16, El::bf16, El::f32, false, false, 4, 2, 4};
  return static_cast<uint32_t>(run(f, x, function_of(f, isa)).d[3][17]);
}

TEST_P(Mma, TruncatesAtTwentyFiveBitsBelowTheLargestTerm) {
  const uint32_t one = 0x3f800000;
  EXPECT_EQ(bf16_dot(GetParam(), std::vector<float>(16, 0x1p-25f), 1), 0x3f800004u);  // 1 + 2^-21
  EXPECT_EQ(bf16_dot(GetParam(), std::vector<float>(16, 0x1p-26f), 1), one);
  std::vector<float> two(16, 0.0f);
  two[0] = 0x1p-24f;
  two[1] = 0x1p-25f;
  EXPECT_EQ(bf16_dot(GetParam(), two, 1), one);
}

TEST_P(Mma, SumsSixteenLargestProductsWithoutOverflowOfItsOwn) {
  // 1.9921875^2 · 16 in the fast path's integers is just below 2^31.
  EXPECT_EQ(bf16_dot(GetParam(), std::vector<float>(16, 1.9921875f), 1.9999999f),
            mma_model::bits_of_f32(33.875f - 0x1p-18f));
}

TEST_P(Mma, RefusesFormsThatDoNotExist) {
  using ptx::Type;
  EXPECT_EQ(find_mma(GetParam(), {16, 16, Type::bf16, Type::bf16, Type::f16, Type::f16}), nullptr);
  EXPECT_EQ(find_mma(GetParam(), {16, 16, Type::f16, Type::bf16, Type::f32, Type::f32}), nullptr);
  EXPECT_EQ(find_mma(GetParam(), {16, 64, Type::s8, Type::s8, Type::s32, Type::s32}), nullptr);
  EXPECT_EQ(find_mma(GetParam(), {8, 8, Type::f64, Type::f64, Type::f64, Type::f64}), nullptr);
}

TEST_P(Mma, GivesTheBitsOfAnH200) {
  std::ifstream file(in_source("tests/vgpu/golden/mma_sm90.txt"));
  if (!file) GTEST_SKIP() << "no recording: tests/vgpu/h200/mma_vectors.cu makes it";
  int lines = 0, different = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string form_name, pattern_name;
    words >> form_name >> pattern_name;
    const Form* form = nullptr;
    for (const Form& f : kForms) {
      if (form_name == f.ptx) form = &f;
    }
    int pattern = 0;
    while (pattern < static_cast<int>(Pattern::kCount) &&
           pattern_name != mma_cases::kPatternNames[pattern]) {
      ++pattern;
    }
    ASSERT_TRUE(form != nullptr && pattern < static_cast<int>(Pattern::kCount)) << line;
    const MmaFunction mma = function_of(*form, GetParam());
    ++lines;
    std::ostringstream got;
    got << form_name << ' ' << pattern_name << std::hex;
    mma_model::Result first;
    for (uint64_t s = 0; s < mma_cases::kSeeds; s += mma_cases::kSeedsPerHash) {
      uint64_t hash = 0;
      for (uint64_t j = 0; j < mma_cases::kSeedsPerHash; ++j) {
        const mma_model::Result d =
            run(*form, mma_cases::make_operands(*form, static_cast<Pattern>(pattern), s + j), mma);
        if (s + j == 0) first = d;
        hash = mma_cases::hash_result(hash, *form, d.d);
      }
      got << ' ';
      got.width(16);
      got.fill('0');
      got << hash;
    }
    for (int lane = 0; lane < 16; ++lane) got << ' ' << first.d[0][lane];
    if (got.str() != line) ++different;
    EXPECT_EQ(got.str(), line);
  }
  EXPECT_GT(lines, 0);
  RecordProperty("lines", lines);
  RecordProperty("different", different);
}

}  // namespace
}  // namespace fiel::vgpu
