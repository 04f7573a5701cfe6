// Every accepted ld, st, atom and red on random data through a whole device, against a scalar
// model.
#include "memory_forms.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "alu/operands.h"
#include "alu/soft_float.h"
#include "gpu_fixture.h"
#include "isa_builds.h"

namespace fiel::vgpu {
namespace {

using ptx::AtomicOp;
using ptx::Opcode;
using ptx::Type;
using Place = MemoryForm::Place;
using Tile = std::array<uint8_t, kTileBytes>;

constexpr uint32_t kBlocks = 8;
constexpr uint32_t kThreads = kBlocks * 32;

uint64_t low(uint64_t x, uint32_t bits) { return bits >= 64 ? x : x & ((uint64_t{1} << bits) - 1); }
int64_t as_signed(uint64_t x, uint32_t bits) {
  return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits);
}

// ---- what one lane does ----

uint64_t flushed(uint64_t x) { return (x & 0x7f800000u) == 0 ? x & 0x80000000u : x; }

uint64_t sum(uint64_t a, uint64_t b, const model::Format& f) {
  using model::Mode;
  return encode(add(decode(a, f), decode(b, f), Mode::nearest), f, Mode::nearest);
}
uint64_t float_sum(Type type, bool flushes, uint64_t a, uint64_t b) {
  switch (type) {
    case Type::f32:
      return flushes ? flushed(sum(flushed(a), flushed(b), model::kF32)) : sum(a, b, model::kF32);
    case Type::f64:
      return sum(a, b, model::kF64);
    case Type::f16:
      return sum(a, b, model::kF16);
    case Type::bf16:
      return sum(a, b, model::kBf16);
    default: {
      const model::Format& f = type == Type::f16x2 ? model::kF16 : model::kBf16;
      return sum(a & 0xffff, b & 0xffff, f) | sum(a >> 16, b >> 16, f) << 16;
    }
  }
}

/// PTX: an f32 sum in global memory flushes subnormals, one in shared memory does not.
uint64_t updated(const MemoryForm& form, uint64_t old, uint64_t b, uint64_t c) {
  const Type type = form.mods.types[0];
  const uint32_t bits = ptx::bits_of(type);
  const bool less = ptx::is_signed(type) ? as_signed(b, bits) < as_signed(old, bits) : b < old;
  switch (form.mods.cas ? AtomicOp::cas : form.mods.atomic) {
    case AtomicOp::add:
      return ptx::is_float(type) ? float_sum(type, form.place == Place::global, old, b) : old + b;
    case AtomicOp::min:
      return less ? b : old;
    case AtomicOp::max:
      return less ? old : b;
    case AtomicOp::inc:
      return old >= b ? 0 : old + 1;
    case AtomicOp::dec:
      return old == 0 || old > b ? b : old - 1;
    case AtomicOp::and_:
      return old & b;
    case AtomicOp::or_:
      return old | b;
    case AtomicOp::xor_:
      return old ^ b;
    case AtomicOp::exch:
      return b;
    case AtomicOp::cas:
      return old == b ? c : old;
    case AtomicOp::none:
      break;
  }
  ADD_FAILURE() << form.text << " has no operation";
  return 0;
}

/// Operand classes of alu/operands.h.
char class_of(Type type) {
  switch (type) {
    case Type::f16:
      return 'e';
    case Type::bf16:
      return 'g';
    case Type::f16x2:
      return 'x';
    case Type::bf16x2:
      return 'y';
    case Type::f32:
      return 'f';
    case Type::f64:
      return 'd';
    default: {
      const uint32_t bits = ptx::bits_of(type);
      return bits <= 16 ? 'h' : bits == 32 ? 'r' : 'l';
    }
  }
}

// ---- a launch and the same on the host ----

struct Work {
  std::vector<uint8_t> memory;  ///< a tile for each block
  std::vector<LaneInput> lanes;
  std::vector<LaneOutput> results;
};

/// Each block has its own pattern of addresses; `meet`: lanes of one block may share an address.
uint32_t slot_of(uint32_t block, uint32_t lane, bool meet) {
  switch (block) {
    case 2:
    case 3:
      return lane * 5 % 32;
    case 4:
    case 5:
      return meet ? 7 : 31 - lane;
    case 6:
      return meet ? lane % 4 : lane ^ 1;
    default:
      return lane;
  }
}

Work make_work(const MemoryForm& form, alu::Random& random) {
  const bool atomic = form.op == Opcode::atom || form.op == Opcode::red;
  const uint32_t size = form.access_bytes(), element = form.element_bytes();
  const char letter = class_of(form.mods.types[0]);
  Work work;
  work.memory.resize(kBlocks * kTileBytes);
  for (size_t at = 0; at < work.memory.size(); at += element) {
    const uint64_t value = atomic ? alu::operand_value(random, letter, nullptr) : random.next();
    std::memcpy(&work.memory[at], &value, std::min(element, 8u));
    if (element == 16) std::memcpy(&work.memory[at + 8], &value, 8);
  }
  if (form.op == Opcode::ld)  // one tile for all: constants and parameters have no other
    for (uint32_t b = 1; b < kBlocks; ++b)
      std::copy_n(work.memory.begin(), kTileBytes, work.memory.begin() + b * kTileBytes);
  work.lanes.resize(kThreads);
  work.results.resize(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) {
    LaneInput& lane = work.lanes[i];
    const uint32_t block = i / 32;
    lane.offset = slot_of(block, i % 32, form.op != Opcode::st) * size;
    lane.enabled = block % 2 == 0 || random.below(2) == 0;
    for (uint64_t& value : lane.values) value = random.next();
    if (atomic) {
      uint64_t cell = 0;
      std::memcpy(&cell, &work.memory[block * kTileBytes + lane.offset], element);
      lane.values[1] = random.below(3) == 0 ? cell : alu::operand_value(random, letter, &cell);
      lane.values[2] = alu::operand_value(random, letter, &lane.values[1]);
    }
    work.results[i].values = lane.values;
  }
  return work;
}

void model_load(const MemoryForm& form, const uint8_t* at, LaneOutput& out) {
  const uint32_t element = form.element_bytes();
  for (uint32_t e = 0; e < form.mods.vector; ++e) {
    uint64_t value[2] = {};
    std::memcpy(value, at + e * element, element);
    if (ptx::is_signed(form.mods.types[0]))
      value[0] = static_cast<uint64_t>(as_signed(value[0], element * 8));
    out.values[e] = value[0];
    if (element == 16) out.values[e + 1] = value[1];
  }
}
void model_store(const MemoryForm& form, const LaneInput& lane, uint8_t* at) {
  const uint32_t element = form.element_bytes();
  for (uint32_t e = 0; e < form.mods.vector; ++e)
    std::memcpy(at + e * element, &lane.values[e], element);
}
void model_atomic(const MemoryForm& form, const LaneInput& lane, uint8_t* at, LaneOutput& out) {
  const uint32_t bits = form.element_bytes() * 8;
  uint64_t old = 0;
  std::memcpy(&old, at, bits / 8);
  const uint64_t now =
      low(updated(form, old, low(lane.values[1], bits), low(lane.values[2], bits)), bits);
  std::memcpy(at, &now, bits / 8);
  if (form.op == Opcode::atom) out.values[0] = old;
}

/// Lanes of a warp act lowest first (src/vgpu/isa/atomics.cpp).
void model_launch(const MemoryForm& form, Work& work) {
  for (uint32_t i = 0; i < kThreads; ++i) {
    const LaneInput& lane = work.lanes[i];
    if (lane.enabled == 0) continue;
    uint8_t* at = &work.memory[i / 32 * kTileBytes + lane.offset];
    if (form.op == Opcode::ld)
      model_load(form, at, work.results[i]);
    else if (form.op == Opcode::st)
      model_store(form, lane, at);
    else
      model_atomic(form, lane, at, work.results[i]);
  }
}

bool is_nan_f64(uint64_t x) { return (x & 0x7fffffffffffffffull) > 0x7ff0000000000000ull; }

void compare(const MemoryForm& form, const Work& got, const Work& wanted) {
  // Which NaN a sum in f64 gives is the machine's own affair.
  const bool any_nan = form.mods.types[0] == Type::f64;
  for (size_t at = 0; at < wanted.memory.size(); at += 8) {
    uint64_t g = 0, w = 0;
    std::memcpy(&g, &got.memory[at], 8);
    std::memcpy(&w, &wanted.memory[at], 8);
    if (any_nan && is_nan_f64(g) && is_nan_f64(w)) continue;
    ASSERT_EQ(g, w) << form.text << " memory of block " << at / kTileBytes << " at "
                    << at % kTileBytes << std::hex << ": 0x" << g << ", expected 0x" << w;
  }
  if (form.op == Opcode::st) return;
  for (size_t i = 0; i < kThreads; ++i)
    for (size_t e = 0; e < 8; ++e) {
      const uint64_t g = low(got.results[i].values[e], form.register_bits);
      const uint64_t w = low(wanted.results[i].values[e], form.register_bits);
      if (any_nan && is_nan_f64(g) && is_nan_f64(w)) continue;
      ASSERT_EQ(g, w) << form.text << " register " << e << " of " << form.register_bits
                      << " bits, block " << i / 32 << " lane " << i % 32 << std::hex << ": 0x" << g
                      << ", expected 0x" << w;
    }
}

void launch_on(Device& gpu, const MemoryForm& form, Work& work) {
  Tile tile;
  std::copy_n(work.memory.begin(), kTileBytes, tile.begin());
  const std::string ptx = kernel_around(form, tile);
  auto module = gpu.load_module(ptx, "form.ptx");
  ASSERT_TRUE(module) << form.text << "\n" << to_string(module.error());
  const auto upload = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const uint64_t at = gpu.allocate(bytes.size(), "buffer").value_or(0);
    EXPECT_TRUE(gpu.write(at, bytes));
    return at;
  };
  const uint64_t memory = upload(work.memory), lanes = upload(work.lanes),
                 results = upload(work.results);
  Arguments arguments;
  arguments.add(memory).add(lanes).add(results);
  LaunchRequest request;
  request.module = *module;
  request.kernel = "kernel";
  request.grid = {kBlocks, 1, 1};
  request.block = {32, 1, 1};
  request.parameters = arguments.bytes();
  if (form.place == Place::entry_parameter) {
    request.parameters.resize(64);  // .align 64
    request.parameters.insert(request.parameters.end(), tile.begin(), tile.end());
  }
  ASSERT_EQ(findings_of(gpu.launch(request)), "") << form.text << "\n" << ptx;
  EXPECT_TRUE(gpu.read(memory, std::as_writable_bytes(std::span(work.memory))));
  EXPECT_TRUE(gpu.read(results, std::as_writable_bytes(std::span(work.results))));
  for (const uint64_t at : {memory, lanes, results}) EXPECT_TRUE(gpu.free(at));
  EXPECT_TRUE(gpu.unload_module(*module));
}

