// What ordinary host code does with the CUDA runtime. The case is the length of the first input;
// each returns 0, or the number of its line that was wrong. runtime_test.cpp has the same list.
#include <cooperative_groups.h>
#include <fiel/kernel.h>
#include <stdio.h>
#include <string.h>

#include <vector>

#define EXPECT(condition)                                        \
  do {                                                           \
    if (!(condition)) {                                          \
      printf("line %d: %s (%s)\n", __LINE__, #condition,         \
             cudaGetErrorName(cudaPeekAtLastError()));           \
      return __LINE__;                                           \
    }                                                            \
  } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)

__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] + 1;
}
__global__ void add_one(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 1;
}
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int counter;
__managed__ int scale = 3;
__global__ void use_symbols(int* o) {
  o[threadIdx.x] = table[threadIdx.x];
  atomicAdd(&counter, table[threadIdx.x]);
}
__global__ void use_managed(float* y) {
  y[threadIdx.x] = scale;
  if (threadIdx.x == 0) scale = scale + 10;
}
__global__ void shared_user(float* y) {
  __shared__ int s[4];
  extern __shared__ float dynamic[];
  if (threadIdx.x < 4) s[threadIdx.x] = threadIdx.x;
  dynamic[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = dynamic[threadIdx.x] + min(s[threadIdx.x & 3], 0);
}
__global__ void grid_sync(float* y) {
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0 && blockIdx.x == 0) y[0] = 1;
}

