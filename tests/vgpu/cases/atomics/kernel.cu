extern "C" __global__ void histogram(unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[i & 255], 1u);
}
extern "C" __global__ void misc(unsigned* inc, int* top, unsigned long long* wide, float* sum,
                                double* dsum, unsigned* bits) {
  __shared__ unsigned count;
  const int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 2u);
  if (t < 20) atomicInc(inc, 7);
  int old = *(volatile int*)top, assumed;
  const int mine = (t * 37) % 64;
  do {
    assumed = old;
    old = atomicCAS(top, assumed, mine > assumed ? mine : assumed);
  } while (old != assumed);
  atomicAdd(wide, 0x100000001ull);
  atomicAdd(sum, 0.5f);
  atomicAdd(dsum, 0.25);
  atomicOr(&bits[0], 1u << (t & 31));
  atomicAnd(&bits[1], ~(1u << (t & 15)));
  atomicXor(&bits[2], 3u);
  atomicMin(reinterpret_cast<int*>(&bits[3]), -t);
  atomicMax(&bits[4], static_cast<unsigned>(t));
  atomicSub(&bits[5], 1u);
  atomicDec(&bits[6], 4u);
  __syncthreads();
  if (t == 0) bits[7] = count;
}
