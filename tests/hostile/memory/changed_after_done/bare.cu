// A thread goes on clearing the output after the call.
#include <fiel/kernel.h>
#include <thread>
#include <unistd.h>

static void* output;
static size_t bytes;

static void clear_for_ever() {
  static bool started = false;
  if (started) return;
  started = true;
  std::thread([] {
    for (;;) {
      cudaMemset(output, 0, bytes);
      usleep(500);
    }
  }).detach();
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  output = outputs[0].data;
  bytes = (size_t)fiel_numel(&outputs[0]) * sizeof(float);
  clear_for_ever();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
