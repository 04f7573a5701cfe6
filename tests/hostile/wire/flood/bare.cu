// The answer is right; between calls a thread asks for the free memory without end.
#include <fiel/kernel.h>
#include <string.h>
#include <thread>
#include <unistd.h>

/// One frame of the runtime's channel, whole or not.
static void send(unsigned type, unsigned length, const void* payload, unsigned bytes,
                 unsigned sequence = 0) {
  struct {
    unsigned magic;
    unsigned short version, type;
    unsigned length, sequence;
  } header = {0x4c454946, 1, (unsigned short)type, length, sequence};
  char frame[4096];
  memcpy(frame, &header, sizeof header);
  if (bytes) memcpy(frame + sizeof header, payload, bytes);
  if (write(3, frame, sizeof header + bytes) < 0) return;
}

static void flood() {
  static bool started = false;
  if (started) return;
  started = true;
  std::thread([] {
    usleep(2000);  // until the call is over
    for (;;) send(15, 0, nullptr, 0);
  }).detach();
}

__global__ void affine(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  flood();
  int n = (int)fiel_numel(&inputs[0]);
  affine<<<(n + 127) / 128, 128, 0, stream>>>(fiel_data(const float, inputs[0]), fiel_data(float, outputs[0]), n);
  return cudaGetLastError();
}
