// All descriptors are closed, and the process waits.
#include <fiel/kernel.h>
#include <unistd.h>

static void close_all() {
  for (int fd = 0; fd < 1024; ++fd) close(fd);
  for (;;) pause();
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  close_all();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
