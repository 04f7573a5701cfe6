"""Reductions, scans, losses, attention and recurrent cells."""

import torch
import torch.nn.functional as F

from harness import Case, Operator

OPERATORS = {}


def add(name, make, ref=None, count=36):
    OPERATORS[name] = Operator(make, ref, count)


# --- reductions

def reduction(name, ints=False, empty=True, lists=True, special=0.2, bools=False, needs_dim=False, both=False, ref=None, **attributes):
    def make(r):
        shape = r.shape(1 if needs_dim else 0, 4, empty=0.05 if empty else 0)
        x = r.real(shape, special)
        if ints and r.chance(0.25):
            x = r.any_integers(shape)
        if bools and r.chance(0.3):
            x = r.bools(shape)
        kw = {k: f(r) for k, f in attributes.items() if r.chance(0.6)}
        if needs_dim or (shape and r.chance(0.7)):
            dims = r.dims(len(shape), 1)
            kw["dim"] = dims if lists and dims and r.chance(0.6) else r.dim(len(shape))
            if r.chance(0.4):
                kw["keepdim"] = True
        magnitude = 1.0
        if x.dtype.is_floating_point and x.numel():
            magnitude = float(x[x.isfinite()].abs().sum()) if x.isfinite().any() else 1.0
        return Case(x, magnitude=magnitude, results=2 if both and "dim" in kw else 1, **kw)

    add(name, make, ref or getattr(torch, name), 48)


reduction("sum", ints=True, bools=True)
reduction("mean")
reduction("prod", ints=True, lists=False)
reduction("amax", ints=True, empty=False)
reduction("amin", ints=True, empty=False)
reduction("max", ints=True, empty=False, lists=False, both=True)
reduction("min", ints=True, empty=False, lists=False, both=True)
reduction("argmax", ints=True, empty=False, lists=False)
reduction("argmin", ints=True, empty=False, lists=False)
reduction("all", ints=True, bools=True)
reduction("any", ints=True, bools=True)


def count_nonzero(x, dim=None, keepdim=False):
    out = torch.count_nonzero(x, dim=dim)
    return (x != 0).sum(dim=dim, keepdim=True) if keepdim and dim is not None else out


reduction("count_nonzero", ints=True, bools=True, ref=count_nonzero)
correction = lambda r: r.pick(0, 1, 2)


def spread(f):
    def ref(x, dim=None, correction=1, keepdim=False):
        return f(x, dim=dim, correction=correction, keepdim=keepdim)

    return ref


for name in ("var", "std", "var_mean"):
    reduction(name, special=0, empty=False, ref=spread(getattr(torch, name)), correction=correction)
OPERATORS["var_mean"] = Operator(
    lambda r, make=OPERATORS["var_mean"].make: with_results(make(r), 2), spread(torch.var_mean), 48)


def with_results(case, n):
    case.results = n
    return case


def vector_norm(x, p=2.0, dim=None, keepdim=False):
    return torch.linalg.vector_norm(x, p, dim=dim, keepdim=keepdim)


reduction("norm", empty=False, ref=vector_norm, p=lambda r: r.pick(0.0, 1.0, 2.0, 3.0, 0.5, float("inf"), float("-inf")))
reduction("logsumexp", empty=False, needs_dim=True)


# --- scans and orders

def scan(name, ints=True, both=False, special=0.2):
    def make(r):
        shape = r.shape(0, 4)
        x = r.any_integers(shape) if ints and r.chance(0.25) else r.real(shape, special)
        magnitude = float(x[x.isfinite()].abs().sum()) if x.dtype.is_floating_point and x.numel() else 1.0
        return Case(x, dim=r.dim(len(shape)), results=2 if both else 1, magnitude=magnitude)

    add(name, make, getattr(torch, name))


scan("cumsum")
scan("cumprod", special=0)
scan("cummax", both=True)
scan("cummin", both=True)
scan("logcumsumexp", ints=False)


def order_case(results, **options):
    def make(r):
        shape = r.shape(1, 3, 7)
        x = r.any_integers(shape) if r.chance(0.3) else r.real(shape, 0.3)
        kw = {"dim": r.dim(len(shape))} if r.chance(0.7) else {}
        if r.chance(0.5):
            kw["descending"] = True
        return Case(x, results=results, **kw)

    return make


