"""Matrix products, convolution, pooling, softmax and normalisation."""

import torch
import torch.nn.functional as F

from harness import Case, Operator

OPERATORS = {}


def add(name, make, ref=None, count=36):
    OPERATORS[name] = Operator(make, ref, count)


# --- products

def matmul_case(r):
    k, m, n = (r.integer(1, 9) for _ in range(3))
    if r.chance(0.1):
        k = 300  # beyond one block of the kernel
    batch = r.shape(0, 2, 4, empty=0)
    a = r.broadcastable(batch) + [m, k] if r.chance(0.8) else [k]
    b = r.broadcastable(batch) + [k, n] if r.chance(0.8) else [k]
    if r.chance(0.15):
        return Case(r.ints(a), r.ints(b))
    return Case(r.real(a, 0.1), r.real(b, 0.1), magnitude=1)


add("matmul", matmul_case, torch.matmul, 60)
sizes = lambda r, n: [r.integer(0, 9) if r.chance(0.1) else r.integer(1, 12) for _ in range(n)]


def pair(name, shapes, ref):
    def make(r):
        a, b = shapes(*sizes(r, 4))
        return Case(r.normal(a), r.normal(b), magnitude=1)

    add(name, make, ref)


pair("mm", lambda b, m, k, n: ([m, k], [k, n]), torch.mm)
pair("bmm", lambda b, m, k, n: ([b, m, k], [b, k, n]), torch.bmm)
pair("mv", lambda b, m, k, n: ([m, k], [k]), torch.mv)
pair("dot", lambda b, m, k, n: ([k], [k]), torch.dot)
pair("outer", lambda b, m, k, n: ([m], [n]), torch.outer)


def linear_case(r):
    k, n = r.integer(1, 9), r.integer(1, 9)
    args = [r.normal(r.shape(0, 3, 5) + [k]), r.normal([n, k])]
    if r.chance(0.6):
        args.append(r.normal([n]))
    return Case(*args, magnitude=1)


add("linear", linear_case)


def bilinear_case(r):
    lead, p, q, n = r.shape(1, 2, 4), *(r.integer(1, 6) for _ in range(3))
    args = [r.normal(lead + [p]), r.normal(lead + [q]), r.normal([n, p, q])]
    return Case(*(args + ([r.normal([n])] if r.chance(0.5) else [])), magnitude=1)


add("bilinear", bilinear_case)


def added(rank):
    def make(r):
        b, m, k, n = (r.integer(1, 8) for _ in range(4))
        lead = [b] if rank == 3 else []
        kw = {k_: round(float(r.rng.uniform(-2, 2)), 2) for k_ in ("beta", "alpha") if r.chance(0.4)}
        if r.chance(0.15):
            kw["beta"] = 0.0
        x = r.real(r.broadcastable(lead + [m, n]), 0.3 if kw.get("beta") == 0 else 0)
        return Case(x, r.normal(lead + [m, k]), r.normal(lead + [k, n]), magnitude=1, **kw)

    return make


add("addmm", added(2))
add("baddbmm", added(3))
EQUATIONS = [("ij,jk->ik", 2), ("bij,bjk->bik", 2), ("ij->ji", 1), ("ii->i", 1), ("ii->", 1), ("ij->", 1),
             ("i,j->ij", 2), ("bhqd,bhkd->bhqk", 2), ("...ij,...jk->...ik", 2), ("...i->...", 1), ("ij,ij->", 2),
             ("ijk,k->ij", 2), ("i,ij,j->", 3), ("ab,bc,cd->ad", 3), ("bn,anm,bm->ba", 3), ("ij,kj", 2), ("ij,jk", 2),
             ("...c,cd->...d", 2), ("abc,cbd->da", 2), ("iij,jk->ik", 2)]


def einsum_case(r):
    equation, _ = EQUATIONS[r.index % len(EQUATIONS)]
    extent = {}
    dots = r.shape(0, 2, 3, empty=0)
    operands = []
    for term in equation.split("->")[0].split(","):
        shape = list(dots) if "..." in term else []
        shape += [extent.setdefault(c, r.integer(1, 6)) for c in term.replace("...", "")]
        operands.append(r.normal(shape))
    return Case(equation, *operands, magnitude=1)


add("einsum", einsum_case, torch.einsum, 60)


# --- convolution

def ones_or(r, value, default, p=0.5):
    return value if r.chance(p) else default


