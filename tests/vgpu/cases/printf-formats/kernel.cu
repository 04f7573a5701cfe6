// Every conversion of device printf, with flags, widths and precisions, from several blocks: their
// lines may come in any order.
#include <cstdio>
extern "C" __global__ void formats(const char* word, int n, double d, long long l) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) {
    printf("%d integers %d %i %u %x %X %o %c|%+d|% d|%05d|%-5d|%5d|%.4d|%#x|%#o\n", b, n, -n, n, n, n, n, 'A' + b, n, n, n,
           n, n, n, n, n);
    printf("%d long %lld %llu %llx %ld %hd\n", b, l, l, l, static_cast<long>(l), static_cast<short>(n));
    printf("%d floats %f %e %g %G %E|%.0f|%.10f|%12.3e|%-12g|%+.2f|%a\n", b, d, d, d, d * 1e30, d, d, d, d, d, d, d);
    printf("%d more %f %g %f %g\n", b, static_cast<double>(1.0f / 3), 1e-7, d * 1e18, d * 1e308 * 10);
    printf("%d text %s|%10s|%-10s|%.2s|%%\n", b, word, word, "right", "cut");
    printf("%d stars %*d|%-*d|%.*f\n", b, 6, n, 6, n, 2, d);
  }
  if (threadIdx.x == 33 && b == 1) printf("another warp says %s %d\n", word, threadIdx.x);
  if (b == 2 && threadIdx.x < 3) printf("lane %d\n", threadIdx.x);
}
