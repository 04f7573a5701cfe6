// A hundred megabytes of text.
#include <fiel/kernel.h>
#include <stdio.h>
#include <string.h>

static void print_much() {
  static char line[1 << 16];
  static bool printed = false;
  if (printed) return;
  printed = true;
  memset(line, 'x', sizeof line);
  for (int i = 0; i < 1600; ++i) fwrite(line, 1, sizeof line, stdout);
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  print_much();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
