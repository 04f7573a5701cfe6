// Virtual functions, tables of functions in constant memory, structures that come back, arguments of
// all types, functions that call each other, and lanes that call different ones at once.
struct Shape {
  int a, b;
  __device__ Shape(int a, int b) : a(a), b(b) {}
  __device__ virtual int area() const = 0;
  __device__ virtual int edges(int scale) const { return scale * (a + b); }
};
struct Box : Shape {
  using Shape::Shape;
  __device__ int area() const override { return a * b; }
};
struct Triangle : Shape {
  using Shape::Shape;
  __device__ int area() const override { return a * b / 2; }
  __device__ int edges(int scale) const override { return scale * (a + b + 3); }
};
struct Frame : Box {
  __device__ Frame(int a, int b) : Box(a, b), inside(a / 2, b / 2) {}
  __device__ int area() const override { return Box::area() - inside.area(); }
  Box inside;
};
__device__ __noinline__ int ask(const Shape* s, int scale) { return 1000 * s->area() + s->edges(scale); }

extern "C" __global__ void shapes(int* y) {
  __shared__ __align__(8) unsigned char room[sizeof(Frame)];
  const int t = threadIdx.x;
  Box box(t, 3);
  Triangle triangle(t + 1, 4);
  if (t == 0) new (room) Frame(12, 10);
  __syncwarp();
  const Shape* const all[3] = {&box, &triangle, reinterpret_cast<Frame*>(room)};
  y[t] = ask(all[t % 3], t % 5);
}

struct Pair {
  long long low;
  double high;
};
__device__ __noinline__ Pair make(int i, float f) { return {i * 3ll, f * 0.5}; }
__device__ __noinline__ Pair swap(Pair p, char c, short s) { return {static_cast<long long>(p.high) + s, p.low + c * 1.0}; }
__device__ __noinline__ long long many(char a, unsigned char b, short c, unsigned short d, int e, unsigned f, long long g,
                                       unsigned long long h, float i, double j, bool k, Pair l) {
  return a + b + c + d + e + static_cast<long long>(f) + g + static_cast<long long>(h) +
         static_cast<long long>(i * 4) + static_cast<long long>(j * 8) + k + l.low + static_cast<long long>(l.high);
}
extern "C" __global__ void arguments(long long* y) {
  const int t = threadIdx.x;
  const Pair p = swap(make(t, 4.0f * t), static_cast<char>(-t), static_cast<short>(t * 100));
  y[2 * t] = p.low * 1000 + static_cast<long long>(p.high);
  y[2 * t + 1] = many(-t, 200 + t, -300, 40000, -t * t, 3000000000u, -(1ll << 40), 1ull << 41, 0.25f * t, 0.125 * t,
                      t & 1, p);
}

__device__ __noinline__ int twice(int v) { return 2 * v; }
__device__ __noinline__ int next(int v) { return v + 1; }
__device__ __noinline__ int over_lanes(int v) { return v + __shfl_xor_sync(__activemask(), v, 0); }
__device__ __noinline__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1) * 2; }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1) + 3; }
typedef int (*Function)(int);
__constant__ Function functions[5] = {twice, next, even, odd, over_lanes};

// Each lane walks through the table on a way of its own.
extern "C" __global__ void walks(int* y) {
  const int t = threadIdx.x;
  int v = t, which = t % 5;
  for (int i = 0; i < 9; ++i) {
    v = functions[which](v & 15) + i;
    which = (which + 1 + v % 3) % 5;
  }
  y[t] = v;
}
