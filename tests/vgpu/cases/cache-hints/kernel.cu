// Loads and stores with every hint: each is a plain one to what a kernel can see.
#define LOAD(number, form)                                                                      \
  {                                                                                             \
    unsigned value;                                                                             \
    asm volatile(form " %0, [%1];" : "=r"(value) : "l"(x + number + t));                        \
    y[32 * number + t] = value;                                                                 \
  }
#define LOAD_POLICY(number, form, policy)                                                       \
  {                                                                                             \
    unsigned value;                                                                             \
    asm volatile(form " %0, [%1], %2;" : "=r"(value) : "l"(x + number + t), "l"(policy));       \
    y[32 * number + t] = value;                                                                 \
  }
#define STORE(number, form) \
  asm volatile(form " [%0], %1;" ::"l"(y + 32 * (number) + t), "r"(x[number + t]) : "memory");
#define STORE_POLICY(number, form, policy)                                                           \
  asm volatile(form " [%0], %1, %2;" ::"l"(y + 32 * (number) + t), "r"(x[number + t]), "l"(policy) \
               : "memory");

extern "C" __global__ void loads(const unsigned* x, unsigned* y) {
  const int t = threadIdx.x;
  asm volatile("prefetch.global.L1 [%0];" ::"l"(x));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(x + 32));
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(x));
  asm volatile("prefetchu.L1 [%0];" ::"l"(x));
  LOAD(0, "ld.global.ca.u32")
  LOAD(1, "ld.global.cg.u32")
  LOAD(2, "ld.global.cs.u32")
  LOAD(3, "ld.global.lu.u32")
  LOAD(4, "ld.global.cv.u32")
  LOAD(5, "ld.global.nc.u32")
  LOAD(6, "ld.global.nc.L1::no_allocate.L2::256B.u32")
  LOAD(7, "ld.global.L1::evict_first.u32")
  LOAD(8, "ld.global.L1::evict_last.L2::128B.u32")
  LOAD(9, "ld.global.L1::evict_unchanged.L2::64B.u32")
  LOAD(10, "ld.volatile.global.u32")
  LOAD(11, "ld.relaxed.gpu.global.u32")
  LOAD(12, "ld.acquire.sys.global.u32")
  LOAD(13, "ldu.global.u32")
  LOAD(14, "ld.ca.u32")
  unsigned long long last, half, range;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
  asm volatile("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(half));
  asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %0, [%1], 128, 256;"
               : "=l"(range) : "l"(x));
  LOAD_POLICY(15, "ld.global.L2::cache_hint.u32", last)
  LOAD_POLICY(16, "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.u32", half)
  LOAD_POLICY(17, "ld.global.L2::cache_hint.u32", range)
}
extern "C" __global__ void stores(const unsigned* x, unsigned* y) {
  const int t = threadIdx.x;
  unsigned long long first;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  STORE(0, "st.global.wb.u32")
  STORE(1, "st.global.cg.u32")
  STORE(2, "st.global.cs.u32")
  STORE(3, "st.global.wt.u32")
  STORE(4, "st.global.L1::no_allocate.u32")
  STORE(5, "st.volatile.global.u32")
  STORE(6, "st.relaxed.cta.global.u32")
  STORE(7, "st.release.gpu.global.u32")
  STORE_POLICY(8, "st.global.L2::cache_hint.u32", first)
  asm volatile("red.global.add.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(y + 256 + t), "r"(t), "l"(first)
               : "memory");
}
// Vectors, read-only and streaming, as the intrinsics spell them.
extern "C" __global__ void vectors(const float4* x, float4* y, const double2* d, double2* e) {
  const int t = threadIdx.x;
  float4 v = __ldg(x + t);
  const float4 w = __ldcs(x + t), u = __ldcg(x + 31 - t);
  v.x += w.y, v.y += u.z, v.z += w.w, v.w += u.x;
  __stcs(y + t, v);
  double2 f = __ldlu(d + t);
  const double2 g = __ldcv(d + 31 - t);
  f.x += g.y, f.y -= g.x;
  __stwt(e + t, f);
}