def conv_case(dims, transposed):
    def make(r):
        groups = r.pick(1, 1, 2, 3)
        cin, cout = r.integer(1, 3), r.integer(1, 3)
        extent = {1: 14, 2: 9, 3: 6}[dims]
        per_dim = lambda low, high: [r.integer(low, high) for _ in range(dims)]
        kernel, stride, dilation = per_dim(1, 3), per_dim(1, 3), per_dim(1, 2)
        space = [max(r.integer(2, extent), d * (k - 1) + 1) for k, d in zip(kernel, dilation)]
        x = r.normal(([r.integer(1, 3)] if r.chance(0.8) else []) + [groups * cin] + space)
        weight = r.normal([groups * cin, cout] + kernel if transposed else [groups * cout, cin] + kernel)
        args = [x, weight] + ([r.normal([groups * cout])] if r.chance(0.5) else [])
        kw = {"groups": groups} if groups > 1 else {}
        if r.chance(0.6):
            kw["stride"] = stride if r.chance(0.7) else stride[0]
        if r.chance(0.5):
            kw["dilation"] = dilation
        if transposed:
            used = lambda name: kw.get(name, [1] * dims) if isinstance(kw.get(name, []), list) else [kw[name]] * dims
            if r.chance(0.5):
                kw["padding"] = [min(1, d * (k - 1)) for k, d in zip(kernel, used("dilation"))]
            limit = [max(s, d) for s, d in zip(used("stride"), used("dilation"))]
            if r.chance(0.4):
                kw["output_padding"] = [r.integer(0, m - 1) for m in limit]
        elif r.chance(0.25):
            kw["padding"] = r.pick("valid", "same")
            if kw["padding"] == "same":
                kw.pop("stride", None)
        elif r.chance(0.7):
            kw["padding"] = per_dim(0, 2) if r.chance(0.7) else 1
        return Case(*args, magnitude=1, **kw)

    return make


for dims in (1, 2, 3):
    add(f"conv{dims}d", conv_case(dims, False), count=48)
    add(f"conv_transpose{dims}d", conv_case(dims, True), count=48)


# --- pooling

def pool_arguments(r, dims, dilated, padded=True):
    kernel = [r.integer(1, 4) for _ in range(dims)]
    kw = {"kernel_size": kernel}
    if r.chance(0.6):
        kw["stride"] = [r.integer(1, 4) for _ in range(dims)]
    if padded and r.chance(0.5):
        kw["padding"] = [r.integer(0, k // 2) for k in kernel]
    if dilated and r.chance(0.4):
        kw["dilation"] = [r.integer(1, 2) for _ in range(dims)]
    if r.chance(0.4):
        kw["ceil_mode"] = True
    extent = {1: 14, 2: 9, 3: 6}[dims]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, kw.get("dilation", [1] * dims))]
    space = [max(r.integer(2, extent), n) for n in reach]
    return ([r.integer(1, 3)] if r.chance(0.8) else []) + [r.integer(1, 3)] + space, kw


def max_pool_case(dims):
    def make(r):
        shape, kw = pool_arguments(r, dims, True)
        both = r.chance(0.4)
        return Case(r.real(shape, 0.3), results=2 if both else 1, **({"return_indices": True} if both else {}), **kw)

    return make


def avg_pool_case(dims):
    def make(r):
        shape, kw = pool_arguments(r, dims, False)
        if r.chance(0.4):
            kw["count_include_pad"] = False
        if dims > 1 and r.chance(0.3):
            kw["divisor_override"] = r.integer(1, 7)
        return Case(r.real(shape, 0.2), magnitude=1, **kw)

    return make


def lp_pool_case(dims):
    def make(r):
        shape, kw = pool_arguments(r, dims, False, padded=False)
        p = r.pick(1.0, 2.0, 3.0)
        kernel = kw.pop("kernel_size")
        if dims == 1:  # PyTorch's takes one number only
            kw |= {"stride": kw["stride"][0]} if "stride" in kw else {}
            kernel = kernel[0]
        return Case(r.positive(shape), p, kernel, **kw)

    return make


def adaptive_case(dims, maximum):
    def make(r):
        shape = ([r.integer(1, 3)] if r.chance(0.8) else []) + [r.integer(1, 3)]
        shape += [r.integer(1, {1: 14, 2: 9, 3: 6}[dims]) for _ in range(dims)]
        size = [r.integer(1, 7) for _ in range(dims)] if r.chance(0.8) else r.integer(1, 5)
        if not maximum:
            return Case(r.real(shape, 0.2), size, magnitude=1)
        both = r.chance(0.4)
        return Case(r.real(shape, 0.2), size, results=2 if both else 1, **({"return_indices": True} if both else {}))

    return make


for dims in (1, 2, 3):
    add(f"max_pool{dims}d", max_pool_case(dims))
    add(f"avg_pool{dims}d", avg_pool_case(dims))
    add(f"lp_pool{dims}d", lp_pool_case(dims))
    add(f"adaptive_avg_pool{dims}d", adaptive_case(dims, False))
    add(f"adaptive_max_pool{dims}d", adaptive_case(dims, True))


def interpolate_case(r):
    mode = r.pick("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")
    dims = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode) or r.integer(1, 3)
    shape = [r.integer(1, 2), r.integer(1, 3)] + [r.integer(1, 7) for _ in range(dims)]
    kw = {"mode": mode}
    if r.chance(0.6):
        kw["size"] = [r.integer(1, 9) for _ in range(dims)]
    else:
        kw["scale_factor"] = r.pick(2.0, 1.5, 3.0) if r.chance(0.5) else [r.pick(1.0, 2.0, 2.5) for _ in range(dims)]
    if "linear" in mode or mode == "bicubic":
        if r.chance(0.5):
            kw["align_corners"] = True
    return Case(r.normal(shape), magnitude=10, **kw)


