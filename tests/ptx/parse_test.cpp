#include <gtest/gtest.h>

#include "ptx/module.h"

using namespace fiel;

TEST(Parse, ReadsAKernelWithPointerAttributesAndOneElementVectors) {
  const auto m = ptx::parse(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr .align 1 out, .param .u64 .ptr .global .align 4 in, .param .u32 n)
.maxntid 128, 1, 1
.minnctapersm 2
{ .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
  .loc 1 5 0
$L__func_begin0:
  ld.param.u64 %rd1, [out]; ld.param.b64 %rd2, [in];
  mov.pred %p1, -1;
$L__tmp0:
  mov.u32 %r1, 0x0;
  @%p1 ld.global.b32 { %r1 }, [ %rd2 + 0 ];
  add.s32 %r2, %r1, %r1;
  mov.u32 %r3, %tid.x; setp.eq.s32 %p2, %r3, 0;
  @%p2 st.global.b32 [ %rd1 + 0 ], { %r2 };
  ret;
$L__tmp1:
}
  .file 1 "x.py"
  .section .debug_abbrev { .b8 1
.b8 17
.b8 0
}
)");
  ASSERT_TRUE(m) << to_string(m.error());
  ASSERT_EQ(m->functions.size(), 1u);
  const ptx::Function& k = m->functions[0];
  EXPECT_EQ(k.max_ntid[0], 128u);
  EXPECT_EQ(k.min_nctapersm, 2u);
  EXPECT_EQ(k.body.size(), 10u);
  EXPECT_EQ(k.labels.size(), 3u);
  EXPECT_EQ(k.labels[2].statement, 10u);
  EXPECT_EQ(k.body[4].text, "@%p1 ld.global.b32 { %r1 }, [ %rd2 + 0 ]");
  EXPECT_TRUE(k.params[1].is_pointer);
  EXPECT_EQ(m->files[1], "x.py");
}
