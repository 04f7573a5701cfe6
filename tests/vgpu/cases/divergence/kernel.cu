extern "C" __global__ void branches(unsigned* active, int* path, int* sums) {
  const int t = threadIdx.x;
  int r;
  if (t & 1) {
    r = t * 3;
    path[t] = 1;
  } else {
    r = t + 100;
    path[t] = 2;
  }
  active[t] = __activemask();
  int s = r - r;
  for (int i = 0; i < t; ++i) {
    s += i;
    if (s < 0) sums[63] = s;
  }
  sums[t] = s;
}
