// The handlers against what a real GPU gave (golden/alu_sm90.txt, made by h200/alu_vectors.cu).
//
// Not in the list: forms that the virtual GPU refuses by name because no rule explains what the GPU
// gave (vmin, vmax and vshl with a secondary .min or .max; scalar video instructions with .sat and
// .add or a part of d; vshl.sat), and scalar video instructions with a fourth operand that nothing
// reads.
//
// Everything that IEEE 754 or the manual defines must be equal bit for bit. Approximations must lie
// within the manual's error of the GPU's value, NaN payloads of f64 are the GPU's own affair.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "bench_warp.h"
#include "places.h"
#include "vector_operands.h"

namespace fiel::vgpu::alu {
namespace {

using ptx::Opcode;
using ptx::Type;

struct Recorded {
  std::string text, classes;
  std::vector<uint64_t> d, d2, carry;
};

std::vector<Recorded> recorded(const std::string& path) {
  std::vector<Recorded> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    Recorded r;
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    r.text = line.substr(0, first);
    r.classes = line.substr(first + 1, second - first - 1);
    std::istringstream values(line.substr(second + 1));
    std::vector<uint64_t>* to = &r.d;
    for (std::string word; values >> word;) {
      if (word == "|")
        to = &r.d2;
      else if (word == "^")
        to = &r.carry;
      else
        to->push_back(std::stoull(word, nullptr, 16));
    }
    all.push_back(std::move(r));
  }
  return all;
}

bool is_nan(uint64_t x, Type t) {
  switch (t) {
    case Type::f64:
      return (x & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
    case Type::f32:
      return (x & 0x7fffffffu) > 0x7f800000u;
    case Type::f16:
      return (x & 0x7fffu) > 0x7c00u;
    case Type::bf16:
      return (x & 0x7fffu) > 0x7f80u;
    default:
      return false;
  }
}
bool is_approximate(const ptx::Instruction& in) {
  return in.mods.approx || in.mods.full || in.op == Opcode::tanh;
}
double real(uint64_t bits, Type t) {
  switch (t) {
    case Type::f64:
      return std::bit_cast<double>(bits);
    case Type::f16: {
      const double m = std::ldexp(static_cast<double>((bits & 0x3ff) | (bits & 0x7c00 ? 0x400 : 0)),
                                  std::max<int>(static_cast<int>(bits >> 10 & 31), 1) - 25);
      return bits & 0x8000 ? -m : m;
    }
    case Type::bf16:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
    default:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
}
double step(uint64_t bits, Type t) {  // one unit in the last place of a half
  return std::fabs(real((bits & 0x7fff) + 1, t) - real(bits & 0x7fff, t));
}
// Relative distance that the GPU's own approximations may keep from ours: the manual's bounds
// (2 ulp for most, 2^-22 for lg2, 2^-11 for tanh, 2^-20 for the gross f64 forms, an absolute 2^-20
// for sin and cos in their main range).
//
// sin and cos: the hardware first rounds x / 2pi to 24 bits, an error of |x| 2^-24 radians.
// Halves: one of their own units, for the two sides round different approximations.
bool close_enough(const ptx::Instruction& in, Type t, double ours, double theirs, double input) {
  if (std::isnan(ours) || std::isnan(theirs)) return std::isnan(ours) && std::isnan(theirs);
  if (ours == theirs) return true;
  const double size = std::fmax(std::fabs(ours), std::fabs(theirs));
  const double gap = std::fabs(ours - theirs);
  if (in.op == Opcode::sin || in.op == Opcode::cos)
    return std::fabs(input) > 100 || gap <= 0x1p-19 + std::fabs(input) * 0x1p-24;
  if (in.op == Opcode::lg2) return gap <= std::fmax(size * 0x1p-21, 0x1p-22);
  const double relative = t == Type::f16          ? 0x1p-9
                          : t == Type::bf16       ? 0x1p-6
                          : t == Type::f64        ? (in.mods.ftz ? 0x1p-19 : 0x1p-40)
                          : in.op == Opcode::tanh ? 0x1p-10
                                                  : 0x1p-21;
  // Around the border of subnormals flushing decides.
  return gap <= size * relative || (t != Type::f64 && size <= 0x1.1p-126) ||
         (t == Type::f16 && gap <= 0x1p-23);
}

class Comparison {
 public:
  explicit Comparison(const Recorded& r) : recorded_(r) {}

  /// Empty = agrees; else what differs in the first lane that does.
  std::string run() {
    Result<Parsed> parsed = parse_one(recorded_.text);
    if (!parsed) return "is not parsed: " + parsed.error().what;
    in_ = parsed->instruction;
    const Selection s = bench_.prepare(*parsed);
    if (!s.handler)
      return std::string("is refused: ") + (s.unsupported ? s.unsupported : "nobody's");
    make_operands(recorded_.text, recorded_.classes, values_);
    for (size_t k = 0; k < recorded_.classes.size(); ++k) {
      const char c = recorded_.classes[k];
      for (int lane = 0; lane < kLanes; ++lane) {
        const uint64_t value = values_[32 * k + static_cast<size_t>(lane)];
        if (c == 'c')
          bench_.carry() = (bench_.carry() & ~(1u << lane)) | carry_flag(value) << lane;
        else if (c != 'i')
          bench_.set_source(k, lane, value);
      }
    }
    bench_.run(kFullMask);
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto i = static_cast<size_t>(lane);
      // A base beyond 31 is undefined behaviour; the GPU's answer depends on the offset's sign bit.
      if (in_->op == Opcode::fns && values_[32 + i] > 31) continue;
      if (!equal(bench_.destination(lane), recorded_.d[i], lane))
        return describe(lane, bench_.destination(lane), recorded_.d[i]);
      if (!recorded_.d2.empty() && bench_.destination2(lane) != recorded_.d2[i])
        return "second destination, " + describe(lane, bench_.destination2(lane), recorded_.d2[i]);
      if (recorded_.carry.empty()) continue;
      const uint32_t carry = carry_flag(bench_.carry() >> lane & 1u);
      if (carry != recorded_.carry[i]) return "carry, " + describe(lane, carry, recorded_.carry[i]);
    }
    return "";
  }

 private:
  /// Of subtractions the text has borrows: the flag is 1 where nothing was borrowed.
  uint32_t carry_flag(uint64_t recorded) const {
    const bool subtract = in_->op == Opcode::sub || in_->op == Opcode::subc;
    return static_cast<uint32_t>(recorded) ^ (subtract ? 1u : 0u);
  }
  bool equal(uint64_t ours, uint64_t theirs, int lane) const {
    if (ours == theirs) return true;
    Type t = in_->mods.types[0];
    if (in_->op == Opcode::setp || in_->op == Opcode::set || in_->op == Opcode::slct ||
        in_->op == Opcode::selp)
      return false;
    const bool packed = t == Type::f16x2 || t == Type::bf16x2;
    if (packed) {
      const Type half = t == Type::f16x2 ? Type::f16 : Type::bf16;
      return equal_part(ours & 0xffff, theirs & 0xffff, half, 0) &&
             equal_part(ours >> 16, theirs >> 16, half, 0);
    }
    return equal_part(ours, theirs, t, static_cast<size_t>(lane));
  }
  bool equal_part(uint64_t ours, uint64_t theirs, Type t, size_t lane) const {
    if (ours == theirs) return true;
    const bool sign_only =
        in_->op == Opcode::abs || in_->op == Opcode::neg || in_->op == Opcode::copysign;
    if (is_nan(ours, t) && is_nan(theirs, t) && (t == Type::f64 || sign_only)) return true;
    if (!is_approximate(*in_)) return false;
    if (t == Type::f16 || t == Type::bf16)
      if (std::fabs(real(ours, t) - real(theirs, t)) <= step(ours, t)) return true;
    return close_enough(*in_, t, real(ours, t), real(theirs, t), real(values_[lane], t));
  }
  std::string describe(int lane, uint64_t ours, uint64_t theirs) const {
    std::ostringstream text;
    text << std::hex << "lane " << std::dec << lane << std::hex << " of (";
    for (size_t k = 0; k < recorded_.classes.size(); ++k)
      text << (k ? ", 0x" : "0x") << values_[32 * k + static_cast<size_t>(lane)];
    text << "): 0x" << ours << ", the GPU gave 0x" << theirs;
    return text.str();
  }

  const Recorded& recorded_;
  const ptx::Instruction* in_ = nullptr;
  Bench bench_;
  uint64_t values_[8 * 32] = {};
};

TEST(Golden, EveryInstructionGivesWhatTheGpuGave) {
  const std::string path = in_source("tests/vgpu/golden/alu_sm90.txt");
  const std::vector<Recorded> all = recorded(path);
  if (all.empty()) GTEST_SKIP() << path << " is not there: record it with h200/alu_vectors.cu";
  EXPECT_GT(all.size(), 2000u);
  size_t wrong = 0;
  for (const Recorded& r : all) {
    const std::string difference = Comparison(r).run();
    if (difference.empty()) continue;
    ++wrong;
    EXPECT_EQ(difference, "") << r.text;
  }
  EXPECT_EQ(wrong, 0u) << "of " << all.size();
}

}  // namespace
}  // namespace fiel::vgpu::alu
