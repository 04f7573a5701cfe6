"""How long load_inline takes, stock and with the runner's light headers, on this machine.

    python bench/torch/extension_build.py [NAME…]        a CUDA device and nvcc are needed

Every build is cold: a process and folders of its own. Stock builds run side by side (they cost
minutes), ours one after the other.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = os.environ.get("FIEL_WORKER", str(ROOT / "src/worker/python"))

HEAD = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n"
ELEMENTWISE = HEAD + """
__global__ void kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
torch::Tensor run(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda(), "a CUDA tensor");
  auto y = torch::empty_like(x);
  kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""
REDUCTION = HEAD + """
#include <ATen/cuda/CUDAContext.h>
template <typename T> __global__ void kernel(const T* x, T* y, int n) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += float(x[blockIdx.x * n + i]);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int k = 128; k; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = T(part[0]);
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "run", [&] {
    kernel<scalar_t><<<x.size(0), 256, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(1));
  });
  return y;
}
"""
ATEN = HEAD + """
torch::Tensor run(torch::Tensor x) {
  auto y = torch::softmax(x, 1).contiguous();
  y = at::matmul(y, y.t()) + torch::zeros({x.size(0), x.size(0)}, x.options());
  return torch::relu(y.sum(1, true)).to(torch::kFloat32);
}
"""
CUBLAS = HEAD + """
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cublas_v2.h>
torch::Tensor run(torch::Tensor x) {
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  int n = x.size(0), k = x.size(1);
  auto y = torch::empty({n, n}, x.options());
  float one = 1, zero = 0;
  cublasSgemm(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_T, CUBLAS_OP_N, n, n, k, &one,
              x.data_ptr<float>(), k, x.data_ptr<float>(), k, &zero, y.data_ptr<float>(), n);
  return y;
}
"""
FILES = {"elementwise": ELEMENTWISE, "reduction": REDUCTION, "aten": ATEN, "cublas": CUBLAS}


def child(name: str, side: str) -> None:
    import torch
    from torch.utils.cpp_extension import load_inline

    sys.path.insert(0, PACKAGE)
    build = None
    if side == "light":
        from fiel_worker.runner.extension import Build

        build = Build("cuda:0")
    begin = time.perf_counter()
    module = load_inline(
        name=f"bench_{name}", cpp_sources="torch::Tensor run(torch::Tensor x);",
        cuda_sources=FILES[name], functions=["run"], extra_cuda_cflags=["-O3"],
    )
    seconds = time.perf_counter() - begin
    x = torch.randn(64, 300, device="cuda")
    y = module.run(x)
    soft = torch.softmax(x, 1)
    right = {
        "elementwise": lambda: torch.relu(x), "reduction": lambda: x.sum(1),
        "aten": lambda: torch.relu((soft @ soft.t()).sum(1, True)), "cublas": lambda: x @ x.t(),
    }[name]()
    verdict = "right" if torch.allclose(y, right, rtol=1e-3, atol=1e-3) else "WRONG"
    log = build.log().strip().replace("\n", "; ") if build else ""
    print(f"| {name} | {side} | {seconds:.1f} s | {verdict} | {log} |", flush=True)


def start(name: str, side: str) -> subprocess.Popen:
    folder = tempfile.mkdtemp(prefix="bench-build-")
    environment = os.environ | {"TMPDIR": folder, "TORCH_EXTENSIONS_DIR": folder + "/stock"}
    return subprocess.Popen([sys.executable, __file__, "--child", name, side], env=environment)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:4])
    names = sys.argv[1:] or list(FILES)
    for name in names:
        start(name, "light").wait()
    for process in [start(name, "stock") for name in names]:
        process.wait()


if __name__ == "__main__":
    main()