def stable(f):
    return lambda x, dim=-1, descending=False: f(x, stable=True, dim=dim, descending=descending)


add("sort", order_case(2), stable(torch.sort))
add("argsort", order_case(1), stable(torch.argsort))


def distinct(r, shape):
    n = 1
    for extent in shape:
        n *= extent
    return torch.from_numpy(r.rng.permutation(max(n, 1))[:n].astype("float64")).reshape(shape) / 7 - 3


def topk_case(r):
    shape = r.shape(1, 3, 7, empty=0)
    dim = r.dim(len(shape))
    kw = {"dim": dim} if r.chance(0.7) else {}
    if r.chance(0.4):
        kw["largest"] = False
    return Case(distinct(r, shape), r.integer(1, shape[kw.get("dim", -1)]), results=2, **kw)


def kth_case(r):
    shape = r.shape(1, 3, 7, empty=0)
    dim = r.dim(len(shape))
    kw = {"keepdim": True} if r.chance(0.4) else {}
    return Case(distinct(r, shape), r.integer(1, shape[dim]), dim, results=2, **kw)


def median_case(r):
    shape = r.shape(1, 3, 7, empty=0)
    x = distinct(r, shape)
    if r.chance(0.3):
        x.view(-1)[r.integer(0, x.numel() - 1)] = float("nan")
    return Case(x, r.dim(len(shape)), results=2, **({"keepdim": True} if r.chance(0.4) else {}))


add("topk", topk_case, torch.topk)
add("kthvalue", kth_case, torch.kthvalue)
add("median", median_case, torch.median)


# --- losses

def reduced(r, *more):
    return {"reduction": r.pick("mean", "sum", "none", *more)} if r.chance(0.7) else {}


def pair_loss(name, target=None, special=0.15, **attributes):
    def make(r):
        shape = r.shape(0, 3)
        y = target(r, shape) if target else r.real(shape, special)
        kw = {k: f(r) for k, f in attributes.items() if r.chance(0.5)}
        return Case(r.real(shape, special), y, magnitude=1, **kw, **reduced(r))

    add(name, make)


number = lambda low, high: (lambda r: round(float(r.rng.uniform(low, high)), 3))
signs = lambda r, s: r.ints(s, 0, 1).double() * 2 - 1
pair_loss("mse_loss")
pair_loss("l1_loss")
pair_loss("smooth_l1_loss", beta=number(0, 2))
pair_loss("huber_loss", delta=number(0.1, 2))
pair_loss("soft_margin_loss", target=signs, special=0)
pair_loss("hinge_embedding_loss", target=signs, margin=number(0.5, 2))
pair_loss("poisson_nll_loss", target=lambda r, s: r.ints(s, 0, 6).double(), special=0, full=lambda r: True)


def kl_case(r):
    shape = r.shape(1, 3)
    x, y = F.log_softmax(r.normal(shape), -1), torch.softmax(r.normal(shape), -1)
    if r.chance(0.3):
        return Case(x, y.log(), log_target=True, magnitude=1, **reduced(r, "batchmean"))
    if r.chance(0.3) and y.numel():
        y = torch.where(y < 0.2, torch.zeros_like(y), y)
    return Case(x, y, magnitude=1, **reduced(r, "batchmean"))


add("kl_div", kl_case)


def bce_case(r):
    shape = r.shape(1, 3)
    x, y = r.unit(shape), r.pick(r.unit(shape), r.ints(shape, 0, 1).double())
    if r.chance(0.3):
        x = x.round()
    kw = {"weight": r.positive(r.broadcastable(shape))} if r.chance(0.4) else {}
    return Case(x, y, magnitude=1, **kw, **reduced(r))


def bce_logits_case(r):
    shape = r.shape(1, 3)
    kw = {k: r.positive(r.broadcastable(shape)) for k in ("weight", "pos_weight") if r.chance(0.4)}
    return Case(r.real(shape, 0), r.unit(shape), magnitude=1, **kw, **reduced(r))


add("binary_cross_entropy", bce_case)
add("binary_cross_entropy_with_logits", bce_logits_case)


