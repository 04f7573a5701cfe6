// Every accepted instruction of a family on random operands, against the model.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "bench_warp.h"
#include "model.h"
#include "operands.h"

namespace fiel::vgpu::alu {
namespace {

using ptx::Opcode;

float distance_in_ulp(long double reference, float got) {
  if (std::isnan(reference)) return std::isnan(got) ? 0.0f : INFINITY;
  const auto nearest = static_cast<float>(reference);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0.0f : INFINITY;
  if (got == 0 && nearest == 0) return std::signbit(got) == std::signbit(reference) ? 0 : INFINITY;
  const float magnitude = std::fabs(nearest);
  const float ulp = std::nextafter(magnitude, INFINITY) - magnitude;
  return static_cast<float>(std::fabs(static_cast<long double>(got) - reference) / ulp);
}

bool is_nan(uint64_t x, uint32_t bits) {
  return bits == 64   ? (x & 0x7fffffffffffffffull) > 0x7ff0000000000000ull
         : bits == 32 ? (x & 0x7fffffffu) > 0x7f800000u
                      : (x & 0x7fffu) > 0x7c00u;
}

class Checker {
 public:
  explicit Checker(const Sample& sample) : sample_(sample), random_(hash_text(sample.text)) {}

  // False: the combination is refused (and the model agrees, or the test fails).
  bool start() {
    Result<Parsed> parsed = parse_one(sample_.text);
    if (!parsed) return false;  // tables over-generate; the parser has the last word
    parsed_ = std::move(*parsed);
    parsed_.instruction = &parsed_.module.functions[0].body[0];
    const Selection s = bench_.prepare(parsed_);
    if (s.handler) return true;
    EXPECT_NE(s.unsupported, nullptr) << sample_.text << " is nobody's";
    uint64_t zeros[8] = {};
    EXPECT_FALSE(model::evaluate(*parsed_.instruction, zeros, false, 32).legal)
        << sample_.text << ": " << (s.unsupported ? s.unsupported : "");
    return false;
  }

  void round(int number) {
    const uint32_t mask = number % 4 == 3 ? static_cast<uint32_t>(random_.next()) | 1u : kFullMask;
    if (number % 4 == 2) {
      const uint64_t source = random_.below(bench_.sources());
      if (sample_.sources[source] != 'i') bench_.alias_destination(source);
    }
    fill();
    const uint32_t carry = static_cast<uint32_t>(random_.next());
    bench_.carry() = carry;
    uint64_t before[kLanes], before2[kLanes] = {};
    for (int i = 0; i < kLanes; ++i) {
      before[i] = bench_.destination(i);
      if (bench_.has_destination2()) before2[i] = bench_.destination2(i);
    }
    bench_.run(mask);
    for (int i = 0; i < kLanes && !::testing::Test::HasFailure(); ++i) {
      if (mask >> i & 1u) {
        check(i, carry >> i & 1u);
      } else {
        EXPECT_EQ(bench_.destination(i), before[i]) << sample_.text << " wrote lane " << i;
        if (bench_.has_destination2()) {
          EXPECT_EQ(bench_.destination2(i), before2[i]) << sample_.text;
        }
      }
    }
    bench_.prepare(parsed_);
  }

 private:
  void fill() {
    for (int i = 0; i < kLanes; ++i) {
      bench_.set_destination(i, random_.next() & mask_of(bench_.destination_bits()));
      for (size_t k = 0; k < bench_.sources(); ++k) {
        const char c = sample_.sources[k];
        if (c != 'i')
          bench_.set_source(k, i, operand_value(random_, c, k ? &values_[i][k - 1] : nullptr));
        values_[i][k] = bench_.source(k, i);
      }
    }
  }
  static uint64_t mask_of(uint32_t bits) {
    return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  }

