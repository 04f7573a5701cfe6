// Host code that means harm. The case is chosen by the length of the first input, so that one
// compilation serves all: tests/worker/hostile_test.cpp has the same list.
#include <dirent.h>
#include <fcntl.h>
#include <fiel/kernel.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] + 1;
}
__global__ void spin(float* y) {
  while (((volatile float*)y)[0] != 12345.f) {
  }
}

struct SleepsForEver {
  bool armed = false;
  ~SleepsForEver() {
    while (armed) pause();
  }
} sleeps_for_ever;

static int kYes = 7, kNo = 8;

static int endless_host() {
  for (volatile int i = 0;;) i = i + 1;
}
static int memory() {
  for (;;) memset(malloc(1 << 24), 1, 1 << 24);
}
static int device_memory() {
  void* p;
  int n = 0;
  while (cudaMalloc(&p, 64 << 20) == cudaSuccess) ++n;
  return cudaGetLastError() == cudaErrorMemoryAllocation && n < 20 ? kYes : kNo;
}
static int fork_bomb() {
  int failed = 0, made = 0;
  for (int i = 0; i < 2000; ++i) {
    pid_t p = fork();
    if (p == 0) {
      for (;;) pause();
    }
    p < 0 ? ++failed : ++made;
  }
  printf("made %d\n", made);
  return failed > 0 && made < 200 ? kYes : kNo;
}
static int kill_others() {
  kill(getppid(), SIGKILL);
  kill(-1, SIGKILL);
  kill(1, SIGKILL);
  return kYes;
}
static int write_files() {
  int n = 0;
  for (const char* p : {"/tmp/fiel-hostile", "/usr/fiel-hostile", "/usr/lib/fiel-hostile",
                        "/dev/shm/fiel-hostile", "/run/fiel-hostile", "/fiel-hostile",
                        "/etc/fiel-hostile", "/home/fiel-hostile"})
    if (open(p, O_CREAT | O_WRONLY, 0644) >= 0) ++n;
  return n <= 2 ? kYes : kNo;  // its own /tmp and /dev/shm
}
static int fill_disk() {
  static char block[1 << 20];
  int f = open("/tmp/big", O_CREAT | O_WRONLY, 0644);
  signal(SIGXFSZ, SIG_IGN);
  long total = 0;
  for (int i = 0; i < 4096; ++i) {
    long w = write(f, block, sizeof block);
    if (w <= 0) break;
    total += w;
  }
  return total <= (65l << 20) ? kYes : kNo;
}
static int close_all() {
  for (int i = 0; i < 1024; ++i) close(i);
  for (;;) pause();
}
static int print_much() {
  static char line[1 << 16];
  memset(line, 'x', sizeof line);
  for (int i = 0; i < 1600; ++i) fwrite(line, 1, sizeof line, stdout);
  fflush(stdout);
  return kYes;
}
static int longjmp_nowhere() {
  jmp_buf b;
  memset(&b, 7, sizeof b);
  longjmp(b, 1);
}
static int garbage() {
  char junk[4096];
  memset(junk, 0x5a, sizeof junk);
  for (int fd = 3; fd < 16; ++fd)
    if (write(fd, junk, sizeof junk) < 0) continue;
  for (;;) pause();
}
static int forged_return() {
  // {magic, version 1, type `returned` 4, length 8, sequence} {0, 0}: what the runtime would send.
  struct {
    unsigned magic;
    unsigned short version, type;
    unsigned length, sequence;
    int answer[2];
  } frame = {0x4c454946, 1, 4, 8, 0, {0, 0}};
  if (write(3, &frame, sizeof frame) < 0) return kNo;
  for (;;) pause();
}
static int look_around() {
  int seen = 0;
  if (DIR* d = opendir("/proc"))
    while (dirent* e = readdir(d))
      if (atoi(e->d_name) > 8) ++seen;
  long traced = ptrace(PTRACE_ATTACH, getppid(), 0, 0);
  return seen == 0 && traced != 0 ? kYes : kNo;
}
static int environment_is_clean() {
  for (char** e = environ; *e; ++e)
    if (strstr(*e, "SECRET")) return kNo;
  return kYes;
}
static int background(const float* x, float* y, int n, cudaStream_t stream) {
  static bool once = false;
  twice<<<1, 128, 0, stream>>>(x, y, n);
  cudaStreamSynchronize(stream);
  if (!once) {
    once = true;
    std::thread([=] {
      usleep(1000000);  // the call has returned by then, on a busy machine too
      for (;;) {
        cudaMemset(y, 0, 16);
        usleep(1000);
      }
    }).detach();
  }
  return kYes;
}
static int huge_map() {
  void* p = mmap(0, 1ull << 40, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? kYes : kNo;
}

FIEL_KERNEL int fiel_run(const fiel_tensor* in, int, fiel_tensor* out, int, cudaStream_t stream) {
  const float* x = fiel_data(const float, in[0]);
  float* y = fiel_data(float, out[0]);
  int n = (int)fiel_numel(&in[0]);
  switch (n) {
    case 1: return endless_host();
    case 2: spin<<<1, 32, 0, stream>>>(y); return 0;
    case 3: return memory();
    case 4: return device_memory();
    case 5: return fork_bomb();
    case 6: *(volatile int*)nullptr = 1; return 0;
    case 7: abort();
    case 8: return kill_others();
    case 9: return write_files();
    case 10: return fill_disk();
    case 11: return close_all();
    case 12: return print_much();
    case 13: exit(0);
    case 14: return longjmp_nowhere();
    case 15: return garbage();
    case 16: return forged_return();
    case 17: return look_around();
    case 18: return socket(AF_INET, SOCK_STREAM, 0) < 0 ? kYes : kNo;
    case 19: return environment_is_clean();
    case 20: sleeps_for_ever.armed = true; return kYes;
    case 21: return background(x, y, n, stream);
    case 22: y[0] = 1; return 0;
    case 23: return cudaFree((void*)x) == cudaErrorInvalidValue ? kYes : kNo;
    case 24: return huge_map();
    default: twice<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n); return 0;
  }
}
