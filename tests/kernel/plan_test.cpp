#include "kernel/plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/files.h"
#include "kernel/kernel.h"

namespace fiel::kernel {
namespace {

NameLookup fixed() {
  return [](std::string_view name) -> std::optional<int64_t> {
    if (name == "N") return 1000;
    if (name == "in0.shape[1]") return 33;
    return std::nullopt;
  };
}
int64_t value(const std::string& text) {
  auto e = Expression::parse(text);
  EXPECT_TRUE(e) << text;
  auto v = e->evaluate(fixed());
  EXPECT_TRUE(v) << text << (v ? "" : to_string(v.error()));
  return v ? *v : -1;
}

TEST(Expression, Computes) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3 - 4 / 2"), 7);
  EXPECT_EQ(value("ceil_div(N, 256)"), 4);
  EXPECT_EQ(value("ceil_div(N, 250)"), 4);
  EXPECT_EQ(value("min(N, 7) + max(N % 7, in0.shape[1])"), 40);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
}

TEST(Expression, RefusesWithTheColumn) {
  for (const char* bad : {"", "1 +", "(1", "1 2", "foo(1,2)", "min(1)", "99999999999999999999"})
    EXPECT_FALSE(Expression::parse(bad)) << bad;
  EXPECT_NE(to_string(Expression::parse("1 + * 2").error()).find("column 5"), std::string::npos);
  EXPECT_FALSE(Expression::parse(std::string(1000, '(') + "1"));
}

TEST(Expression, ArithmeticThatGoesWrongIsAnError) {
  for (const char* bad :
       {"1 / 0", "1 % 0", "9223372036854775807 + 1", "9223372036854775807 * 2", "M"})
    EXPECT_FALSE(Expression::parse(bad)->evaluate(fixed())) << bad;
  EXPECT_FALSE(Expression::parse("(0 - 9223372036854775807 - 1) / (0 - 1)")->evaluate(fixed()));
}

const char* kPlan = R"toml(source = "k.ptx"
[symbols]
N = "in0.numel"
[scratch]
tmp = "4 * N"
[[launch]]
kernel = "add"
grid = ["ceil_div(N, 128)"]
block = [128]
shared = 16
args = ["in0", "out0", "tmp", "i32:N", "f32:0.5"]
)toml";

vgpu::KernelInfo entry() {
  vgpu::KernelInfo k;
  k.name = "_Z3addPKfPfS1_if";
  k.parameter_offsets = {0, 8, 16, 24, 28};
  k.parameter_bytes = {8, 8, 8, 4, 4};
  k.parameter_is_pointer = {true, true, true, false, false};
  k.parameter_block_bytes = 32;
  return k;
}
worker::CallRequest request() {
  worker::CallRequest q;
  q.inputs = {{0x1000, DType::f32, {10, 30}, {30, 1}}};
  q.outputs = {{0x2000, DType::f32, {10, 30}, {30, 1}}};
  return q;
}

TEST(Plan, ArgumentsAreLaidOutAsThePtxDeclares) {
  auto plan = parse_plan(kPlan, "x/k.plan.toml");
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_EQ(plan->source, "x/k.ptx");
  auto q = request();
  uint64_t scratch[] = {0x3000};
  auto block = pack_arguments(plan->launches[0], entry(), q, scratch, names_of(*plan, q));
  ASSERT_TRUE(block) << to_string(block.error());
  uint64_t pointers[3];
  int32_t n;
  float f;
  std::memcpy(pointers, block->data(), 24);
  std::memcpy(&n, block->data() + 24, 4);
  std::memcpy(&f, block->data() + 28, 4);
  EXPECT_EQ(pointers[0], 0x1000u);
  EXPECT_EQ(pointers[1], 0x2000u);
  EXPECT_EQ(pointers[2], 0x3000u);
  EXPECT_EQ(n, 300);
  EXPECT_EQ(f, 0.5f);
}

TEST(Plan, ArgumentsThatDoNotFitAreRefused) {
  auto plan = *parse_plan(kPlan, "k.plan.toml");
  auto q = request();
  uint64_t scratch[] = {0x3000};
  auto names = names_of(plan, q);
  auto e = entry();
  e.parameter_bytes[3] = 8;
  EXPECT_FALSE(pack_arguments(plan.launches[0], e, q, scratch, names));
  e = entry();
  e.parameter_is_pointer[1] = false;
  EXPECT_FALSE(pack_arguments(plan.launches[0], e, q, scratch, names));
  e = entry();
  e.parameter_offsets.pop_back();
  EXPECT_FALSE(pack_arguments(plan.launches[0], e, q, scratch, names));
  q.outputs.clear();
  EXPECT_FALSE(pack_arguments(plan.launches[0], entry(), q, scratch, names));
}

TEST(Plan, AnArgumentForAnEntryWithoutParametersIsRefusedAndZeroIsSaid) {
  auto plan = parse_plan(
      "source = \"k.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\n"
      "args = [\"in0\"]\n",
      "k.plan.toml");
  ASSERT_TRUE(plan) << to_string(plan.error());
  vgpu::KernelInfo none;
  none.name = "k";
  auto q = request();
  auto block = pack_arguments(plan->launches[0], none, q, {}, names_of(*plan, q));
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().what, "k takes 0 arguments, the plan gives 1");
}

TEST(Plan, AnEntryIsFoundByItsCppName) {
  std::vector<vgpu::KernelInfo> all = {entry()};
  EXPECT_TRUE(find_entry(all, "add"));
  EXPECT_TRUE(find_entry(all, "_Z3addPKfPfS1_if"));
  auto missing = find_entry(all, "ad");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().hint.find("_Z3add"), std::string::npos);
  all.push_back(entry());
  all[1].name = "_Z3addi";
  EXPECT_FALSE(find_entry(all, "add"));
}

TEST(Plan, MistakesPointAtTheirLine) {
  struct Case {
    const char* text;
    const char* expected;
  };
  for (const Case& c :
       {Case{"source = 3\n", "string"}, Case{"sourc = \"k.cu\"\n", "did you mean source"},
        Case{"source = \"k.cu\"\n[[launch]]\nkernel = \"k\"\n", "grid"},
        Case{"source = \"k.cu\"\n", "launch"},
        Case{"source = \"k.cu\"\n[[launch]]\nkernel=\"k\"\ngrid=[1]\nblock=[1]\nargs=[\"i32:\"]\n",
             ":6:"}}) {
    auto plan = parse_plan(c.text, "k.plan.toml");
    ASSERT_FALSE(plan) << c.text;
    EXPECT_NE(to_string(plan.error()).find(c.expected), std::string::npos)
        << to_string(plan.error());
  }
}

TEST(Kernel, KindsAreToldByName) {
  auto dir = TempDir::create("fiel-test-kernel");
  std::ofstream(dir->path() / "k.cu") << "//";
  std::ofstream(dir->path() / "k.txt") << "//";
  EXPECT_EQ(load_kernel(dir->path() / "k.cu")->kind, KernelKind::bare);
  EXPECT_EQ(load_kernel(dir->path() / "k.txt").error().code, ErrorCode::usage);
  EXPECT_EQ(load_kernel(dir->path() / "none.cu").error().code, ErrorCode::not_found);
  EXPECT_FALSE(load_kernel(dir->path()));
}

}  // namespace
}  // namespace fiel::kernel
