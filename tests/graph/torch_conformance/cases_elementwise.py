"""Unary, binary, comparison and selection."""

import torch

from harness import Case, Operator

OPERATORS = {}


def add(name, make, ref=None, count=36):
    OPERATORS[name] = Operator(make, ref, count)


def unary(name, ints=False, domain=None, ref=None, **attributes):
    """`attributes`: name -> a function of Random; each is given in half of the cases."""

    def make(r):
        shape = r.shape()
        x = domain(r, shape) if domain and not r.chance(0.3) else r.real(shape, special=0.4)
        if ints and r.chance(0.25):
            x = r.any_integers(shape)
        return Case(x, **{k: f(r) for k, f in attributes.items() if r.chance(0.5)})

    add(name, make, ref)


positive = lambda r, s: r.positive(s)
unit = lambda r, s: r.unit(s)
small = lambda r, s: r.unit(s) * 2 - 1
above = lambda low, high: (lambda r: round(float(r.rng.uniform(low, high)), 3))

# Activations.
unary("relu", ints=True)
unary("relu6")
unary("leaky_relu", negative_slope=above(0, 0.5))
unary("elu", alpha=above(0.1, 2))
unary("selu")
unary("celu", alpha=above(0.1, 2))
unary("gelu", approximate=lambda r: r.pick("none", "tanh"))
unary("silu")
unary("mish")
unary("softplus", beta=above(0.2, 3), threshold=above(2, 25))
unary("softsign")
unary("softshrink", lambd=above(0, 1))
unary("hardshrink", lambd=above(0, 1))
unary("tanhshrink")
unary("hardtanh", min_val=above(-2, 0), max_val=above(0, 2))
unary("hardsigmoid")
unary("hardswish")
unary("sigmoid", ints=True, ref=torch.sigmoid)
unary("logsigmoid")
unary("rrelu", lower=above(0, 0.2), upper=above(0.2, 0.5))
add("threshold", lambda r: Case(r.real(r.shape()), above(-1, 1)(r), above(-3, 3)(r)))

# Mathematics.
for name in ("exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "erf",
             "erfc", "reciprocal", "sinc", "deg2rad", "rad2deg"):
    unary(name, ints=name != "sinc")
OPERATORS["tanh"] = Operator(lambda r: Case(r.real(r.shape(), 0.4)), torch.tanh)
for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "acosh"):
    unary(name, ints=True, domain=positive)
for name in ("asin", "acos", "atanh"):
    unary(name, domain=small)
unary("erfinv", ints=True, domain=lambda r, s: r.pick(small(r, s), torch.erf(r.real(s)), small(r, s) * 1e-8))
for name in ("lgamma", "digamma"):
    unary(name, domain=positive)
unary("logit", domain=unit, eps=above(0.01, 0.3))
for name in ("abs", "neg", "sign", "sgn", "floor", "ceil", "trunc", "square"):
    unary(name, ints=True, ref=getattr(torch, name))
unary("frac")
unary("round", decimals=lambda r: r.integer(-1, 3))
unary("nan_to_num", nan=above(-1, 1), posinf=above(5, 9), neginf=above(-9, -5))
for name in ("isnan", "isinf", "isfinite", "signbit", "logical_not"):
    unary(name, ints=True)
add("bitwise_not", lambda r: Case(r.bools(r.shape()) if r.chance(0.3) else r.any_integers(r.shape())))


def to_case(r):
    shape = r.shape()
    x = r.pick(r.real(shape, 0), r.any_integers(shape), r.bools(shape))
    dtype = r.pick(torch.int32, torch.int64, torch.float64, torch.bool, torch.int8)
    return Case(x, dtype)


add("to", to_case, ref=lambda x, dtype: x.to(dtype))


def operands(r, ints=0.25, nonzero=False, floats=None):
    shape = r.shape()
    shapes = [shape, r.broadcastable(shape)]
    if r.chance(0.5):
        shapes.reverse()
    if r.chance(ints):
        a, b = r.any_integers(shapes[0]), r.any_integers(shapes[1])
        return (a, torch.where(b == 0, torch.ones_like(b), b)) if nonzero else (a, b)
    make = floats or (lambda s: r.real(s, 0.3))
    a, b = make(shapes[0]), make(shapes[1])
    kind = r.integer(0, 5)
    if kind == 0:
        b = round(float(r.rng.uniform(0.5, 3)), 2)
    elif kind == 1:
        b = r.integer(1, 5)
    return a, b


def binary(name, ref=None, **options):
    add(name, lambda r: Case(*operands(r, **options)), ref, 48)


def as_tensor(f):
    """PyTorch functions that take no Python number get the tensor that one stands for."""
    return lambda a, b: f(a, b if isinstance(b, torch.Tensor) else torch.tensor(b, dtype=torch.float64 if isinstance(b, float) else None))


for name in ("mul", "pow"):
    binary(name, ints=0.25 if name == "mul" else 0)
for name in ("floor_divide", "remainder", "fmod"):
    binary(name, nonzero=True)
