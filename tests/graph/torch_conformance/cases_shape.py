"""Indexing and shape."""

import torch
import torch.nn.functional as F

from harness import Case, Operator

OPERATORS = {}


def add(name, make, ref=None, count=36):
    OPERATORS[name] = Operator(make, ref, count)


def tensor(r, shape):
    return r.pick(r.real(shape), r.any_integers(shape), r.bools(shape))


# --- indexing

def indexed_shape(r, shape, dim):
    """An index no larger than the input but along dim."""
    return [r.integer(1, 6) if d == dim % len(shape) else r.integer(1, n) for d, n in enumerate(shape)]


def gather_case(r):
    shape = r.shape(1, 3, empty=0)
    dim = r.dim(len(shape))
    return Case(tensor(r, shape), dim, r.ints(indexed_shape(r, shape, dim), 0, shape[dim] - 1))


add("gather", gather_case)


def take_case(r):
    shape = r.shape(1, 3, empty=0)
    dim = r.dim(len(shape))
    index = [r.integer(1, 4) if d == dim % len(shape) else r.pick(1, n) for d, n in enumerate(shape)]
    return Case(tensor(r, shape), r.ints(index, 0, shape[dim] - 1), dim)


add("take_along_dim", take_case)


def scatter_case(r, distinct, numbers=False, **kw):
    shape = r.shape(1, 3, empty=0)
    dim = r.dim(len(shape))
    index_shape = indexed_shape(r, shape, dim)
    if distinct:
        index_shape[dim % len(shape)] = r.integer(1, shape[dim])
        order = r.rng.random(index_shape[: dim % len(shape)] + [shape[dim]] + index_shape[dim % len(shape) + 1:])
        index = torch.from_numpy(order.argsort(axis=dim % len(shape))).narrow(dim, 0, index_shape[dim]).contiguous()
    else:
        index = r.ints(index_shape, 0, shape[dim] - 1)
    source = r.normal([n + r.integer(0, 2) for n in index_shape])
    if numbers and r.chance(0.3):
        return Case(r.normal(shape), dim, index, 2.5)
    return Case(r.normal(shape), dim, index, source, **kw)


add("scatter", lambda r: scatter_case(r, True, True))
add("scatter_add", lambda r: scatter_case(r, False))
add("scatter_reduce", lambda r: scatter_case(r, False, reduce=r.pick("sum", "prod", "amax", "amin")),
    lambda x, dim, index, src, reduce: torch.scatter_reduce(x, dim, index, src, reduce))


def index_select_case(r):
    shape = r.shape(1, 3, empty=0)
    dim = r.dim(len(shape))
    return Case(tensor(r, shape), dim, r.ints([r.integer(1, 6)], 0, shape[dim] - 1))


def index_add_case(r):
    shape = r.shape(1, 3, empty=0)
    dim = r.dim(len(shape))
    source = list(shape)
    source[dim] = r.integer(1, 6)
    kw = {"alpha": 0.5} if r.chance(0.4) else {}
    return Case(r.normal(shape), dim, r.ints([source[dim]], 0, shape[dim] - 1), r.normal(source), **kw)


add("index_select", index_select_case)
add("index_add", index_add_case)
add("embedding", lambda r: (lambda n: Case(r.ints(r.shape(0, 3), 0, n - 1), r.normal([n, r.integer(1, 6)])))(r.integer(1, 8)))
add("one_hot", lambda r: (lambda n: Case(r.ints(r.shape(0, 3, empty=0), 0, n - 1), n))(r.integer(1, 6)), F.one_hot)


# --- the same elements

def reshape_case(r):
    shape = r.shape(0, 4, empty=0)
    count = 1
    for n in shape:
        count *= n
    target, rest = [], count
    while rest > 1 and len(target) < 4:
        step = r.pick(*[d for d in range(1, rest + 1) if rest % d == 0])
        target.append(step)
        rest //= step
    target.append(rest)
    if r.chance(0.5):
        target[r.integer(0, len(target) - 1)] = -1
    return Case(tensor(r, shape), target)


