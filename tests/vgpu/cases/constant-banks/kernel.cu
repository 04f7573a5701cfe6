// Constants and parameters by an index that differs from lane to lane, through pointers too.
struct Row {
  short a;
  int b;
  double c;
};
__constant__ int numbers[64] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__constant__ Row rows[4] = {{1, -2, 3.5}, {-10, 20, -30.25}, {100, -200, 300.125}, {-1000, 2000, 1e300}};
__constant__ unsigned char bytes[37] = "a constant of thirty-six characters.";
__constant__ int far_off[14000];  // the second half of a bank: all zeros but what the next line says
__constant__ int behind = 77;
__constant__ const int* to_number = &numbers[5];
__constant__ const unsigned char* const words[3] = {&bytes[0], &bytes[11], &bytes[29]};

extern "C" __global__ void constants(const int* x, int* y, double* d) {
  const int t = threadIdx.x;
  y[t] = numbers[x[t]];
  y[32 + t] = rows[x[t] & 3].a + rows[t & 3].b;
  d[t] = rows[(x[t] + 1) & 3].c;
  y[64 + t] = bytes[(x[t] * 5) % 36];
  y[96 + t] = to_number[x[t] & 7] + far_off[400 * x[t]] + behind;
  y[128 + t] = words[t % 3][x[t] & 3];
}
struct Table {
  char c[5];
  int i[8];
  long long l[3];
  float f[4];
};
extern "C" __global__ void parameters(const __grid_constant__ Table table, char c, short s, const int* x, int* y,
                                      const __grid_constant__ Table other) {
  const int t = threadIdx.x;
  const Table& one = t & 1 ? table : other;
  y[t] = one.i[x[t] & 7];
  y[32 + t] = table.c[t % 5] * c + s;
  y[64 + t] = static_cast<int>(other.l[t % 3] >> 32) + static_cast<int>(one.l[(t + 1) % 3]);
  y[96 + t] = static_cast<int>(4 * table.f[x[t] & 3]) - static_cast<int>(4 * other.f[t & 3]);
}
