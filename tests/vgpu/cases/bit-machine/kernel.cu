// A machine of 64 steps a thread whose state chooses the next operation on bits: prmt in its modes,
// bfe, bfi, lop3, shf, bfind, szext, dp4a, sad … under branches that diverge at every step.
__device__ unsigned step(unsigned s, unsigned k, unsigned& c) {
  unsigned d = 0;
  const unsigned p = (s >> 7 & 31) + k, q = s >> 19 & 63;
  switch (s % 20) {
    case 0: asm volatile("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p * 0x1357)); break;
    case 1: asm volatile("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 2: asm volatile("prmt.b32.b4e %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 3: asm volatile("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 4: asm volatile("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 5: asm volatile("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 6: asm volatile("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(p), "r"(q)); break;
    case 7: asm volatile("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(p), "r"(q)); break;
    case 8: asm volatile("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(c), "r"(s), "r"(p), "r"(q)); break;
    case 9: asm volatile("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 10: asm volatile("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(s), "r"(c), "r"(s >> p)); break;
    case 11: asm volatile("lop3.b32 %0, %1, %2, %3, 0x1d;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 12: asm volatile("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 13: asm volatile("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 14: asm volatile("bfind.s32 %0, %1;" : "=r"(d) : "r"(s)); d += c * 5; break;
    case 15: asm volatile("brev.b32 %0, %1;" : "=r"(d) : "r"(s)); d ^= __popc(c) + __clz(s); break;
    case 16: asm volatile("szext.wrap.s32 %0, %1, %2;" : "=r"(d) : "r"(s), "r"(p)); d ^= c; break;
    case 17: asm volatile("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(p)); break;
    case 18: asm volatile("bmsk.clamp.b32 %0, %1, %2;" : "=r"(d) : "r"(p), "r"(q)); d = (s & d) + c; break;
    default: asm volatile("sad.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(c), "r"(k)); break;
  }
  c += 0x9e3779b9u ^ k;
  return d;
}
extern "C" __global__ void machine(const unsigned* x, unsigned* y, unsigned* counts) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned s = x[t], c = 0x01234567u, taken = 0;
  for (unsigned k = 0; k < 64; ++k) {
    if ((s & 0xff) == 0x3c) continue;
    const unsigned before = s;
    s = step(s, k, c) + 0x01000193u * k;
    if (s == before) break;
    taken += s & 1;
  }
  y[t] = s;
  counts[t] = taken;
}
