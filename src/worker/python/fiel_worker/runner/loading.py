"""load and unload: from a path to a module on the device."""

import gc
import sys
import time

import torch

from .. import numerics, values
from ..channel import Context, Fault
from ..hello import no_compile
from . import construct, extension, folder, sources
from .failures import foreign_code
from .memory import used_bytes
from .module import Loaded, named_state

CLASS_NAMES = {"reference": "Model", "module": "ModelNew", "folder": "ModelNew"}
COMPILE_MODES = ("none", "default", "reduce-overhead", "max-autotune")
MAX_MODULES = 64


class Loading:
    def op_load(self, message: dict, context: Context) -> dict:
        kind, compiled = message["kind"], message.get("compile", "none")
        policy = message.get("policy", "default")
        if kind not in CLASS_NAMES or compiled not in COMPILE_MODES or policy not in numerics.POLICIES:
            raise Fault("worker", f"load of {kind!r}, {compiled!r}, {policy!r}")
        if compiled != "none" and no_compile():
            raise Fault("unsupported", no_compile())
        if len(self.modules) >= MAX_MODULES:
            raise Fault("worker", f"over {MAX_MODULES} modules")
        apply_policy(policy)
        build = None if kind == "reference" else extension.Build(self.device)
        used_before, begin = used_bytes(self.device), time.perf_counter_ns()
        with foreign_code(self.printed, self.device, kind):
            network = self._build(kind, message, build)
        if kind == "reference" and isinstance(network, torch.nn.Module):
            network = numerics.cast_module(network, policy)
        # A task's file may set flags where it is imported: they are the policy's all the same.
        flags = apply_policy(policy) if kind == "reference" else {"policy": policy, "asserted": None}
        module = Loaded(network, network, kind, self.device, flags, build)
        module.policy = policy if kind == "reference" else "default"
        if compiled != "none":
            module.call = torch.compile(network, **compile_options(compiled))
            module.marks_steps = self.device.startswith("cuda") and compiled != "default"
        settle(self.device)
        module.setup_bytes = used_bytes(self.device) - used_before
        self.modules[module.id] = module
        return {
            "module": module.id,
            "build_ms": (time.perf_counter_ns() - begin) / 1e6,
            "weights": [described(name, tensor) for name, tensor in named_state(network)],
            "flags": flags,
            "extension_log": build.log() if build else "",
            "printed": self.printed.text(),
        }

    def _build(self, kind: str, message: dict, build):
        seed, path = message.get("init_seed", 0), message["path"]
        task_path = path if kind == "reference" else message["task_path"]
        task = sources.import_file(task_path, f"fiel_task_{len(sys.modules)}", "task")
        inputs = sources.init_inputs(task, seed)
        module = task if kind == "reference" else self._candidate(kind, path, seed, build)
        cls = getattr(module, CLASS_NAMES[kind], None)
        if cls is None:
            blame = "task" if kind == "reference" else "candidate"
            raise Fault(blame, f"{path.rsplit('/', 1)[-1]} defines no {CLASS_NAMES[kind]}")
        return construct.construct(cls, inputs, seed, self.device, message.get("mode", "train"))

    def _candidate(self, kind: str, path: str, seed: int, build: extension.Build):
        sources.seed_everything(seed)
        if kind == "folder":
            return folder.load(path, self.device, build)
        return sources.import_file(path, f"candidate_{len(sys.modules)}", "candidate")

    def op_unload(self, message: dict, context: Context) -> dict:
        module = self.modules.pop(message["module"], None)
        if module is not None and module.build is not None:
            module.build.remove()
        del module
        gc.collect()
        settle(self.device)
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        return {}

    def op_reset(self, message: dict, context: Context) -> dict:
        """As it was before the first module: for trusted runners, which serve several tasks."""
        for number in list(self.modules):
            self.op_unload({"module": number}, context)
        for window in self.windows.values():
            window.close()
        self.windows.clear()
        if "torch._dynamo" in sys.modules:
            torch._dynamo.reset()
        gc.collect()
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        return {}

    def module(self, name) -> Loaded:
        found = self.modules.get(name)
        if found is None:
            raise Fault("worker", f"no module {name!r}")
        return found


def described(name: str, tensor: torch.Tensor) -> list:
    return [name, list(tensor.shape), values.name_of(tensor.dtype)]


def settle(device: str) -> None:
    """Waits for all of the device's work, on whatever stream."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def compile_options(mode: str) -> dict:
    return {} if mode == "default" else {"mode": mode}


def apply_policy(policy: str) -> dict:
    """Sets the numerics policy and says what was asserted of it."""
    return {"policy": policy, "asserted": numerics.apply(policy)}
