"""What the error model has to know about PyTorch's operators: which round, over how many terms."""

import math

import torch

# Operators that copy, select, compare or draw: their results have no rounding of their own.
_EXACT = set(
    """
    clone copy _to_copy cat stack where max min amax amin aminmax argmax argmin maximum minimum fmax
    fmin max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices
    max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d relu relu6
    hardtanh threshold clamp clamp_min clamp_max abs neg sign sgn floor ceil round trunc eq ne lt le
    gt ge logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not index
    index_select index_put index_fill index_copy gather scatter embedding masked_fill masked_select
    masked_scatter fill zero zeros ones full empty zeros_like ones_like full_like empty_like
    new_zeros new_ones new_full new_empty arange eye sort topk kthvalue median mode tril triu flip
    roll constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
    replication_pad2d replication_pad3d repeat repeat_interleave take diag diag_embed bernoulli rand
    randn randint rand_like randn_like isnan isinf isfinite any all nonzero unique
    one_hot bincount searchsorted bucketize cummax cummin pixel_shuffle pixel_unshuffle
    channel_shuffle im2col upsample_nearest1d upsample_nearest2d upsample_nearest3d lift_fresh
    lift_fresh_copy scalar_tensor unfold real imag set_ resize_ normal uniform random isin
    empty_strided new_empty_strided _unsafe_view max_unpool2d glu_select tril_indices triu_indices
    """.split()
)
_CONTRACTING = set(
    """
    mm bmm addmm addbmm baddbmm addmv mv dot vdot convolution _convolution cudnn_convolution
    mkldnn_convolution _slow_conv2d_forward slow_conv3d_forward conv_depthwise3d
    _conv_depthwise2d thnn_conv2d bilinear _trilinear _cdist_forward linalg_vecdot einsum
    scaled_dot_product_attention _scaled_dot_product_attention_math grouped_mm _scaled_mm
    """.split()
)
# Their usual formulas subtract numbers near 1, or near the argument; the error is relative to that.
_NEAR_ARGUMENT = {"gelu", "mish", "tanhshrink"}
_NEAR_ONE = {"elu", "selu", "celu", "softplus", "log_sigmoid_forward", "log_sigmoid"}


def base_name(name: str) -> str:
    """aten::add_ -> add"""
    name = name.split("::", 1)[-1]
    return name[:-1] if name.endswith("_") and not name.startswith("_") else name


def is_exact(func) -> bool:
    name = func._schema.name
    if base_name(name) in _EXACT or name in ("aten::set_", "aten::resize_"):
        return True
    arguments = func._schema.arguments
    views = any(a.alias_info is not None and not a.alias_info.is_write for a in arguments)
    return views or bool(getattr(func, "is_view", False))


def contracts(name: str) -> bool:
    return base_name(name) in _CONTRACTING


def cancellation(name: str):
    name = base_name(name)
    return "argument" if name in _NEAR_ARGUMENT else "one" if name in _NEAR_ONE else None


def never_replaced(name: str) -> tuple[int, ...]:
    """Positions of operands that an operator writes without its schema saying so."""
    return (3, 4) if "batch_norm" in name else ()


def reduction_length_of(name: str, args, kwargs) -> float:
    """Additions behind one element of the result."""
    name = base_name(name)
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    if not tensors:
        return 1.0
    first = tensors[0]
    if name in ("mm", "bmm", "mv", "dot", "vdot"):
        return float(first.shape[-1]) if first.dim() else 1.0
    if name in ("addmm", "baddbmm", "addmv", "addbmm"):
        return float(tensors[1].shape[-1])
    if "conv" in name and len(tensors) > 1 and tensors[1].dim() > 2:
        transposed = len(args) > 6 and args[6] is True
        weight = tensors[1].shape
        groups = args[8] if len(args) > 8 and isinstance(args[8], int) else 1
        # A transposed convolution meets every input channel of its group.
        channels = weight[0] / max(1, groups) if transposed else weight[1]
        return float(channels * math.prod(weight[2:]))
    if "batch_norm" in name:
        return first.numel() / max(1, first.shape[1]) if first.dim() > 1 else float(first.numel())
    if "layer_norm" in name or "rms_norm" in name:
        return float(math.prod(args[1])) if len(args) > 1 and _sizes(args[1]) else 1.0
    if "group_norm" in name:
        groups = args[6] if len(args) > 6 and isinstance(args[6], int) else 1
        return first.numel() / max(1, first.shape[0] * groups)
    if name in _SCANS:
        dim = next((a for a in args[1:] if isinstance(a, int)), -1)
        return float(first.shape[dim]) if first.dim() else 1.0
    if "pool" in name and len(args) > 1 and _sizes(args[1]):
        if "adaptive" in name:
            spatial = first.shape[-len(args[1]):]
            return max(1.0, math.prod(spatial) / max(1, math.prod(args[1])))
        return float(math.prod(args[1]))
    if name in _REDUCTIONS:
        return _reduced(first, args, kwargs)
    if name in ("_cdist_forward", "cdist") and first.dim():
        return float(first.shape[-1])
    if name.startswith("nll_loss"):
        return float(tensors[1].numel())  # it picks one score a target
    if name in _LOSSES:
        return float(first.numel())
    if name in ("index_add", "scatter_add", "scatter_reduce", "_embedding_bag"):
        return max(1.0, tensors[-1].numel() / max(1, first.numel()) + 1)
    return 1.0


_SCANS = {"cumsum", "cumprod", "logcumsumexp", "_softmax", "_log_softmax", "softmax", "log_softmax"}
_REDUCTIONS = {"sum", "mean", "prod", "var", "std", "var_mean", "std_mean", "norm", "logsumexp",
               "linalg_vector_norm", "nansum", "trace"}
_LOSSES = {"mse_loss", "smooth_l1_loss", "huber_loss",
           "binary_cross_entropy", "kl_div", "l1_loss"}


def _sizes(value) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(n, int) for n in value)


def _reduced(tensor: torch.Tensor, args, kwargs) -> float:
    dims = kwargs.get("dim")
    if dims is None:
        dims = next((a for a in args[1:] if _sizes(a) and len(a)), None)
    if dims is None:
        dims = next((a for a in args[1:] if type(a) is int), None)
    if dims is None:
        return float(tensor.numel())
    dims = [dims] if isinstance(dims, int) else dims
    return float(math.prod(tensor.shape[d] for d in dims)) if tensor.dim() else 1.0


def flops_of(name: str, args, result, length: float) -> float:
    """Two for each multiply-add, one for each other result or reduced operand."""
    outputs = [t for t in (result if isinstance(result, (list, tuple)) else [result])
               if isinstance(t, torch.Tensor)]
    if not outputs:
        return 0.0
    if contracts(name):
        return 2.0 * outputs[0].numel() * length
    first = next((a for a in args if isinstance(a, torch.Tensor)), None)
    return float(max(outputs[0].numel(), first.numel() if first is not None else 0))