def triple(r, shape):
    return [r.normal(shape) for _ in range(3)]


def ranking_case(r):
    shape = r.shape(1, 3)
    kw = {"margin": number(0, 1)(r)} if r.chance(0.5) else {}
    return Case(r.normal(shape), r.normal(shape), signs(r, shape), magnitude=1, **kw, **reduced(r))


def gaussian_case(r):
    shape = r.shape(1, 3)
    kw = {"full": True} if r.chance(0.4) else {}
    return Case(r.normal(shape), r.normal(shape), r.positive(shape), magnitude=1, **kw, **reduced(r))


add("margin_ranking_loss", ranking_case)
add("gaussian_nll_loss", gaussian_case)


def class_case(r, smoothing, log=False):
    classes, n = r.integer(1, 6), r.integer(1, 5)
    rest = [r.integer(1, 3) for _ in range(r.integer(0, 2))]
    shape, target = ([n, classes] + rest, [n] + rest) if r.chance(0.85) else ([classes], [])
    x = r.normal(shape, 3)
    y = r.ints(target, 0, classes - 1)
    kw = reduced(r)
    if r.chance(0.4):
        kw["weight"] = r.positive([classes])
    if r.chance(0.3) and y.numel():
        kw["ignore_index"] = int(y.reshape(-1)[0]) if r.chance(0.5) else -100
        if kw["ignore_index"] == -100 and y.dim():
            y = torch.where(r.bools(target), y, torch.full_like(y, -100))
    if smoothing and r.chance(0.4):
        kw["label_smoothing"] = number(0, 0.5)(r)
    if smoothing and r.chance(0.25):
        y = torch.softmax(r.normal(shape), 1 if len(shape) > 1 else 0)
        kw.pop("ignore_index", None)
    return Case(F.log_softmax(x, 1 if len(shape) > 1 else 0) if log else x, y, magnitude=1, **kw)


add("cross_entropy", lambda r: class_case(r, True), count=80)
add("nll_loss", lambda r: class_case(r, False, True), count=48)


def multi_margin_case(r):
    classes, n = r.integer(1, 6), r.integer(1, 5)
    kw = reduced(r)
    if r.chance(0.4):
        kw["p"] = 2
    if r.chance(0.4):
        kw["margin"] = number(0.3, 2)(r)
    if r.chance(0.4):
        kw["weight"] = r.positive([classes])
    return Case(r.normal([n, classes]), r.ints([n], 0, classes - 1), magnitude=1, **kw)


add("multi_margin_loss", multi_margin_case)


def cosine_case(r):
    shape = r.shape(1, 3, empty=0)
    a, b = r.normal(r.broadcastable(shape)), r.normal(shape)
    return Case(a, b, dim=r.pick(-1, r.dim(len(shape))) if len(a.shape) == len(shape) else -1, magnitude=1)


add("cosine_similarity", cosine_case)


def pairwise_case(r):
    shape = r.shape(1, 3, empty=0)
    kw = {"p": r.pick(1.0, 2.0, 3.0, float("inf"))} if r.chance(0.5) else {}
    if r.chance(0.4):
        kw["keepdim"] = True
    return Case(r.normal(shape), r.normal(shape), magnitude=1, **kw)


def cdist_case(r):
    lead, n, p, q = r.shape(0, 2, 3, empty=0), r.integer(1, 6), r.integer(1, 5), r.integer(1, 5)
    kw = {"p": r.pick(0.0, 1.0, 2.0, 3.0, float("inf"))} if r.chance(0.6) else {}
    # PyTorch may take the p = 2 distance through a product, which loses digits.
    return Case(r.normal(lead + [p, n]), r.normal(lead + [q, n]), magnitude=1, **kw)


