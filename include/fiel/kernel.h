/* The interface of a bare kernel: include this in a .cu and define fiel_run.
 *
 *   #include <fiel/kernel.h>
 *   FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
 *                            int n_outputs, cudaStream_t stream) {
 *     const float* x = fiel_data(const float, inputs[0]);
 *     ...launch on `stream`...
 *     return 0;                       // or FIEL_UNSUPPORTED for a shape or dtype you do not do
 *   }
 *
 * Memory belongs to the caller: `data` are device pointers, outputs are allocated and hold garbage,
 * inputs must not be written. Work must be ordered on `stream` when fiel_run returns; it need not
 * have finished. Any other value than 0 is a failure. Strides are in elements. */
#ifndef FIEL_KERNEL_H
#define FIEL_KERNEL_H

#include <cuda_runtime.h>
#include <stdint.h>

#define FIEL_ABI_VERSION 1
#define FIEL_UNSUPPORTED (-1) /* this kernel does not handle the given shapes or dtypes */

/* dtype: never renumbered */
enum {
  FIEL_F64 = 0,
  FIEL_F32 = 1,
  FIEL_TF32 = 2,
  FIEL_F16 = 3,
  FIEL_BF16 = 4,
  FIEL_E4M3 = 5,
  FIEL_E5M2 = 6,
  FIEL_I8 = 7,
  FIEL_I16 = 8,
  FIEL_I32 = 9,
  FIEL_I64 = 10,
  FIEL_U8 = 11,
  FIEL_BOOL = 12
};

typedef struct {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[8];
  int64_t stride[8];
} fiel_tensor;

#ifdef __cplusplus
#define FIEL_KERNEL extern "C" __attribute__((visibility("default")))
#else
#define FIEL_KERNEL __attribute__((visibility("default")))
#endif

#define fiel_data(type, tensor) ((type*)(tensor).data)

static inline int64_t fiel_numel(const fiel_tensor* t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->rank; ++i) n *= t->shape[i];
  return n;
}

#endif
