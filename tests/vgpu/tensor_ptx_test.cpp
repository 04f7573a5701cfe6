// Tensor-core and matrix-memory instructions as PTX programs run them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "gpu_fixture.h"
#include "isa_builds.h"
#include "mma_model.h"

namespace fiel::vgpu {
namespace {

using mma_cases::El;
using mma_cases::Form;
using mma_cases::kForms;
using mma_cases::Operands;
using mma_cases::Pattern;

constexpr const char* kHeader = ".version 8.5\n.target sm_90\n.address_size 64\n";

std::string registers(const char* prefix, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(prefix) + std::to_string(first + i);
  }
  return text + "}";
}

/// kernel<index>(in, out): a block loads its Operands, executes the form, stores d.
std::string mma_kernel(const Form& f, int index) {
  const bool f64 = f.a == El::f64;
  const std::string type = f64 ? "b64" : "b32", prefix = f64 ? "%q" : "%r";
  std::ostringstream t;
  t << ".visible .entry kernel" << index << "(.param .u64 in, .param .u64 out)\n{\n"
    << ".reg .b32 %r<32>;\n.reg .b64 %q<32>;\n.reg .b64 %a<4>;\n.reg .b32 %t<4>;\n"
    << "ld.param.u64 %a0, [in];\nld.param.u64 %a1, [out];\n"
    << "mov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %tid.x;\n"
    << "mad.wide.u32 %a0, %t0, " << sizeof(Operands) << ", %a0;\n"
    << "mad.wide.u32 %a1, %t0, 1024, %a1;\n"
    << "mad.wide.u32 %a0, %t1, 8, %a0;\nmad.wide.u32 %a1, %t1, 8, %a1;\n";
  const auto load = [&](int reg, int slot) {
    t << "ld.global." << type << ' ' << prefix << reg << ", [%a0+" << slot * 256 << "];\n";
  };
  const int a = f.nc, b = a + f.na, c = b + f.nb;
  for (int i = 0; i < f.na; ++i) load(a + i, i);
  for (int i = 0; i < f.nb; ++i) load(b + i, 8 + i);
  for (int i = 0; i < f.nc; ++i) load(c + i, 12 + i);
  t << "mma.sync.aligned." << f.ptx << ' ' << registers(prefix.c_str(), 0, f.nc) << ", "
    << registers(prefix.c_str(), a, f.na) << ", " << registers(prefix.c_str(), b, f.nb) << ", "
    << registers(prefix.c_str(), c, f.nc) << ";\n";
  for (int i = 0; i < f.nc; ++i) {
    t << "st.global." << type << " [%a1+" << i * 256 << "], " << prefix << i << ";\n";
  }
  t << "ret;\n}\n";
  return t.str();
}

class TensorPtx : public OnEachBuild {};
INSTANTIATE_TEST_SUITE_P(Build, TensorPtx, testing::ValuesIn(kBuilds), build_name);

TEST_P(TensorPtx, EveryFormOfMmaGivesTheModelsBits) {
  std::string ptx = kHeader;
  for (int i = 0; i < mma_cases::kFormCount; ++i) ptx += mma_kernel(kForms[i], i);
  Gpu gpu(ptx, GetParam());
  for (int i = 0; i < mma_cases::kFormCount; ++i) {
    const Form& f = kForms[i];
    const Pattern pattern = mma_cases::applies(f, Pattern::near) ? Pattern::near : Pattern::raw;
    std::vector<Operands> operands;
    for (uint64_t s = 0; s < 2; ++s) operands.push_back(make_operands(f, pattern, s));
    const uint64_t in = gpu.upload(operands), out = gpu.allocate(2 * 1024);
    const LaunchReport report = gpu.launch(("kernel" + std::to_string(i)).c_str(), {2, 1, 1},
                                           {32, 1, 1}, Arguments().add(in).add(out));
    ASSERT_EQ(findings_of(report), "") << f.ptx;
    const auto results = gpu.download<uint64_t>(out, 256);
    const uint64_t mask = f.a == El::f64 ? ~uint64_t{0} : 0xffffffffu;
    for (size_t s = 0; s < 2; ++s) {
      const mma_model::Result expected = mma_model::multiply(f, operands[s]);
      for (int r = 0; r < f.nc; ++r) {
        for (int lane = 0; lane < 32; ++lane) {
          ASSERT_EQ(results[s * 128 + static_cast<size_t>(r * 32 + lane)] & mask,
                    expected.d[r][lane])
              << f.ptx << " register " << r << " lane " << lane;
        }
      }
    }
  }
}

TEST_P(TensorPtx, MmaByAPartOfAWarpIsAFinding) {
  const std::string ptx = kHeader + mma_kernel(kForms[1], 0);
  Gpu gpu(ptx, GetParam());
  const std::vector<Operands> operands = {make_operands(kForms[1], Pattern::near, 0)};
  const uint64_t in = gpu.upload(operands), out = gpu.allocate(1024);
  const LaunchReport report =
      gpu.launch("kernel0", {1, 1, 1}, {16, 1, 1}, Arguments().add(in).add(out));
  EXPECT_NE(find(report, FindingKind::inactive_lane_read), nullptr);
}

/// kernel(in, out): fills 512 bytes of shared memory with in[], then runs `body` (row address of
/// the lane in %s2, results in %r0..3), then out[register * 32 + lane].
std::string matrix_kernel(const std::string& body) {
  return std::string(kHeader) +
         ".visible .entry kernel(.param .u64 in, .param .u64 out)\n{\n"
         ".shared .align 16 .b8 tile[512];\n"
         ".reg .b32 %r<8>;\n.reg .b32 %s<8>;\n.reg .b64 %a<4>;\n"
         "ld.param.u64 %a0, [in];\nld.param.u64 %a1, [out];\nmov.u32 %s0, %tid.x;\n"
         "mad.wide.u32 %a2, %s0, 16, %a0;\nld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%a2];\n"
         "mov.u32 %s1, tile;\nmad.lo.u32 %s2, %s0, 16, %s1;\n"
         "st.shared.v4.u32 [%s2], {%r0,%r1,%r2,%r3};\nbar.sync 0;\n"
         "mov.u32 %r0, 0;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n" +
         body +
         "mad.wide.u32 %a1, %s0, 4, %a1;\n"
         "st.global.u32 [%a1], %r0;\nst.global.u32 [%a1+128], %r1;\n"
         "st.global.u32 [%a1+256], %r2;\nst.global.u32 [%a1+384], %r3;\nret;\n}\n";
}

/// Four 8×8 matrices; element = 64·matrix + 8·row + column.
std::vector<uint16_t> counted_matrices() {
  std::vector<uint16_t> values(256);
  for (size_t i = 0; i < 256; ++i) values[i] = static_cast<uint16_t>(i);
  return values;
}

std::vector<uint32_t> run_matrix_kernel(IsaChoice isa, const std::string& body) {
  Gpu gpu(matrix_kernel(body), isa);
  const uint64_t in = gpu.upload(counted_matrices()), out = gpu.allocate(512);
  const LaunchReport report =
      gpu.launch("kernel", {1, 1, 1}, {32, 1, 1}, Arguments().add(in).add(out));
  EXPECT_EQ(findings_of(report), "") << body;
  return gpu.download<uint32_t>(out, 128);
}

uint32_t two(int low, int high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

TEST_P(TensorPtx, LdmatrixGivesLaneLRowLOver4AndTwoColumns) {
  const auto d = run_matrix_kernel(
      GetParam(), "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%s2];\n");
  const auto swapped = run_matrix_kernel(
      GetParam(), "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r0,%r1,%r2,%r3}, [%s2];\n");
  EXPECT_EQ(d, swapped);
  for (int m = 0; m < 4; ++m) {
    for (int lane = 0; lane < 32; ++lane) {
      const int first = 64 * m + 8 * (lane / 4) + 2 * (lane % 4);
      EXPECT_EQ(d[static_cast<size_t>(32 * m + lane)], two(first, first + 1)) << m << ' ' << lane;
    }
  }
}

TEST_P(TensorPtx, LdmatrixTransposes) {
  for (const char* form : {".m8n8.x4.trans", ".x4.trans.m8n8"}) {
    const auto d = run_matrix_kernel(GetParam(), std::string("ldmatrix.sync.aligned") + form +
                                                     ".shared.b16 {%r0,%r1,%r2,%r3}, [%s2];\n");
    for (int m = 0; m < 4; ++m) {
      for (int lane = 0; lane < 32; ++lane) {
        const int first = 64 * m + 8 * (2 * (lane % 4)) + lane / 4;
        EXPECT_EQ(d[static_cast<size_t>(32 * m + lane)], two(first, first + 8)) << m << ' ' << lane;
      }
    }
  }
}

TEST_P(TensorPtx, LdmatrixX1AndX2ReadTheFirstLanesRowsOnly) {
  // The addresses of the other lanes are nonsense and must not be looked at.
  const std::string spoil = "setp.lt.u32 %p, %s0, LANES;\nselp.b32 %s2, %s2, 0x7ffffff1, %p;\n";
  for (int count : {1, 2}) {
    std::string body = ".reg .pred %p;\n" + spoil;
    body.replace(body.find("LANES"), 5, std::to_string(8 * count));
    body += count == 1 ? "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%s2];\n"
                       : "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r0,%r1}, [%s2];\n";
    const auto d = run_matrix_kernel(GetParam(), body);
    EXPECT_EQ(d[5], count == 1 ? two(10, 11) : two(17, 25));
    if (count == 2) {
      EXPECT_EQ(d[32 + 31], two(64 + 55, 64 + 63));
    }
  }
}

TEST_P(TensorPtx, LdmatrixOfAMisalignedRowIsAFinding) {
  Gpu gpu(matrix_kernel("add.u32 %s2, %s2, 4;\n"
                        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%s2];\n"),
          GetParam());
  const uint64_t in = gpu.upload(counted_matrices()), out = gpu.allocate(512);
  const LaunchReport report =
      gpu.launch("kernel", {1, 1, 1}, {32, 1, 1}, Arguments().add(in).add(out));
  EXPECT_EQ(report.status, LaunchStatus::faulted);
  EXPECT_NE(find(report, FindingKind::misaligned), nullptr);
}

TEST_P(TensorPtx, StmatrixIsTheInverseOfLdmatrix) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%s2];\n";
  const std::string read = "bar.sync 0;\nld.shared.v4.u32 {%r0,%r1,%r2,%r3}, [%s2];\n";
  const auto plain = run_matrix_kernel(
      GetParam(),
      load + "bar.sync 0;\nstmatrix.sync.aligned.m8n8.x4.shared.b16 [%s2], {%r0,%r1,%r2,%r3};\n" +
          read);
  const auto transposed = run_matrix_kernel(
      GetParam(), load +
                      "bar.sync 0;\nstmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%s2], "
                      "{%r0,%r1,%r2,%r3};\n" +
                      read);
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const int first = 8 * lane + 2 * r;
      EXPECT_EQ(plain[static_cast<size_t>(32 * r + lane)], two(first, first + 1));
      // Row `lane % 8` of matrix `lane / 8` holds what was column `lane % 8`.
      const int element = 64 * (lane / 8) + 16 * r + lane % 8;
      EXPECT_EQ(transposed[static_cast<size_t>(32 * r + lane)], two(element, element + 8));
    }
  }
}