add("pairwise_distance", pairwise_case)
add("cdist", cdist_case, lambda a, b, p=2.0: torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist"))


def triplet_case(r):
    shape = r.shape(1, 3, empty=0)
    kw = reduced(r)
    for key, value in (("margin", number(0.3, 2)(r)), ("p", r.pick(1.0, 3.0)), ("swap", True)):
        if r.chance(0.4):
            kw[key] = value
    return Case(*triple(r, shape), magnitude=1, **kw)


def cosine_embedding_case(r):
    n, width = r.integer(1, 5), r.integer(1, 6)
    kw = reduced(r) | ({"margin": number(-0.5, 0.5)(r)} if r.chance(0.5) else {})
    if r.chance(0.2):
        return Case(r.normal([width]), r.normal([width]), signs(r, []), magnitude=1, **kw)
    return Case(r.normal([n, width]), r.normal([n, width]), signs(r, [n]), magnitude=1, **kw)


add("triplet_margin_loss", triplet_case)
add("cosine_embedding_loss", cosine_embedding_case)


# --- attention

def attention_case(r):
    batch = r.shape(1, 2, 3, empty=0) if r.chance(0.9) else [2]
    queries, keys, width, value = r.integer(1, 9), r.integer(1, 9), r.integer(1, 8), r.integer(1, 8)
    kw = {}
    q, k, v = (list(batch) for _ in range(3))
    if r.chance(0.2):
        q = [2, 6]
        k = v = [2, r.pick(1, 2, 3)]
        kw["enable_gqa"] = True
        batch = q
    if r.chance(0.3):
        kw["is_causal"] = True
    elif r.chance(0.5):
        shape = r.broadcastable([*batch, queries, keys])
        shape = [queries, keys] if len(shape) < 2 else shape
        if r.chance(0.5):
            kw["attn_mask"] = r.bools(shape)
        else:
            mask = r.normal(shape)
            kw["attn_mask"] = torch.where(r.ints(shape, 0, 3) == 0, torch.full_like(mask, float("-inf")), mask)
    if r.chance(0.4):
        kw["scale"] = number(0.1, 1)(r)
    return Case(r.normal(q + [queries, width]), r.normal(k + [keys, width]), r.normal(v + [keys, value]), magnitude=1, **kw)


add("scaled_dot_product_attention", attention_case, count=80)


def rotary(x, cos, sin, interleaved=False):
    half = x.shape[-1] // 2
    if cos.shape[-1] == half and half != x.shape[-1]:
        widen = (lambda t: t.repeat_interleave(2, -1)) if interleaved else (lambda t: torch.cat([t, t], -1))
        cos, sin = widen(cos), widen(sin)
    if interleaved:
        rotated = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    else:
        rotated = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + rotated * sin


def rotary_case(r):
    shape = r.shape(0, 3, empty=0) + [r.integer(1, 4) * 2]
    angles = r.broadcastable(shape[:-1]) + [shape[-1] // r.pick(1, 2)]
    theta = r.normal(angles)
    return Case(r.normal(shape), theta.cos(), theta.sin(), magnitude=1, **({"interleaved": True} if r.chance(0.5) else {}))


add("rotary_embedding", rotary_case, rotary)


# --- recurrent cells

def cell(name, gates, states, ref):
    def make(r):
        n, inputs, hidden = r.integer(1, 4), r.integer(1, 6), r.integer(1, 6)
        lead = [n] if r.chance(0.8) else []
        args = [r.normal(lead + [inputs])] + [r.normal(lead + [hidden]) for _ in range(states)]
        args += [r.normal([gates * hidden, inputs]), r.normal([gates * hidden, hidden])]
        if r.chance(0.7):
            args += [r.normal([gates * hidden]), r.normal([gates * hidden])]
        return Case(*args, results=states, magnitude=1)

    add(name, make, ref)


def batched(f, states=1):
    """The cell functions of torch take batches only."""

    def ref(x, *rest):
        lead = x.dim() == 1
        wide = [t.unsqueeze(0) for t in (x, *rest[:states])] if lead else [x, *rest[:states]]
        out = f(*wide, *rest[states:])
        out = out if isinstance(out, tuple) else (out,)
        return [t.squeeze(0) for t in out] if lead else out

    return ref


cell("rnn_tanh_cell", 1, 1, batched(torch.rnn_tanh_cell))
cell("rnn_relu_cell", 1, 1, batched(torch.rnn_relu_cell))
cell("gru_cell", 3, 1, batched(torch.gru_cell))
cell("lstm_cell", 4, 2, batched(lambda x, h, c, *w: torch.lstm_cell(x, (h, c), *w), 2))