def flatten_case(r):
    shape = r.shape(0, 4)
    if not shape or r.chance(0.3):
        return Case(tensor(r, shape))
    first = r.integer(0, len(shape) - 1)
    return Case(tensor(r, shape), first, r.integer(first, len(shape) - 1) - (len(shape) if r.chance(0.5) else 0))


def unflatten_case(r):
    shape = r.shape(1, 3, empty=0)
    dim = r.dim(len(shape))
    a, b = r.integer(1, 3), r.integer(1, 3)
    shape[dim] = a * b
    return Case(tensor(r, shape), dim, r.pick([a, b], [-1, b], [a, -1]))


def squeeze_case(r):
    shape = [r.pick(1, n) for n in r.shape(0, 4)]
    x = tensor(r, shape)
    if not shape or r.chance(0.4):
        return Case(x)
    return Case(x, r.pick(r.dim(len(shape)), r.dims(len(shape), 1)))


add("reshape", reshape_case)
add("flatten", flatten_case)
add("unflatten", unflatten_case)
add("squeeze", squeeze_case, torch.squeeze)
add("unsqueeze", lambda r: (lambda s: Case(tensor(r, s), r.dim(len(s) + 1)))(r.shape(0, 4)))


def permutation(r, n):
    return [int(i) - (n if r.chance(0.3) else 0) for i in r.rng.permutation(n)]


add("permute", lambda r: (lambda s: Case(tensor(r, s), permutation(r, len(s))))(r.shape(1, 5, 4)))
add("transpose", lambda r: (lambda s: Case(tensor(r, s), r.dim(len(s)), r.dim(len(s))))(r.shape(0, 4)))


def movedim_case(r):
    shape = r.shape(1, 4)
    n = r.integer(1, len(shape))
    return Case(tensor(r, shape), permutation(r, len(shape))[:n], permutation(r, len(shape))[:n])


add("movedim", movedim_case)


def expand_case(r):
    out = r.shape(0, 4)
    own = r.broadcastable(out)
    lead = len(out) - len(own)
    size = [-1 if i >= lead and own[i - lead] == n and r.chance(0.3) else n for i, n in enumerate(out)]
    return Case(tensor(r, own), size)


add("expand", expand_case, lambda x, size: x.expand(size))
add("diag", lambda r: Case(tensor(r, r.shape(1, 2)), **({"diagonal": r.integer(-3, 3)} if r.chance(0.7) else {})))


def shuffle_case(up):
    def make(r):
        f, shape = r.integer(1, 3), r.shape(0, 2, 3)
        c, h, w = r.integer(1, 3), r.integer(1, 4), r.integer(1, 4)
        return Case(tensor(r, shape + ([c * f * f, h, w] if up else [c, h * f, w * f])), f)

    return make


add("pixel_shuffle", shuffle_case(True))
add("pixel_unshuffle", shuffle_case(False))


# --- joining and cutting

def cat_case(r):
    shape = r.shape(1, 4)
    dim = r.dim(len(shape))
    parts = []
    for _ in range(r.integer(1, 4)):
        own = list(shape)
        own[dim] = r.integer(0, 4)
        parts.append(r.real(own) if r.chance(0.8) else r.ints(own))
    return Case(parts, **({"dim": dim} if dim != 0 or r.chance(0.5) else {}))


def stack_case(r):
    shape = r.shape(0, 3)
    return Case([r.real(shape) for _ in range(r.integer(1, 4))], dim=r.dim(len(shape) + 1))


add("cat", cat_case)
add("stack", stack_case)


