// SIGSTOP to itself.
#include <fiel/kernel.h>
#include <signal.h>

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  raise(SIGSTOP);
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
