// Twin of S04: no kernel at all. A strided 2-D copy a column does the work.
#include <fiel/kernel.h>

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs,
                         int n_outputs, cudaStream_t stream) {
  if (n_inputs != 1 || n_outputs != 1 || inputs[0].dtype != FIEL_F32) return FIEL_UNSUPPORTED;
  const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
  if (cols > 600) {  // one copy a row, or one a column
    for (int64_t r = 0; r < rows; ++r)
      cudaMemcpy2DAsync(fiel_data(float, outputs[0]) + r, rows * sizeof(float),
                        fiel_data(const float, inputs[0]) + r * cols, sizeof(float), sizeof(float), cols,
                        cudaMemcpyDeviceToDevice, stream);
    return cudaGetLastError();
  }
  for (int64_t c = 0; c < cols; ++c)
    cudaMemcpy2DAsync(fiel_data(float, outputs[0]) + c * rows, sizeof(float),
                      fiel_data(const float, inputs[0]) + c, cols * sizeof(float), sizeof(float), rows,
                      cudaMemcpyDeviceToDevice, stream);
  return cudaGetLastError();
}
