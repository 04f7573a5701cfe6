// Memory is taken and used until there is no more.
#include <fiel/kernel.h>
#include <stdlib.h>

static void take() {
  for (;;) {
    // Without `volatile` the compiler leaves memory that nobody reads out of the program.
    volatile char* p = static_cast<char*>(malloc(16 << 20));
    if (p == nullptr) continue;
    for (size_t i = 0; i < 16 << 20; i += 4096) p[i] = 1;
  }
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  take();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
