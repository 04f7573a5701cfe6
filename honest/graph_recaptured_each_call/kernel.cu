// Twin of T10: a graph of two kernels that lives for one call, so that it spans nothing but this call.
#include <fiel/kernel.h>

__global__ void sigmoid(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = 1.f / (1.f + expf(-x[i]));
}

__global__ void multiply(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] *= x[i];
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  int64_t n = fiel_numel(&inputs[0]);
  const float* x = fiel_data(const float, inputs[0]);
  float* y = fiel_data(float, outputs[0]);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return 1;
  sigmoid<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) return 2;
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 3;
  cudaGraphLaunch(exec, stream);
  cudaGraphExecDestroy(exec);  // CUDA keeps what is still running
  cudaGraphDestroy(graph);
  return cudaGetLastError();
}