def split_case(r):
    shape = r.shape(1, 3, 7, empty=0)
    dim = r.dim(len(shape))
    n = shape[dim]
    size = r.integer(1, n)
    if n > 1 and r.chance(0.4):
        cut = r.integer(1, n - 1)
        return Case(tensor(r, shape), [cut, n - cut], dim, results=2)
    return Case(tensor(r, shape), size, dim, results=-(-n // size))


def chunk_case(r):
    shape = r.shape(1, 3, 7, empty=0)
    dim = r.dim(len(shape))
    chunks = r.integer(1, 4)
    x = tensor(r, shape)
    return Case(x, chunks, dim, results=len(torch.chunk(x, chunks, dim)))


add("split", split_case, torch.split)
add("chunk", chunk_case, torch.chunk)
add("unbind", lambda r: (lambda s, d: Case(tensor(r, s), d, results=s[d]))(*(lambda s: (s, r.dim(len(s))))(r.shape(1, 3, 5, empty=0))), torch.unbind)


def slice_case(r):
    shape = r.shape(1, 3, 7)
    kw = {"dim": r.dim(len(shape))}
    for key, low, high in (("start", -8, 8), ("end", -8, 8), ("step", 1, 3)):
        if r.chance(0.6):
            kw[key] = r.integer(low, high)
    return Case(tensor(r, shape), **kw)


add("slice", slice_case, lambda x, dim=0, start=0, end=None, step=1: torch.ops.aten.slice(x, dim, start, end, step))


def select_case(r):
    shape = r.shape(1, 4, empty=0)
    dim = r.dim(len(shape))
    return Case(tensor(r, shape), dim, r.integer(-shape[dim], shape[dim] - 1))


def narrow_case(r):
    shape = r.shape(1, 4, empty=0)
    dim = r.dim(len(shape))
    start = r.integer(0, shape[dim])
    return Case(tensor(r, shape), dim, start, r.integer(0, shape[dim] - start))


add("select", select_case)
add("narrow", narrow_case)


# --- padding and making

def pad_case(r):
    mode = r.pick("constant", "constant", "reflect", "replicate", "circular")
    if mode == "constant":
        shape = r.shape(1, 4)
        padding = []
        for n in reversed(shape[-r.integer(1, len(shape)):]):
            padding += [r.integer(-(n // 2), 3), r.integer(-(n // 2), 3)]
        kw = {"value": 1.5} if r.chance(0.5) else {}
        return Case(r.real(shape), padding, **kw)
    dims = r.integer(1, 3)
    shape = r.shape(1, 2, 3, empty=0)[-2:]
    shape = (shape if len(shape) == 2 else [2] + shape) + [r.integer(3, 6) for _ in range(dims)]
    return Case(r.real(shape), [r.integer(0, 2) for _ in range(2 * dims)], mode)


add("pad", pad_case, F.pad, 60)


def repeat_case(r):
    shape = r.shape(0, 3, 4)
    return Case(tensor(r, shape), [r.integer(0, 3) if r.chance(0.1) else r.integer(1, 3) for _ in range(len(shape) + r.integer(0, 1))])


add("repeat", repeat_case, lambda x, repeats: x.repeat(repeats))
add("repeat_interleave", lambda r: (lambda s: Case(tensor(r, s), r.integer(1, 3), **({"dim": r.dim(len(s))} if r.chance(0.6) else {})))(r.shape(1, 3)))
add("flip", lambda r: (lambda s: Case(tensor(r, s), r.dims(len(s), 1)))(r.shape(1, 4)))


def roll_case(r):
    shape = r.shape(1, 3)
    if r.chance(0.3):
        return Case(tensor(r, shape), r.integer(-9, 9))
    dims = r.dims(len(shape), 1)
    return Case(tensor(r, shape), [r.integer(-7, 7) for _ in dims], dims)


add("roll", roll_case)
for name in ("tril", "triu"):
    add(name, lambda r: Case(tensor(r, r.shape(2, 4)), **({"diagonal": r.integer(-3, 3)} if r.chance(0.7) else {})))
for name in ("zeros_like", "ones_like"):
    add(name, lambda r: Case(tensor(r, r.shape()), **({"dtype": r.pick(torch.int64, torch.float64)} if r.chance(0.4) else {})))
add("full_like", lambda r: Case(tensor(r, r.shape()), r.integer(0, 1)))
add("full", lambda r: Case(r.shape(), float(r.integer(-3, 3)), **({"dtype": r.pick(torch.int64, torch.float64)} if r.chance(0.4) else {})))
add("arange", lambda r: (lambda a, n, s: Case(a, a + n * s, s))(r.integer(-9, 9), r.integer(0, 9), r.pick(1, 2, 3, -1, -2)))