for name in ("maximum", "minimum", "fmax", "fmin", "atan2"):
    binary(name, ref=as_tensor(getattr(torch, name)), ints=0.2)
binary("hypot", ref=as_tensor(torch.hypot), ints=0)
binary("logaddexp", ref=as_tensor(torch.logaddexp), ints=0)
binary("logaddexp2", ref=as_tensor(torch.logaddexp2), ints=0)
binary("float_power", ints=0.25)
binary("copysign", ints=0.2)
binary("xlogy", floats=None, ints=0)
for name in ("lt", "le", "gt", "ge", "eq", "ne"):
    binary(name)
for name in ("logical_and", "logical_or", "logical_xor"):
    binary(name, ref=as_tensor(getattr(torch, name)))


def integer_pow(r):
    if r.chance(0.7):
        return Case(*operands(r, ints=0))
    shape = r.shape()
    return Case(r.ints(shape, -5, 5), r.ints(r.broadcastable(shape), 0, 6))


add("pow", integer_pow, count=48)
for name in ("add", "sub"):
    def make(r):
        a, b = operands(r)
        integer = isinstance(a, torch.Tensor) and not a.dtype.is_floating_point
        alpha = {"alpha": r.integer(-3, 3) if integer else round(float(r.rng.uniform(-2, 2)), 2)}
        return Case(a, b, **(alpha if r.chance(0.4) else {}))

    add(name, make, count=48)


def div_case(r):
    mode = r.pick(None, None, "trunc", "floor")
    a, b = operands(r, nonzero=True)
    return Case(a, b, **({"rounding_mode": mode} if mode else {}))


add("div", div_case, count=60)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    def make(r):
        shape = r.shape()
        if r.chance(0.3):
            return Case(r.bools(shape), r.bools(r.broadcastable(shape)))
        return Case(r.any_integers(shape), r.any_integers(r.broadcastable(shape)))

    add(name, make)


def heaviside_case(r):
    shape = r.shape()
    x = r.any_integers(shape) if r.chance(0.3) else r.real(shape, 0.4)
    x = torch.where(r.bools(shape), torch.zeros_like(x), x)
    values = r.broadcastable(shape)
    if x.dtype.is_floating_point:
        return Case(x, r.pick(r.real(values), 0.5, 1))
    return Case(x, r.pick(r.ints(values, 0, 5, x.dtype), 2))


def heaviside(x, values):
    return torch.heaviside(x, values if isinstance(values, torch.Tensor) else x.new_tensor(values))


add("heaviside", heaviside_case, heaviside)
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    def make(r):
        shape = r.shape()
        a = r.any_integers(shape) * r.pick(1, 13)  # into an i8's high bits
        by = r.ints(r.broadcastable(shape), 0, r.pick(3, 70))
        negative = r.chance(0.2)
        return Case(a, r.pick((-by if negative else by).to(a.dtype), by, r.integer(0, 9)))

    add(name, make)


def where_case(r):
    shape = r.shape()
    a = r.real(r.broadcastable(shape))
    b = r.pick(r.real(r.broadcastable(shape)), 2.5, 0)
    if r.chance(0.2):
        a, b = r.any_integers(r.broadcastable(shape)), 3
    return Case(r.bools(r.broadcastable(shape)), a, b)


add("where", where_case)
add("masked_fill", lambda r: (lambda s: Case(r.real(s), r.bools(r.broadcastable(s)), r.pick(-1.5, float("-inf"), 2)))(r.shape()),
    ref=torch.masked_fill)


def clamp_case(r):
    shape = r.shape()
    if r.chance(0.2):
        return Case(r.ints(shape), -3, r.integer(-4, 4))
    bounds = {}
    kind = r.integer(0, 3)
    if kind == 3:
        return Case(r.real(shape), min=r.real(r.broadcastable(shape)), max=r.real(r.broadcastable(shape)))
    if kind != 1:
        bounds["min"] = above(-2, 1)(r)
    if kind != 0:
        bounds["max"] = above(-1, 2)(r)
    return Case(r.real(shape), **bounds)


add("clamp", clamp_case)
add("lerp", lambda r: (lambda s: Case(r.real(s), r.real(r.broadcastable(s)), r.pick(0.3, 0.8, r.unit(r.broadcastable(s)))))(r.shape()))
for name in ("addcmul", "addcdiv"):
    add(name, lambda r: (lambda s: Case(r.real(s), r.real(r.broadcastable(s)), r.real(r.broadcastable(s)),
                                        **({"value": above(-2, 2)(r)} if r.chance(0.5) else {})))(r.shape()))


def prelu_case(r):
    x = r.real(r.shape(1, 4))
    channels = x.shape[1] if x.dim() >= 2 else 1
    return Case(x, r.normal([r.pick(1, channels)]))


add("prelu", prelu_case)


def glu_case(r):
    shape = r.shape(1, 4)
    dim = r.dim(len(shape))
    shape[dim] *= 2
    return Case(r.real(shape), **({"dim": dim} if dim not in (-1,) else {}))


add("glu", glu_case)
