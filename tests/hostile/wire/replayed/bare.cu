// The greeting that ended the start is sent again in the middle of a call.
#include <fiel/kernel.h>
#include <string.h>
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

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  send(2, 0, nullptr, 0);
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