add("interpolate", interpolate_case, count=80)


def patch_arguments(r):
    kernel, dilation = [r.integer(1, 3) for _ in range(2)], [r.integer(1, 2) for _ in range(2)]
    padding, stride = [r.integer(0, 1) for _ in range(2)], [r.integer(1, 2) for _ in range(2)]
    image = [r.integer(3, 7) + d * (k - 1) for k, d in zip(kernel, dilation)]
    return image, {"kernel_size": kernel, "dilation": dilation, "padding": padding, "stride": stride}


def unfold_case(r):
    image, kw = patch_arguments(r)
    return Case(r.real(([r.integer(1, 2)] if r.chance(0.8) else []) + [r.integer(1, 3)] + image), **kw)


def fold_case(r):
    image, kw = patch_arguments(r)
    blocks = 1
    for n, k, d, p, s in zip(image, kw["kernel_size"], kw["dilation"], kw["padding"], kw["stride"]):
        blocks *= (n + 2 * p - d * (k - 1) - 1) // s + 1
    channels = r.integer(1, 3) * kw["kernel_size"][0] * kw["kernel_size"][1]
    return Case(r.normal(([r.integer(1, 2)] if r.chance(0.8) else []) + [channels, blocks]), image, magnitude=1, **kw)


add("unfold", unfold_case, F.unfold)
add("fold", fold_case)


# --- softmax

def softmax_case(r):
    shape = r.shape(0, 4)
    x = r.real(shape, 0.3)
    if r.chance(0.1):
        return Case(r.ints(shape), dim=r.dim(len(shape)), dtype=torch.float64)
    return Case(x, dim=r.dim(len(shape)))


for name in ("softmax", "log_softmax", "softmin"):
    add(name, softmax_case, getattr(F, name))


# --- normalisation

def last_dims(r):
    shape = r.shape(1, 4, empty=0)
    return shape, shape[-r.integer(1, len(shape)):]


def layer_norm_case(r):
    shape, last = last_dims(r)
    args = [r.real(shape, 0.1), last]
    if r.chance(0.6):
        args.append(r.normal(last))
        if r.chance(0.6):
            args.append(r.normal(last))
    kw = {"eps": 1e-3} if r.chance(0.3) else {}
    if len(args) == 2 and r.chance(0.3):
        kw["bias"] = r.normal(last)
    return Case(*args, magnitude=1, **kw)


def rms_norm_case(r):
    shape, last = last_dims(r)
    args = [r.real(shape, 0.1), last] + ([r.normal(last)] if r.chance(0.5) else [])
    return Case(*args, magnitude=1, **({"eps": 1e-3} if r.chance(0.5) else {}))


def channel_shape(r, least):
    return [r.integer(2, 4), r.integer(1, 6)] + [r.integer(2, 5) for _ in range(r.integer(least, 3))]


def affine(r, n):
    return {k: r.normal([n]) for k in ("weight", "bias") if r.chance(0.6)}


def group_norm_case(r):
    shape = channel_shape(r, 1)
    groups = r.pick(*[g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    return Case(r.normal(shape, 3), groups, magnitude=1, **affine(r, shape[1]))


def statistics(r, n):
    return {"running_mean": r.normal([n]), "running_var": r.positive([n])}


def batch_norm_case(r):
    shape = channel_shape(r, 0)
    if r.chance(0.5):
        return Case(r.normal(shape, 3), **statistics(r, shape[1]), **affine(r, shape[1]), magnitude=1)
    return Case(r.normal(shape, 3), training=True, magnitude=1, **affine(r, shape[1]))


def batch_norm(x, running_mean=None, running_var=None, **kw):
    return F.batch_norm(x, running_mean, running_var, **kw)


def instance_norm_case(r):
    shape = channel_shape(r, 1)
    kw = affine(r, shape[1])
    if r.chance(0.3):
        kw |= statistics(r, shape[1]) | {"use_input_stats": False}
    return Case(r.normal(shape, 3), magnitude=1, **kw)


def normalize_case(r):
    shape = r.shape(1, 4)
    kw = {"dim": r.pick(r.dim(len(shape)), -1)}
    if r.chance(0.4):
        kw["p"] = r.pick(1.0, 3.0, float("inf"), 2.0)
    return Case(r.real(shape, 0.2), **kw)


def response_case(r):
    kw = {"alpha": 0.5, "beta": 0.6, "k": 2.0} if r.chance(0.5) else {}
    return Case(r.normal([r.integer(1, 3), r.integer(1, 7)] + [r.integer(1, 5) for _ in range(r.integer(1, 3))]),
                r.integer(1, 6), **kw)


add("layer_norm", layer_norm_case)
add("rms_norm", rms_norm_case)
add("group_norm", group_norm_case)
add("batch_norm", batch_norm_case, batch_norm)
add("instance_norm", instance_norm_case)
add("normalize", normalize_case)
add("local_response_norm", response_case)
