// A plain store into bytes that this thread's own cp.async still brings.
extern "C" __global__ void store_over(const int* x, int* y, int wait) {
  __shared__ alignas(16) int s[128];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(s + 4 * threadIdx.x));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + 4 * threadIdx.x));
  asm volatile("cp.async.commit_group;");
  if (wait) asm volatile("cp.async.wait_group 0;" ::: "memory");
  s[4 * threadIdx.x] = 7;
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  y[threadIdx.x] = s[4 * threadIdx.x];
}