TEST_P(TensorPtx, MovmatrixTransposesARegister) {
  const auto d = run_matrix_kernel(GetParam(),
                                   "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%s2];\n"
                                   "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;\n");
  for (int lane = 0; lane < 32; ++lane) {
    const int first = 16 * (lane % 4) + lane / 4;
    EXPECT_EQ(d[static_cast<size_t>(lane)], two(first, first + 8));
  }
}

// ---- wmma ----

uint16_t half_bits(int value) {
  return static_cast<uint16_t>(mma_cases::small_integer(El::f16, value));
}

struct Tile {
  const char* kernel;
  int m, n, k;
  El factor, acc;
  bool row_a, row_b, row_c;
};

/// Small integers, different in every place, of any type; stored in the layout asked for.
std::vector<uint8_t> store(El type, int rows, int columns, bool row_major,
                           const std::function<int(int, int)>& value) {
  const size_t bytes = static_cast<size_t>(mma_cases::bits_of(type)) / 8;
  std::vector<uint8_t> out(static_cast<size_t>(rows * columns) * bytes);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const int v = value(i, j);
      uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(v));
      if (!mma_cases::is_integer(type)) bits = mma_cases::small_integer(type, v);
      const size_t at = static_cast<size_t>(row_major ? i * columns + j : j * rows + i);
      std::memcpy(&out[at * bytes], &bits, bytes);
    }
  }
  return out;
}
double value_of(El type, uint64_t bits) {
  if (type == El::s32) return static_cast<int32_t>(bits);
  if (type == El::f16) return mma_model::f16_value(bits);
  if (type == El::f32) return static_cast<double>(mma_model::f32_of(bits));
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}

