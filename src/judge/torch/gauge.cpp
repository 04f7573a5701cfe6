#include "judge/torch/gauge.h"

#include "base/files.h"
#include "judge/torch/bare_side.h"

namespace fiel::judge::torch {
namespace {

/// A kernel that wrote nothing would leave the outputs to be looked at in other memory than those
/// of kernels that work: in DRAM, where theirs are in the cache.
constexpr const char* kSource = R"(#include <fiel/kernel.h>

__global__ void fill(int4* y, int64_t n) {
  int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += step)
    y[i] = make_int4(0, 0, 0, 0);
}

FIEL_KERNEL int fiel_run(const fiel_tensor* inputs, int n_inputs, fiel_tensor* outputs, int n_outputs,
                         cudaStream_t stream) {
  const int64_t bytes[] = {8, 4, 4, 2, 2, 1, 1, 1, 2, 4, 8, 1, 1};  // of a fiel_dtype
  for (int i = 0; i < n_outputs; ++i) {
    int32_t dtype = outputs[i].dtype;
    int64_t size = dtype >= 0 && dtype < 13 ? bytes[dtype] : 1;
    int64_t n = fiel_numel(&outputs[i]) * size / 16;
    fill<<<1024, 256, 0, stream>>>(fiel_data(int4, outputs[i]), n);
  }
  return 0;
}
)";

constexpr const char* kWindows = "gauge";

}  // namespace

Result<Compiled> compile_gauge(const JudgeRequest& request) {
  FIEL_TRY(const TempDir folder, TempDir::create("fiel-gauge"));
  const auto path = folder.path() / "gauge.cu";
  FIEL_TRY_STATUS(write_file_atomic(path, kSource));
  return compile_candidate(path.string(), request);
}

std::optional<Contestant> start_gauge(TorchCourse& course) {
  if (!course.is_bare() || course.request().on_virtual() || !course.workers().gauge)
    return std::nullopt;
  Contestant gauge;
  gauge.side.name = kWindows;
  gauge.trusted = gauge.is_gauge = true;
  gauge.windows = kWindows;
  auto compiled = course.workers().gauge();
  if (!compiled || !compiled->start) {
    gauge.drop(compiled ? "it does not compile" : to_string(compiled.error()));
    return gauge;
  }
  auto session = compiled->start({});
  if (!session) {
    gauge.drop(to_string(session.error()));
    return gauge;
  }
  gauge.own = std::make_unique<BareSide>(std::move(*session),
                                         BareSettings{.on_gpu = true, .watch_inputs = false});
  gauge.runner = gauge.own.get();
  return gauge;
}

}  // namespace fiel::judge::torch