  void check(int lane, bool carry) {
    const model::Expected e =
        model::evaluate(*parsed_.instruction, values_[lane], carry, bench_.destination_bits());
    const uint64_t got = bench_.destination(lane);
    ASSERT_TRUE(e.legal) << sample_.text << " runs, but the model refuses it";
    if (e.approximate) return check_approximate(e, lane, got);
    if (e.any_nan) {
      EXPECT_TRUE(is_nan(got, bench_.destination_bits())) << describe(lane) << std::hex << got;
      return;
    }
    EXPECT_EQ(got, e.d) << describe(lane) << std::hex << "got 0x" << got << " want 0x" << e.d;
    if (bench_.has_destination2()) {
      EXPECT_EQ(bench_.destination2(lane), e.d2) << describe(lane) << "second destination";
    }
    if (parsed_.instruction->mods.cc) {
      EXPECT_EQ(bench_.carry() >> lane & 1u, static_cast<uint32_t>(e.carry))
          << describe(lane) << "carry";
    }
  }
  void check_approximate(const model::Expected& e, int lane, uint64_t got) {
    if (sample_.sources[0] != 'f') return;  // f64 and halves: special_test.cpp
    const float value = std::bit_cast<float>(static_cast<uint32_t>(got));
    long double reference = e.reference;
    if (parsed_.instruction->mods.ftz && std::fabs(reference) < 0x1p-126L)
      reference = std::copysign(0.0L, reference);
    const bool sine =
        parsed_.instruction->op == Opcode::sin || parsed_.instruction->op == Opcode::cos;
    if (sine && !std::isnan(reference)) {
      EXPECT_LT(std::fabs(value - reference), 0x1p-24L) << describe(lane) << value;
    } else if (!(parsed_.instruction->mods.ftz && std::fabs(reference) < 0x1.00001p-126L)) {
      EXPECT_LE(distance_in_ulp(reference, value), e.max_ulp)
          << describe(lane) << value << " want " << static_cast<double>(reference);
    }
  }
  std::string describe(int lane) const {
    std::string text = sample_.text + " (";
    char buffer[32];
    for (size_t k = 0; k < bench_.sources(); ++k) {
      std::snprintf(buffer, sizeof buffer, "%s0x%llx", k ? ", " : "",
                    static_cast<unsigned long long>(values_[lane][k]));
      text += buffer;
    }
    return text + ") ";
  }

  Sample sample_;
  Random random_;
  Parsed parsed_;
  Bench bench_;
  uint64_t values_[kLanes][8] = {};
};

// Operand sets in all: thousands for an instruction, fewer where an opcode has thousands of forms.
void check_opcode(Opcode op) {
  const std::vector<Sample> samples = samples_of(op);
  ASSERT_FALSE(samples.empty());
  const int rounds = samples.size() > 1000 ? 4 : samples.size() > 200 ? 16 : 80;
  size_t ran = 0;
  for (const Sample& sample : samples) {
    Checker checker(sample);
    if (!checker.start()) continue;
    ++ran;
    for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) checker.round(i);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(ran, 0u);
  ::testing::Test::RecordProperty("instructions", static_cast<int>(ran));
}

class EveryForm : public ::testing::TestWithParam<Opcode> {};

TEST_P(EveryForm, AgreesWithTheModel) { check_opcode(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Alu, EveryForm,
    ::testing::Values(
        Opcode::add, Opcode::sub, Opcode::mul, Opcode::mad, Opcode::mul24, Opcode::mad24,
        Opcode::div, Opcode::rem, Opcode::min, Opcode::max, Opcode::abs, Opcode::neg, Opcode::and_,
        Opcode::or_, Opcode::xor_, Opcode::not_, Opcode::cnot, Opcode::shl, Opcode::shr,
        Opcode::szext, Opcode::addc, Opcode::subc, Opcode::madc, Opcode::bfe, Opcode::bfi,
        Opcode::bfind, Opcode::bmsk, Opcode::popc, Opcode::clz, Opcode::brev, Opcode::fns,
        Opcode::prmt, Opcode::lop3, Opcode::shf, Opcode::sad, Opcode::dp4a, Opcode::dp2a,
        Opcode::fma, Opcode::rcp, Opcode::sqrt, Opcode::rsqrt, Opcode::copysign, Opcode::testp,
        Opcode::ex2, Opcode::lg2, Opcode::sin, Opcode::cos, Opcode::tanh, Opcode::setp, Opcode::set,
        Opcode::selp, Opcode::slct, Opcode::cvt, Opcode::vadd, Opcode::vsub, Opcode::vabsdiff,
        Opcode::vmin, Opcode::vmax, Opcode::vshl, Opcode::vshr, Opcode::vset, Opcode::vadd2,
        Opcode::vsub2, Opcode::vavrg2, Opcode::vabsdiff2, Opcode::vmin2, Opcode::vmax2,
        Opcode::vset2, Opcode::vadd4, Opcode::vsub4, Opcode::vavrg4, Opcode::vabsdiff4,
        Opcode::vmin4, Opcode::vmax4, Opcode::vset4),
    [](const auto& instance) {
      std::string name{ptx::name_of(instance.param)};
      return name;
    });

}  // namespace
}  // namespace fiel::vgpu::alu
