"""An open task: the module in its own types and in float64, what its inputs may be, what it returns."""

import math

import torch

from ..channel import Fault, is_out_of_memory, one_line
from ..values import describe, flatten, rebuild
from .bound import unit_of
from .domains import KINDS, Domain, classify
from .model_state import State, Weights, copy_values, named_state, wide_copy
from .precision import Float64, UNITS, UNIT_FP32
from .probes import Recipe, derive, make
from .shape_variants import MAX_VARIANTS, SmallVariant, candidates, small
from .task_module import TaskModule, call, seed_everything

_BIG_DRAW_BYTES, _HUGE_DRAW_BYTES = 256 << 20, 16 << 30


class Task:
    def __init__(self, module: TaskModule):
        self.source, self.device = module, module.device
        self.model = module.build()
        self.weights = Weights(self.model)
        self._state = State(self.model)
        self.writes_inputs = False
        self._wide, self._wide_weights = None, None
        self._declared = False
        own = module.draw(1)
        self.tree, leaves = flatten(own)
        self.inputs = [describe(p, t) for p, t in leaves]
        self.input_dtypes = [t.dtype for _, t in leaves]
        self.input_bytes = sum(t.numel() * t.element_size() for _, t in leaves)
        self.domains = self._classify(own)
        self._learn_outputs(own)
        self.variants = {}
        self.batches = {}  # batch.batch_of
        self.warnings = module.warnings

    def _classify(self, own) -> list[Domain]:
        """Two draws tell, three where they cost nothing."""
        more = 0 if self.input_bytes > _HUGE_DRAW_BYTES else 1 if self.input_bytes > _BIG_DRAW_BYTES else 2
        draws = [flatten(own)[1]] + [flatten(self.source.draw(2 + k))[1] for k in range(more)]
        shapes = [[tuple(t.shape) for _, t in draw] for draw in draws]
        if any(s != shapes[0] for s in shapes):
            raise Fault("unsupported", "get_inputs returns other shapes at each call")
        return [classify([draw[i][1] for draw in draws]) for i in range(len(draws[0]))]

    def _learn_outputs(self, own) -> None:
        leaves = flatten(own)[1]
        versions = [t._version for _, t in leaves]
        self.output_tree, outputs = self.run(own, 1)
        self.writes_inputs = versions != [t._version for _, t in leaves]
        if self.writes_inputs:
            warn = "the reference writes into its inputs: whether a candidate does is not judged"
            self.source.warnings.append(warn)
        self.outputs = [describe(p, t) for p, t in outputs]
        self.output_dtypes = [t.dtype for _, t in outputs]
        self.output_bytes = sum(t.numel() * t.element_size() for _, t in outputs)
        kinds = self.input_dtypes + self.output_dtypes
        kinds += [t.dtype for _, _, t in named_state(self.model)]
        self.narrow = any(UNITS.get(d, 0) > UNIT_FP32 for d in kinds)
        if not outputs:
            raise Fault("task", "forward returns no tensor")

    def run(self, inputs, seed: int, buffers: dict | None = None):
        """(tree, [(path, tensor)]) of the reference in its own types, from its own state; `buffers` takes
        what they are afterwards."""
        tree, leaves = flatten(inputs)
        tensors = [t.clone() if self.writes_inputs else t for _, t in leaves]
        seed_everything(seed)
        try:
            result = call(self.model, rebuild(tree, tensors))
            tree, outputs = flatten(result)
            held = {t.untyped_storage().data_ptr() for _, _, t in named_state(self.model)}
            outputs = [
                (p, t.clone() if t.untyped_storage().data_ptr() in held else t) for p, t in outputs
            ]
            if buffers is not None:
                buffers.update((n, t.clone()) for n, kind, t in named_state(self.model) if kind == "buffer")
        finally:
            self._state.restore()
        return tree, [(p, t.detach()) for p, t in outputs]

    def use_weights(self, which) -> None:
        if which != self.weights.current:
            self.weights.apply(which)
            self._state = State(self.model)

    def model64(self, which) -> torch.nn.Module:
        """The reference in float64 with these weights."""
        self.use_weights(which)
        if self._wide is None:
            self._wide = wide_copy(self.model)
            if self.narrow:
                for (_, _, own), (_, _, wide) in zip(named_state(self.model), named_state(self._wide)):
                    wide._fiel_declared = own.dtype
        elif self._wide_weights != which:
            copy_values(self.model, self._wide)
        self._wide_weights = which
        return self._wide

    def draw(self, recipe: Recipe, shape_variant=None):
        """Inputs of a recipe, or None where the probe does not apply."""
        own = self.source.draw(derive(recipe.seed, 17 + recipe.variant))
        domains = self.domains_of(shape_variant)
        if shape_variant:
            own = self.variants[shape_variant].apply(own, self.domains)
        return make(own, domains, recipe)

    def domains_of(self, shape_variant=None) -> list[Domain]:
        if not shape_variant:
            return self.domains
        return self.variants[shape_variant].domains(self.domains)

    def declare(self, kinds) -> None:
        """What a native task says that its inputs may be, where the draws only let one guess."""
        if not isinstance(kinds, list) or len(kinds) != len(self.domains):
            raise Fault("worker", "domains are declared of every input or of none")
        for domain, kind in zip(self.domains, kinds):
            if kind not in KINDS:
                raise Fault("worker", f"unknown domain {kind!r}")
            if kind != "real":  # real is what the draws look like: symmetric, patterned, whole
                domain.kind = kind
        self._declared = True

    def settle_domains(self) -> None:
        """get_inputs draws torch.rand, which is never negative: does the module take negatives?"""
        if self._declared:
            return
        for trial in self._retreats():
            before = [d.kind for d in self.domains]
            for i in trial:
                self.domains[i].kind = "positive"
            if self._accepts(Recipe("mixed-signs", 0, 11)):
                return
            for domain, kind in zip(self.domains, before):
                domain.kind = kind
        for domain in self.domains:  # nothing helps: probes will say why they are dropped
            if domain.kind == "real" and domain.low >= 0:
                domain.kind = "positive"

    def _retreats(self):
        unsigned = [i for i, d in enumerate(self.domains) if d.kind == "real" and d.low >= 0]
        yield []
        if len(unsigned) > 1:
            yield from ([i] for i in unsigned[:4])
        yield unsigned

    def _accepts(self, recipe: Recipe) -> bool:
        inputs = self.draw(recipe)
        return inputs is None or self.complaint(inputs) is None

    def complaint(self, inputs):
        """Why the reference in its own types has no finite answer to these inputs, or None."""
        try:
            _, outputs = self.run(inputs, 3)
        except Fault:
            raise
        except (RuntimeError, ValueError, IndexError, AssertionError, TypeError) as error:
            if is_out_of_memory(error):  # says nothing about the inputs
                raise Fault("memory", one_line(f"the reference does not fit: {error}")[:200]) from None
            return one_line(f"the reference raises {type(error).__name__}: {error}")[:200]
        for path, t in outputs:
            if t.is_floating_point() and t.numel() and not bool(torch.isfinite(t.to(torch.float32)).all()):
                return f"the reference is not finite at '{path}'"
        return None

    @property
    def wide_bytes(self) -> int:
        """Inputs and outputs in float64."""
        leaves = self.inputs + self.outputs
        return 8 * sum(math.prod(leaf["shape"]) for leaf in leaves)

    def find_variants(self, small_bytes: int = 0) -> None:
        """`small_bytes`: with one more, for a device that is slow: inputs and outputs within it."""
        own = self.source.draw(1)
        if small_bytes and self.input_bytes + self.output_bytes > small_bytes:
            self._find_small(own, small_bytes)
        cuts = self.variants["small"].parts if self.variants else ()
        base = self.variants["small"].apply(own, self.domains) if cuts else own
        for variant in candidates(base):
            if len(self.variants) >= MAX_VARIANTS:
                return
            if cuts:
                variant = SmallVariant(variant.name, variant.note, (*cuts, variant))
            if variant.name not in self.variants:
                try:
                    cut = variant.apply(own, self.domains)
                except RuntimeError:
                    continue
                if self.complaint(cut) is None:
                    self.variants[variant.name] = variant

    def _find_small(self, own, limit: int) -> None:
        def bytes_of(cut):
            if self.complaint(cut) is not None:
                return None
            leaves = flatten(cut)[1] + self.run(cut, 3)[1]
            return sum(t.numel() * t.element_size() for _, t in leaves)

        variant = small(own, self.domains, limit, bytes_of)
        if variant is not None:
            self.variants[variant.name] = variant

    def count_operations(self) -> dict[str, float]:
        """Floating-point operations of one call by kind: contracting and other."""
        from .precision import Float64

        mode = Float64(count_only=True)
        inputs = self.source.draw(1)
        self.use_weights("given")
        seed_everything(1)
        try:
            with mode:
                call(self.model, inputs)
        finally:
            self._state.restore()
        return mode.flops