class WmmaTiles : public testing::TestWithParam<std::tuple<Tile, IsaChoice>> {
 protected:
  void SetUp() override { FIEL_SKIP_UNLESS_RUNS(std::get<1>(GetParam())); }
};

TEST_P(WmmaTiles, MultipliesIntegersExactly) {
  const auto& [t, isa] = GetParam();
  Gpu gpu(read_text("tests/vgpu/kernels/wmma_tiles.ptx"), isa);
  const bool is_unsigned = t.factor == El::u8;
  const auto a = [&](int i, int j) { return (i * 7 + j * 5) % 9 - (is_unsigned ? 0 : 4); };
  const auto b = [&](int i, int j) { return (i * 3 + j * 11) % 8 - (is_unsigned ? 0 : 3); };
  const auto c = [](int i, int j) { return (i * 5 + j * 3) % 13 - 6; };
  const uint64_t pa = gpu.upload(store(t.factor, t.m, t.k, t.row_a, a));
  const uint64_t pb = gpu.upload(store(t.factor, t.k, t.n, t.row_b, b));
  const uint64_t pc = gpu.upload(store(t.acc, t.m, t.n, t.row_c, c));
  const size_t bytes = static_cast<size_t>(mma_cases::bits_of(t.acc)) / 8;
  const uint64_t pd = gpu.allocate(static_cast<size_t>(t.m * t.n) * bytes);
  const LaunchReport report =
      gpu.launch(t.kernel, {1, 1, 1}, {32, 1, 1}, Arguments().add(pa).add(pb).add(pc).add(pd));
  ASSERT_EQ(findings_of(report), "");
  const auto raw = gpu.download<uint8_t>(pd, static_cast<size_t>(t.m * t.n) * bytes);
  for (int i = 0; i < t.m; ++i) {
    for (int j = 0; j < t.n; ++j) {
      int expected = c(i, j);
      for (int k = 0; k < t.k; ++k) expected += a(i, k) * b(k, j);
      uint64_t bits = 0;
      std::memcpy(&bits, &raw[static_cast<size_t>(t.row_c ? i * t.n + j : j * t.m + i) * bytes],
                  bytes);
      ASSERT_EQ(value_of(t.acc, bits), 2.0 * expected) << t.kernel << ' ' << i << ' ' << j;
    }
  }
}

