// A destructor and an atexit that wait for ever.
#include <fiel/kernel.h>
#include <stdlib.h>
#include <unistd.h>

struct Waits {
  ~Waits() {
    for (;;) pause();
  }
} waits;

static void wait_for_ever() {
  for (;;) pause();
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  atexit(wait_for_ever);
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
