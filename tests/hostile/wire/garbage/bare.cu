// Bytes that are no frame, on every descriptor.
#include <fiel/kernel.h>
#include <string.h>
#include <unistd.h>

static void garbage() {
  char junk[4096];
  memset(junk, 0x5a, sizeof junk);
  for (int fd = 3; fd < 16; ++fd)
    if (write(fd, junk, sizeof junk) < 0) continue;
  for (;;) pause();
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  garbage();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
