// In which spaces a generic address lies: a bit each for global, shared, shared::cta, local, const,
// param and param::entry; and loads, stores and atomics that find the space themselves.
struct Pair {
  int a, b;
};
__constant__ int constants[4] = {1, 2, 3, 4};
__device__ int variable[2] = {5, 6};

__device__ __noinline__ unsigned spaces_of(const void* p) {
  unsigned bits = 0;
  const auto add = [&](unsigned one, unsigned is) { bits |= is ? one : 0; };
#define ASK(bit, space)                                                                           \
  {                                                                                               \
    unsigned is;                                                                                  \
    asm volatile("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is) : "l"(p)); \
    add(bit, is);                                                                                 \
  }
  ASK(1, "global")
  ASK(2, "shared")
  ASK(4, "shared::cta")
  ASK(8, "local")
  ASK(16, "const")
  ASK(32, "param")
  ASK(64, "param::entry")
  return bits;
}

// Two of each: the first and another address of the space.
extern "C" __global__ void spaces(unsigned* y, const __grid_constant__ Pair pair,
                                  const __grid_constant__ int number) {
  __shared__ int fixed[2];
  extern __shared__ int dynamic[];
  int own[2] = {static_cast<int>(threadIdx.x), 2};
  unsigned* to = y + 14 * threadIdx.x;
  to[0] = spaces_of(y);
  to[1] = spaces_of(y + 27);
  to[2] = spaces_of(variable);
  to[3] = spaces_of(variable + 1);
  to[4] = spaces_of(fixed);
  to[5] = spaces_of(fixed + 1);
  to[6] = spaces_of(dynamic);
  to[7] = spaces_of(dynamic + 31);
  to[8] = spaces_of(own);
  to[9] = spaces_of(own + 1);
  to[10] = spaces_of(constants + 1);
  to[11] = spaces_of(&pair.a);
  to[12] = spaces_of(&pair.b);
  to[13] = spaces_of(&number);
}

__device__ __noinline__ int read(const int* p) { return *static_cast<const volatile int*>(p); }
__device__ __noinline__ void write(int* p, int value) { *static_cast<volatile int*>(p) = value; }
__device__ __noinline__ int add(int* p, int value) { return atomicAdd(p, value); }

// Four lanes at once, each in a space of its own: global, shared, local, and a constant to read.
extern "C" __global__ void mixed(int* y, int* scratch, const __grid_constant__ Pair pair) {
  __shared__ int shared_word;
  int own[4] = {70, 71, 72, 73};
  const int lane = threadIdx.x;
  if (lane == 0) shared_word = 50;
  __syncwarp();
  int* const of[4] = {scratch, &shared_word, own + 2, scratch + 1};
  int* const mine = of[lane];
  const int* const from[4] = {constants + 3, &pair.b, &variable[1], mine};
  y[lane] = read(mine);
  write(mine, 100 + lane);
  __syncwarp();
  y[4 + lane] = read(of[lane]);
  y[8 + lane] = lane == 2 ? 0 : add(mine, 10);
  __syncwarp();
  y[12 + lane] = read(mine);
  y[16 + lane] = read(from[lane]);
  y[20 + lane] = own[lane];
}

template <typename T>
__device__ __noinline__ T read_any(const T* p) {
  return *p;
}
// One load whose lanes read global, shared, constant and local memory, of each size: byte i of a
// space holds i plus 0, 64, 128 or 192.
__constant__ __align__(16) unsigned char constant_bytes[16] = {128, 129, 130, 131, 132, 133, 134, 135,
                                                               136, 137, 138, 139, 140, 141, 142, 143};
template <typename T>
__device__ void read_sizes(const unsigned char* const (&of)[4], unsigned char* y) {
  const int lane = threadIdx.x;
  const int at = lane / 4 % (16 / sizeof(T)) * sizeof(T);
  const T value = read_any(reinterpret_cast<const T*>(of[lane % 4] + at));
  memcpy(y + sizeof(T) * lane, &value, sizeof(T));
}
extern "C" __global__ void sizes(const unsigned char* x, unsigned char* y) {
  __shared__ __align__(16) unsigned char shared_bytes[16];
  __align__(16) unsigned char own[16];
  for (int i = 0; i < 16; ++i) own[i] = 192 + i;
  if (threadIdx.x < 16) shared_bytes[threadIdx.x] = 64 + threadIdx.x;
  __syncwarp();
  const unsigned char* const of[4] = {x, shared_bytes, constant_bytes, own};
  read_sizes<unsigned char>(of, y);
  read_sizes<unsigned short>(of, y + 32);
  read_sizes<unsigned>(of, y + 96);
  read_sizes<unsigned long long>(of, y + 224);
  read_sizes<uint4>(of, y + 480);
}
