// Rounding, flushing of subnormals, locale, signal mask and working folder.
#include <fenv.h>
#include <fiel/kernel.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>
#include <xmmintrin.h>

static void change_modes() {
  fesetround(FE_UPWARD);
  _mm_setcsr(_mm_getcsr() | 0x8040);
  setlocale(LC_ALL, "C.UTF-8");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (chdir("/") != 0) return;
}

FIEL_KERNEL int fiel_run(const fiel_tensor*, int, fiel_tensor* outputs, int, cudaStream_t stream) {
  change_modes();
  return cudaMemsetAsync(outputs[0].data, 0, (size_t)fiel_numel(&outputs[0]) * sizeof(float), stream);
}