class MemoryForms : public OnEachBuild {
 protected:
  void check(Opcode op) {
    // Two workers: what needs no order is then really done by two at once.
    auto gpu = Device::create({.memory_bytes = 64u << 20, .threads = 2, .isa = GetParam()});
    ASSERT_TRUE(gpu) << to_string(gpu.error());
    const std::vector<MemoryForm> forms = memory_forms(op);
    EXPECT_FALSE(forms.empty());
    for (const MemoryForm& form : forms) {
      alu::Random random(alu::hash_text(form.text));
      Work work = make_work(form, random);
      Work wanted = work;
      model_launch(form, wanted);
      launch_on(**gpu, form, work);
      compare(form, work, wanted);
      if (HasFailure()) return;
    }
    RecordProperty("instructions", static_cast<int>(forms.size()));
  }
};
INSTANTIATE_TEST_SUITE_P(Build, MemoryForms, testing::ValuesIn(kBuilds), build_name);

TEST_P(MemoryForms, LoadsGiveWhatIsThereExtendedToTheRegister) { check(Opcode::ld); }
TEST_P(MemoryForms, StoresWriteTheirElementsAndNothingElse) { check(Opcode::st); }
TEST_P(MemoryForms, AtomicsAgreeWithTheModel) { check(Opcode::atom); }
TEST_P(MemoryForms, ReductionsAgreeWithTheModel) { check(Opcode::red); }

}  // namespace
}  // namespace fiel::vgpu
