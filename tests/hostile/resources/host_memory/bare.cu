// Memory is taken and used until there is no more.
#include <fiel/kernel.h>
#include <stdlib.h>
#include <string.h>

static void take() {
  for (;;) {
    void* p = malloc(16 << 20);
    if (p == nullptr) continue;
    memset(p, 1, 16 << 20);
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  take();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
