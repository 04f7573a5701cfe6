// Stores that no compiler would let through: inline assembly writes through a generic address.
__constant__ int table[4] = {1, 2, 3, 4};
struct Pair {
  int a, b;
};
__device__ __forceinline__ void store(const int* at) {
  asm volatile("st.u32 [%0], 5;" ::"l"(at) : "memory");
}
extern "C" __global__ void constant(int i) { store(table + i + threadIdx.x); }
extern "C" __global__ void parameter(const __grid_constant__ Pair pair, int i) {
  store(&pair.a + i);
}