static int side_stream_joined(const float* x, float* y, int n, cudaStream_t stream) {
  cudaStream_t side;
  cudaEvent_t before, after;
  OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  OK(cudaEventCreate(&before));
  OK(cudaEventCreateWithFlags(&after, cudaEventDisableTiming));
  twice<<<1, 128, 0, stream>>>(x, y, n);
  OK(cudaEventRecord(before, stream));
  OK(cudaStreamWaitEvent(side, before, 0));
  add_one<<<1, 128, 0, side>>>(y, n);
  OK(cudaEventRecord(after, side));
  OK(cudaStreamWaitEvent(stream, after, 0));
  OK(cudaStreamDestroy(side));
  OK(cudaEventDestroy(before));
  OK(cudaEventDestroy(after));
  return 0;
}
static int side_stream_forgotten(const float* x, float* y, int n, cudaStream_t) {
  static cudaStream_t side;
  if (!side) OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  twice<<<1, 128, 0, side>>>(x, y, n);
  return 0;
}
static int default_stream(const float* x, float* y, int n) {
  twice<<<1, 128>>>(x, y, n);  // the legacy stream and `stream` wait for each other
  return 0;
}
static int polling(const float* x, float* y, int n, cudaStream_t stream) {
  cudaEvent_t e;
  OK(cudaEventCreate(&e));
  twice<<<1, 128, 0, stream>>>(x, y, n);
  OK(cudaEventRecord(e, stream));
  int asked = 0;
  while (cudaEventQuery(e) == cudaErrorNotReady) ++asked;
  EXPECT(asked >= 1 && asked < 100);
  EXPECT(cudaStreamQuery(stream) == cudaSuccess);
  float ms = 7;
  OK(cudaEventElapsedTime(&ms, e, e));
  EXPECT(ms == 0);
  EXPECT(cudaGetLastError() == cudaSuccess);
  return 0;
}
static int capture(const float* x, float* y, int n, cudaStream_t stream) {
  static cudaGraphExec_t exec;
  static float* buffer;
  if (!exec) {
    OK(cudaMalloc(&buffer, 4096));
    cudaStream_t s, side;
    cudaEvent_t fork, join;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&side));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(s, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    twice<<<1, 128, 0, s>>>(buffer, buffer + 512, n);
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(side, fork, 0));
    add_one<<<1, 128, 0, side>>>(buffer + 512, n);
    OK(cudaEventRecord(join, side));
    OK(cudaStreamWaitEvent(s, join, 0));
    EXPECT(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(s, &graph));
    size_t nodes = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 2);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
  }
  // Static buffers with fresh inputs copied in: the honest way to use a graph.
  OK(cudaMemcpyAsync(buffer, x, n * 4, cudaMemcpyDeviceToDevice, stream));
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaMemcpyAsync(y, buffer + 512, n * 4, cudaMemcpyDeviceToDevice, stream));
  return 0;
}
static int explicit_graph(const float* x, float* y, int n, cudaStream_t stream) {
  cudaGraph_t graph;
  OK(cudaGraphCreate(&graph, 0));
  float seed[4] = {5, 6, 7, 8}, back[4] = {0, 0, 0, 0};
  cudaGraphNode_t fill, kernel, up, down;
  cudaMemsetParams m = {};
  m.dst = y;
  m.elementSize = 4;
  m.width = n;
  m.height = 1;
  OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &m));
  OK(cudaGraphAddMemcpyNode1D(&up, graph, &fill, 1, y, seed, 16, cudaMemcpyHostToDevice));
  void* args[] = {&y, &n};
  cudaKernelNodeParams k = {};
  k.func = (void*)add_one;
  k.gridDim = dim3(1);
  k.blockDim = dim3(128);
  k.kernelParams = args;
  OK(cudaGraphAddKernelNode(&kernel, graph, &up, 1, &k));
  OK(cudaGraphAddMemcpyNode1D(&down, graph, &kernel, 1, back, y, 16, cudaMemcpyDeviceToHost));
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  seed[0] = 9;  // host memory is read at launch
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(back[0] == 10 && back[3] == 9);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  twice<<<1, 128, 0, stream>>>(x, y, n);
  return 0;
}
static int symbols(int n) {
  int thirty = 30, zero = 0, sum = 0, read[4];
  OK(cudaMemcpyToSymbol(table, &thirty, 4, 8));
  OK(cudaMemcpyToSymbol(counter, &zero, 4));
  int* o;
  OK(cudaMalloc(&o, 16));
  use_symbols<<<1, 4>>>(o);
  OK(cudaMemcpy(read, o, 16, cudaMemcpyDeviceToHost));
  OK(cudaMemcpyFromSymbol(&sum, counter, 4));
  EXPECT(read[0] == 1 && read[1] == 2 && read[2] == 30 && read[3] == 4);
  EXPECT(sum == 37);
  size_t size = 0;
  OK(cudaGetSymbolSize(&size, table));
  EXPECT(size == 16);
  EXPECT(cudaMemcpyToSymbol(table, &thirty, 4, 14) == cudaErrorInvalidValue);
  cudaGetLastError();
  OK(cudaFree(o));
  (void)n;
  return 0;
}
static int shared_limits(float* y, cudaStream_t stream) {
  shared_user<<<1, 32, 49152 - 16, stream>>>(y);
  OK(cudaGetLastError());
  shared_user<<<1, 32, 49152, stream>>>(y);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  shared_user<<<1, 32, 65536, stream>>>(y);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(shared_user, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  shared_user<<<1, 32, 65536, stream>>>(y);
  OK(cudaGetLastError());
  shared_user<<<1, 2048, 0, stream>>>(y);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaFuncSetAttribute(shared_user, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              228 << 10) == cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFuncAttributes a;
  OK(cudaFuncGetAttributes(&a, shared_user));
  EXPECT(a.sharedSizeBytes == 16 && a.maxDynamicSharedSizeBytes == 65536);
  return 0;
}
static int refused_launch(const float* x, float* y, int n, cudaStream_t stream) {
  twice<<<1, 2048, 0, stream>>>(x, y, n);
  return 0;
}
static int cooperative(float* y, cudaStream_t stream) {
  int blocks = 0, device = 0, sms = 0;
  OK(cudaGetDevice(&device));
  OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_sync, 1024, 0));
  EXPECT(blocks >= 1 && sms >= 1);
  void* args[] = {&y};
  EXPECT(cudaLaunchCooperativeKernel((void*)grid_sync, dim3(blocks * sms + 1), dim3(1024), args, 0,
                                     stream) == cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
  OK(cudaLaunchCooperativeKernel((void*)grid_sync, dim3(4), dim3(64), args, 0, stream));
  return 0;
}
static int pinned(const float* x, float* y, int n, cudaStream_t stream) {
  float* h;
  OK(cudaMallocHost(&h, n * 4));
  for (int i = 0; i < n; ++i) h[i] = -1;
  OK(cudaMemcpyAsync(h, x, n * 4, cudaMemcpyDeviceToHost, stream));
  EXPECT(h[1] == -1);  // not yet: nobody has waited
  OK(cudaStreamSynchronize(stream));
  EXPECT(h[1] == 1);
  h[1] = 100;
  OK(cudaMemcpyAsync(y, h, n * 4, cudaMemcpyHostToDevice, stream));
  h[2] = 200;  // before anyone has waited: the device may see it
  OK(cudaStreamSynchronize(stream));
  float back[3];
  OK(cudaMemcpy(back, y, 12, cudaMemcpyDeviceToHost));
  EXPECT(back[1] == 100 && back[2] == 200);
  OK(cudaFreeHost(h));
  cudaPointerAttributes a;
  OK(cudaPointerGetAttributes(&a, y));
  EXPECT(a.type == cudaMemoryTypeDevice);
  OK(cudaPointerGetAttributes(&a, back));
  EXPECT(a.type == cudaMemoryTypeUnregistered);
  return 0;
}
static int managed(float* y, int n, cudaStream_t stream, bool half) {
  float* m;
  OK(cudaMallocManaged(&m, n * 4));
  for (int i = 0; i < (half ? n / 2 : n); ++i) m[i] = i;
  twice<<<1, 128, 0, stream>>>(m, y, n);
  OK(cudaStreamSynchronize(stream));
  return 0;
}
static int pinned_mapped(float* y, int n, cudaStream_t stream, bool half) {
  float *h, *d;
  OK(cudaHostAlloc(&h, n * 4, cudaHostAllocMapped));
  for (int i = 0; i < (half ? n / 2 : n); ++i) h[i] = i;
  OK(cudaHostGetDevicePointer(&d, h, 0));
  twice<<<1, 128, 0, stream>>>(d, y, n);
  OK(cudaStreamSynchronize(stream));
  return 0;
}
static int managed_variable(float* y, cudaStream_t stream) {
  EXPECT(scale == 3);
  scale = 5;
  use_managed<<<1, 4, 0, stream>>>(y);
  OK(cudaStreamSynchronize(stream));
  EXPECT(scale == 15);
  scale = 3;
  return 0;
}
static int copies_2d(cudaStream_t stream) {
  std::vector<int> from(12 * 5), to(10 * 5, -1);
  for (int i = 0; i < 60; ++i) from[i] = i;
  int* d;
  size_t pitch = 0;
  OK(cudaMallocPitch(&d, &pitch, 40, 5));
  EXPECT(pitch >= 40 && pitch % 256 == 0);
  OK(cudaMemset2D(d, pitch, 0x11, 40, 5));
  OK(cudaMemcpy2DAsync(d, pitch, from.data(), 48, 32, 5, cudaMemcpyHostToDevice, stream));
  OK(cudaMemcpy2DAsync(to.data(), 40, d, pitch, 40, 5, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 10; ++c) EXPECT(to[r * 10 + c] == (c < 8 ? r * 12 + c : 0x11111111));
  EXPECT(cudaMemcpy2D(d, 8, from.data(), 48, 32, 5, cudaMemcpyHostToDevice) ==
         cudaErrorInvalidPitchValue);
  cudaGetLastError();
  // More than the transfer window in one piece.
  std::vector<char> big(20 << 20, 7), back(20 << 20);
  big[19 << 20] = 9;
  char* b;
  OK(cudaMallocAsync((void**)&b, big.size(), stream));
  OK(cudaMemcpyAsync(b, big.data(), big.size(), cudaMemcpyHostToDevice, stream));
  OK(cudaMemcpyAsync(back.data(), b, big.size(), cudaMemcpyDeviceToHost, stream));
  EXPECT(memcmp(big.data(), back.data(), big.size()) == 0);
  OK(cudaFreeAsync(b, stream));
  OK(cudaFree(d));
  return 0;
}
static void on_host(void* p) { *(int*)p += 41; }
static int host_function(const float* x, float* y, int n, cudaStream_t stream) {
  int value = 1;
  twice<<<1, 128, 0, stream>>>(x, y, n);
  OK(cudaLaunchHostFunc(stream, on_host, &value));
  EXPECT(value == 1);
  OK(cudaStreamSynchronize(stream));
  EXPECT(value == 42);
  return 0;
}
static int properties() {
  cudaDeviceProp p;
  OK(cudaGetDeviceProperties(&p, 0));
  EXPECT(p.major == 9 && p.minor == 0 && p.warpSize == 32 && p.multiProcessorCount == 132);
  EXPECT(p.sharedMemPerBlockOptin == 227 << 10 && p.maxThreadsPerBlock == 1024);
  EXPECT(p.totalGlobalMem == 1ull << 30 && p.maxGridSize[1] == 65535);
  EXPECT(p.regsPerMultiprocessor == 65536 && p.sharedMemPerMultiprocessor == 228 << 10);
  EXPECT(p.reservedSharedMemPerBlock == 1024 && p.maxBlocksPerMultiProcessor == 32);
  EXPECT(p.memoryPoolsSupported == 1 && p.cooperativeLaunch == 1);
  int v = 0;
  OK(cudaDeviceGetAttribute(&v, cudaDevAttrMaxBlockDimZ, 0));
  EXPECT(v == 64);
  EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
  EXPECT(strcmp(cudaGetErrorString(cudaGetLastError()), "invalid device ordinal") == 0);
  size_t free_bytes = 0, total = 0;
  OK(cudaMemGetInfo(&free_bytes, &total));
  EXPECT(free_bytes <= total && total == 1ull << 30);
  int grid = 0, block = 0;
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, twice, 0, 0));
  EXPECT(grid >= 132 && block >= 32);
  void* f = (void*)1;
  cudaDriverEntryPointQueryResult found;
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, 0, &found));
  EXPECT(f == nullptr && found == cudaDriverEntryPointSymbolNotFound);
  return 0;
}
static int out_of_bounds(float* y, cudaStream_t stream) {
  add_one<<<1, 128, 0, stream>>>(y + (1 << 20), 128);
  EXPECT(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress);
  void* p;
  EXPECT(cudaMalloc(&p, 16) == cudaErrorIllegalAddress);  // it sticks
  return 0;
}
static int launch_ex(const float* x, float* y, int n, cudaStream_t stream) {
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(1);
  c.blockDim = dim3(128);
  c.stream = stream;
  OK(cudaLaunchKernelEx(&c, twice, x, y, n));
  return 0;
}

