// Descriptors are duplicated until none is to be had.
#include <fiel/kernel.h>
#include <unistd.h>

static void take_all() {
  while (dup(1) >= 0) {
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  take_all();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
