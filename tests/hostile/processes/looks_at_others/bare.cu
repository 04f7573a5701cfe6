// Command lines, environments and memory of every process that can be seen.
#include <fcntl.h>
#include <fiel/kernel.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void look() {
  for (int p = 1; p < 20'000; ++p)
    for (const char* what : {"cmdline", "environ", "mem", "maps"}) {
      char path[64], text[4096];
      snprintf(path, sizeof path, "/proc/%d/%s", p, what);
      const int fd = open(path, O_RDONLY);
      if (fd < 0) continue;
      const ssize_t n = read(fd, text, sizeof text - 1);
      close(fd);
      for (ssize_t i = 0; i < n; ++i)
        if (text[i] == 0) text[i] = ' ';
      if (n <= 0) continue;
      text[n] = 0;
      if (strstr(text, "fiel judge") || strstr(text, "FIEL_") || strstr(text, "/judge_hostile.py"))
        printf("SAW %s\n", path);
    }
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  look();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