/// Clusters, which this device has not; `fallback`: it goes on without them.
static int launch_in_clusters(const float* x, float* y, int n, cudaStream_t stream,
                              bool fallback) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(2);
  c.blockDim = dim3(64);
  c.stream = stream;
  c.attrs = &cluster;
  c.numAttrs = 1;
  EXPECT(cudaLaunchKernelEx(&c, twice, x, y, n) == cudaErrorNotSupported);
  EXPECT(cudaPeekAtLastError() == cudaErrorNotSupported);
  if (!fallback) return 0;
  cudaGetLastError();
  cluster.val.clusterDim = {1, 1, 1};
  OK(cudaLaunchKernelEx(&c, twice, x, y, n));
  return 0;
}

/// Graphs that are never destroyed: at some point there is no memory for another.
static int too_many_graphs() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaGraphCreate(&graph, 0));
  cudaError_t e = cudaSuccess;
  for (int i = 0; i < 10000 && e == cudaSuccess; ++i) e = cudaGraphInstantiate(&exec, graph, 0);
  EXPECT(e == cudaErrorMemoryAllocation);
  cudaGetLastError();
  return 0;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* in, int, fiel_tensor* out, int, cudaStream_t stream) {
  const float* x = fiel_data(const float, in[0]);
  float* y = fiel_data(float, out[0]);
  int n = (int)fiel_numel(&in[0]);
  switch (n) {
    case 8: return side_stream_joined(x, y, n, stream);
    case 9: return side_stream_forgotten(x, y, n, stream);
    case 10: return default_stream(x, y, n);
    case 11: return polling(x, y, n, stream);
    case 12: return capture(x, y, n, stream);
    case 13: return explicit_graph(x, y, n, stream);
    case 14: return symbols(n);
    case 32: return shared_limits(y, stream);
    case 16: return refused_launch(x, y, n, stream);
    case 17: return cooperative(y, stream);
    case 18: return pinned(x, y, n, stream);
    case 19: return managed(y, n, stream, false);
    case 20: return managed(y, n, stream, true);
    case 21: return managed_variable(y, stream);
    case 22: return copies_2d(stream);
    case 23: return host_function(x, y, n, stream);
    case 24: return properties();
    case 25: return out_of_bounds(y, stream);
    case 26: return launch_ex(x, y, n, stream);
    case 27: return pinned_mapped(y, n, stream, false);
    case 28: return pinned_mapped(y, n, stream, true);
    case 29: return too_many_graphs();
    case 30: return launch_in_clusters(x, y, n, stream, false);
    case 31: return launch_in_clusters(x, y, n, stream, true);
    default: return FIEL_UNSUPPORTED;
  }
}
