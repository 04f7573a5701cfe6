// Nested loops with break, continue, switch, early return and a do-while: compiled for the host by
// answers_test.cpp and for the device by control_flow.cu, from these same lines.
#pragma once
#ifdef __CUDACC__
#define FLOW_FUNCTION static __device__ __forceinline__
#else
#define FLOW_FUNCTION static inline
#endif

FLOW_FUNCTION unsigned flow(unsigned x) {
  unsigned s = x;
  for (unsigned i = 0; i < (x & 15) + 3; ++i) {
    if ((s ^ i) % 7 == 3) continue;
    unsigned j = i;
    while (true) {
      switch ((s >> (j & 7)) & 7) {
        case 0:
          s += 17 * i + 1;
          break;
        case 1:
          s ^= s << 5;
          [[fallthrough]];
        case 2:
          s -= j;
          break;
        case 3:
          if (j & 1) goto next;
          s = s * 3 + 1;
          break;
        case 5:
          s = (s >> 3) | (s << 29);
          break;
        case 6:
          for (unsigned k = 0; k < (s & 3); ++k) {
            if (k == 2) break;
            s += k ^ i;
          }
          break;
        default:
          s ^= 0x9e3779b9u;
          break;
      }
      if (s % 11 == 5 || ++j > i + 9) break;
    }
    if (s % 101 == 7) return s ^ i;
    do {
      s = s * 1664525u + 1013904223u;
    } while (s & 0x300);
  next:
    s += i;
  }
  return s;
}
