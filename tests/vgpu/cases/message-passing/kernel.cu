// Words that one block leaves for another, announced in each way that the memory model has: a
// release and an acquire, fences around plain accesses of a flag, and a volatile one.
#include <cuda/atomic>

__device__ void work(int* data, int from) {
  for (int i = 0; i < 8; ++i) data[i] = from * 100 + i;
}
__device__ int sum(const int* data) {
  int s = 0;
  for (int i = 0; i < 8; ++i) s = 3 * s + data[i];
  return s;
}
// Block 0 sends four messages, block 1 answers each with their sum.
extern "C" __global__ void talk(int* data, int* flags, int* y) {
  if (blockIdx.x == 0) {
    work(data, 1);
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flags) : "memory");
    work(data + 8, 2);
    __threadfence();
    *static_cast<volatile int*>(flags + 1) = 1;
    work(data + 16, 3);
    asm volatile("fence.acq_rel.sys; st.relaxed.sys.global.u32 [%0], 1;" ::"l"(flags + 2) : "memory");
    work(data + 24, 4);
    __threadfence();
    atomicExch(flags + 3, 1);
    return;
  }
  int seen = 0;
  while (seen == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags) : "memory");
  y[0] = sum(data);
  while (*static_cast<volatile int*>(flags + 1) == 0) {
  }
  __threadfence();
  y[1] = sum(data + 8);
  for (seen = 0; seen == 0;) asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + 2) : "memory");
  asm volatile("fence.sc.gpu;" ::: "memory");
  y[2] = sum(data + 16);
  while (atomicCAS(flags + 3, 1, 2) != 1) __nanosleep(40);
  __threadfence();
  y[3] = sum(data + 24);
}
// A token goes round all blocks; each adds its number.
extern "C" __global__ void ring(int* token, int* y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> turn(token[0]);
  if (threadIdx.x != 0) return;
  for (int round = 0; round < 3; ++round) {
    const int mine = round * gridDim.x + blockIdx.x;
    while (turn.load(cuda::memory_order_acquire) != mine) {
    }
    y[mine] = (mine == 0 ? 1 : y[mine - 1]) * 3 + blockIdx.x;
    turn.fetch_add(1, cuda::memory_order_release);
  }
}
