// Copies, launches and releases of what it never got, with sizes near the ends of the types.
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

static void ask(unsigned type, const void* payload, unsigned bytes) {
  send(type, bytes, payload, bytes);
  char reply[64];
  if (read(3, reply, 16 + 4) < 0) return;
}

static void lie() {
  const unsigned long long far = ~0ull - 7;
  const unsigned long long copy[] = {0, far, 8, far, far, far, far, 0};  // to, from, pitches, sizes
  const unsigned long long fill[] = {0, 8, far, far, far, 0};
  const unsigned long long nothing[] = {far, 0, 0};
  for (unsigned type : {17u, 18u, 19u, 20u}) ask(type, copy, sizeof copy);
  ask(21, fill, sizeof fill);
  ask(12, nothing, 20);
  ask(14, nothing, 8);
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  lie();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