TEST_P(TensorPtx, WmmaOfTf32IsTruncatedAfterEachFourSteps) {
  // A row of A times B is 1 + 2^-24 + 2^-24, of which the second half of k has the last term. In
  // one sum, as mma.sync has it, they would make 1 + 2^-23; f32 has no 1 + 2^-24.
  std::vector<float> a(16 * 8), b(8 * 16, 1.0f), c(16 * 16);
  for (size_t i = 0; i < 16; ++i) {
    a[8 * i] = 1;
    a[8 * i + 1] = a[8 * i + 4] = 0x1p-24f;
  }
  Gpu gpu(read_text("tests/vgpu/kernels/wmma_tiles.ptx"), GetParam());
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pc = gpu.upload(c),
                 pd = gpu.allocate(1024);
  const LaunchReport report = gpu.launch("tf32_16x16_rr", {1, 1, 1}, {32, 1, 1},
                                         Arguments().add(pa).add(pb).add(pc).add(pd));
  ASSERT_EQ(findings_of(report), "");
  EXPECT_EQ(gpu.download<float>(pd, 256), std::vector<float>(256, 2.0f));
}

INSTANTIATE_TEST_SUITE_P(
    All, WmmaTiles,
    testing::Combine(
        testing::Values(Tile{"f16_16x16_rr", 16, 16, 16, El::f16, El::f32, true, true, true},
                        Tile{"f16_16x16_cc", 16, 16, 16, El::f16, El::f32, false, false, false},
                        Tile{"f16_32x8_rc", 32, 8, 16, El::f16, El::f32, true, false, true},
                        Tile{"f16_8x32_cr", 8, 32, 16, El::f16, El::f32, false, true, false},
                        Tile{"f16acc_16x16_rc", 16, 16, 16, El::f16, El::f16, true, false, true},
                        Tile{"f16acc_8x32_rc", 8, 32, 16, El::f16, El::f16, true, false, false},
                        Tile{"bf16_16x16_rc", 16, 16, 16, El::bf16, El::f32, true, false, true},
                        Tile{"bf16_32x8_cr", 32, 8, 16, El::bf16, El::f32, false, true, false},
                        Tile{"bf16_8x32_rr", 8, 32, 16, El::bf16, El::f32, true, true, true},
                        Tile{"tf32_16x16_rr", 16, 16, 8, El::tf32, El::f32, true, true, true},
                        Tile{"tf32_16x16_cc", 16, 16, 8, El::tf32, El::f32, false, false, false},
                        Tile{"s8_16x16_rc", 16, 16, 16, El::s8, El::s32, true, false, true},
                        Tile{"s8_32x8_cr", 32, 8, 16, El::s8, El::s32, false, true, false},
                        Tile{"u8_8x32_rr", 8, 32, 16, El::u8, El::s32, true, true, true},
                        Tile{"f64_8x8_rc", 8, 8, 4, El::f64, El::f64, true, false, true},
                        Tile{"f64_8x8_cr", 8, 8, 4, El::f64, El::f64, false, true, false}),
        testing::ValuesIn(kBuilds)),
    [](const auto& tile) {
      return std::get<0>(tile.param).kernel + ("_" + name_of(std::get<1>(tile.param)));
    });

