"""What a kernel's name says: whose it is, and whether it computes on tensor cores.

    origin("void at::native::vectorized_elementwise_kernel<4, …>")   # framework
    origin("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_…_cublas")  # library
    origin("my_matmul")                                              # own

Names are chosen by whoever wrote the kernel: they describe, they do not prove.
"""

import re

# PyTorch's own kernels, and the copies and fills that its operators make.
_FRAMEWORK = re.compile(
    r"\bat::|\bat_cuda_detail::|\bc10::|\bvectorized_elementwise|\belementwise_kernel"
    r"|^Memcpy |^Memset |\btriton_(poi|red|per|tem|mm|for)_"
)

# NVIDIA's libraries: cuBLAS, cuDNN, cuFFT, cuSPARSE, cuSOLVER, CUB, Thrust, NCCL. Kernels built from
# CUTLASS by others carry its names too: cutlass alone is a library only with a library's prefix.
_LIBRARY = re.compile(
    r"^(void )?(sm\d+_xmma|ampere_|turing_|volta_|hopper_|maxwell_|blackwell_|nvjet|cutlass_\d+_|"
    r"gemmk1|gemv|gemvNSP|dot_kernel|reduce_1Block|splitKreduce|genericTranspose)"
    r"|\bcublas|\bcudnn|\bcufft|\bcusparse|\bcusolver|\bcub::|\bthrust::|^nccl|\bxmma_"
    r"|_tensorop_|\b(implicit_convolve|explicit_convolve|winograd|fft2d_|regular_fft|vector_fft)"
    r"|\b(LSTM|GRU|RNN)_|\bpersist_|\bflash_fwd|\bflash::|\bfmha"
)

_TENSOR_CORES = re.compile(
    r"tensorop|_s\d{4,6}(gemm|cudnn|fprop|bgrad|wgrad|dgrad)|[hsdi]\d{3,6}gemm|xmma|hmma|imma|wgmma"
    r"|\bmma_|_mma|tf32|nvjet|bf16f32|f16f32|\b16816|\b1688|\b884|flash_fwd|flash::|fmha",
    re.IGNORECASE,
)
_NO_TENSOR_CORES = re.compile(r"simt|_sgemm|_dgemm|_f32f32_f32f32|ffma", re.IGNORECASE)


def origin(name: str) -> str:
    """own, library or framework."""
    if _LIBRARY.search(name):
        return "library"
    return "framework" if _FRAMEWORK.search(name) else "own"


def uses_tensor_cores(name: str) -> bool:
    return bool(_TENSOR_CORES.search(name)) and not _NO_TENSOR_CORES.search(name)
