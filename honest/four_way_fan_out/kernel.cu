// Twin of T01: a fan-out over four streams with one event each way.
#include <fiel/kernel.h>

__global__ void sum_rows(const float* x, float* y, int64_t cols) {
  __shared__ float part[128];
  float sum = 0.f;
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += x[blockIdx.x * cols + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t cols = inputs[0].shape[inputs[0].rank - 1];
  int64_t rows = fiel_numel(&inputs[0]) / cols;
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  constexpr int kStreams = 4;
  static cudaStream_t pool[kStreams] = {};
  cudaEvent_t begin, end;
  cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
  cudaEventRecord(begin, stream);
  const int64_t share = (rows + kStreams - 1) / kStreams;
  for (int s = 0; s < kStreams; ++s) {
    if (pool[s] == nullptr) cudaStreamCreateWithFlags(&pool[s], cudaStreamNonBlocking);
    const int64_t first = s * share, count = first + share <= rows ? share : rows - first;
    if (count <= 0) continue;
    cudaStreamWaitEvent(pool[s], begin, 0);
    sum_rows<<<(unsigned)count, 128, 0, pool[s]>>>(x + first * cols, y + first, cols);
    cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
    cudaEventRecord(end, pool[s]);
    cudaStreamWaitEvent(stream, end, 0);
    cudaEventDestroy(end);
  }
  cudaEventDestroy(begin);
  return cudaGetLastError();
}