TEST_P(TensorPtx, WmmaOfFourBitsAndOfBits) {
  // A(i,k) and B(k,j) packed along k; c = 1000.
  const std::string ptx =
      std::string(kHeader) +
      ".visible .entry s4(.param .u64 a, .param .u64 b, .param .u64 d)\n{\n"
      ".reg .b32 %r<8>;\n.reg .b64 %p<4>;\n"
      "ld.param.u64 %p0, [a];\nld.param.u64 %p1, [b];\nld.param.u64 %p2, [d];\n"
      "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r0}, [%p0], 32;\n"
      "wmma.load.b.sync.aligned.col.m8n8k32.global.s4 {%r1}, [%p1], 32;\n"
      "mov.u32 %r2, 1000;\n"
      "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r3,%r4}, {%r0}, {%r1}, {%r2,%r2};\n"
      "wmma.store.d.sync.aligned.row.m8n8k32.global.s32 [%p2], {%r3,%r4}, 8;\nret;\n}\n"
      ".visible .entry b1(.param .u64 a, .param .u64 b, .param .u64 d)\n{\n"
      ".reg .b32 %r<8>;\n.reg .b64 %p<4>;\n"
      "ld.param.u64 %p0, [a];\nld.param.u64 %p1, [b];\nld.param.u64 %p2, [d];\n"
      "wmma.load.a.sync.aligned.row.m8n8k128.global.b1 {%r0}, [%p0];\n"
      "wmma.load.b.sync.aligned.col.m8n8k128.global.b1 {%r1}, [%p1];\n"
      "mov.u32 %r2, 1000;\n"
      "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r3,%r4}, {%r0}, {%r1}, "
      "{%r2,%r2};\n"
      "wmma.store.d.sync.aligned.row.m8n8k128.global.s32 [%p2], {%r3,%r4}, 8;\nret;\n}\n";
  Gpu gpu(ptx, GetParam());
  std::vector<uint8_t> a(128), b(128);
  for (size_t i = 0; i < 128; ++i) {
    a[i] = static_cast<uint8_t>(mma_cases::mix(i));
    b[i] = static_cast<uint8_t>(mma_cases::mix(i + 1000));
  }
  const uint64_t pa = gpu.upload(a), pb = gpu.upload(b), pd = gpu.allocate(256);
  for (const char* kernel : {"s4", "b1"}) {
    const LaunchReport report =
        gpu.launch(kernel, {1, 1, 1}, {32, 1, 1}, Arguments().add(pa).add(pb).add(pd));
    ASSERT_EQ(findings_of(report), "") << kernel;
    const auto d = gpu.download<int32_t>(pd, 64);
    for (size_t i = 0; i < 8; ++i) {
      for (size_t j = 0; j < 8; ++j) {
        int expected = 1000;
        for (size_t byte = 0; byte < 16; ++byte) {
          const int x = a[16 * i + byte], y = b[16 * j + byte];
          if (kernel[0] == 'b') {
            expected += __builtin_popcount(static_cast<unsigned>(x ^ y));
          } else {
            const auto low = [](int v) { return ((v & 15) ^ 8) - 8; };
            expected += low(x) * low(y) + low(x >> 4) * low(y >> 4);
          }
        }
        EXPECT_EQ(d[8 * i + j], expected) << kernel << ' ' << i << ' ' << j;
      }
    }
  }
}

