__constant__ int cc[2] = {5, 6};
__device__ int gg[2] = {7, 8};
__device__ __noinline__ int rd(const int* p, int i) { return p[i]; }
struct P {
  int v[4];
};
extern "C" __global__ void spaces(int* o, const __grid_constant__ P p, int i) {
  __shared__ int s[2];
  int loc[2] = {i + 1, i + 2 + static_cast<int>(threadIdx.x)};
  if (threadIdx.x == 0) {
    s[0] = 3;
    s[1] = 4;
  }
  __syncthreads();
  o += threadIdx.x * 6;
  o[0] = rd(s, i);
  o[1] = rd(loc, i);
  o[2] = rd(cc, i);
  o[3] = rd(gg, i);
  o[4] = rd(p.v, i);
  o[5] = __isShared(s) | (__isLocal(loc) << 1) | (__isGlobal(gg) << 2) | (__isConstant(cc) << 3) |
         (__isGlobal(s) << 4);
}