TEST_P(TensorPtx, WmmaWithAccumulatorsOfTwoTypes) {
  const std::string ptx =
      std::string(kHeader) +
      ".visible .entry widen(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n"
      ".reg .b32 %a<8>;\n.reg .b32 %b<8>;\n.reg .b32 %c<8>;\n.reg .b32 %d<8>;\n.reg .b64 %p<4>;\n"
      "ld.param.u64 %p0, [a];\nld.param.u64 %p1, [b];\nld.param.u64 %p2, [c];\n"
      "ld.param.u64 %p3, [d];\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, "
      "[%p0];\n"
      "wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, "
      "[%p1];\n"
      "wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {%c0,%c1,%c2,%c3}, [%p2];\n"
      // d in registers of the factors: they must be read first.
      "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f16 {%a0,%a1,%a2,%a3,%b0,%b1,%b2,%b3}, "
      "{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, "
      "{%c0,%c1,%c2,%c3};\n"
      "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%p3], "
      "{%a0,%a1,%a2,%a3,%b0,%b1,%b2,%b3};\nret;\n}\n";
  Gpu gpu(ptx, GetParam());
  const auto a = [](int i, int j) { return (i * 7 + j * 5) % 9 - 4; };
  const auto b = [](int i, int j) { return (i * 3 + j * 11) % 8 - 3; };
  const auto c = [](int i, int j) { return (i * 5 + j * 3) % 13 - 6; };
  const uint64_t pa = gpu.upload(store(El::f16, 16, 16, true, a));
  const uint64_t pb = gpu.upload(store(El::f16, 16, 16, true, b));
  const uint64_t pc = gpu.upload(store(El::f16, 16, 16, true, c));
  const uint64_t pd = gpu.allocate(1024);
  const LaunchReport report =
      gpu.launch("widen", {1, 1, 1}, {32, 1, 1}, Arguments().add(pa).add(pb).add(pc).add(pd));
  ASSERT_EQ(findings_of(report), "");
  const auto d = gpu.download<float>(pd, 256);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      int expected = c(i, j);
      for (int k = 0; k < 16; ++k) expected += a(i, k) * b(k, j);
      EXPECT_EQ(d[static_cast<size_t>(16 * i + j)], static_cast<float>(expected));
    }
  }
  EXPECT_EQ(half_bits(3), 0x4200);
}

}  // namespace
}  // namespace fiel::vgpu
