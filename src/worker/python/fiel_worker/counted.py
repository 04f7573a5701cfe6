"""One call of a module while a profiler watches this process: no channel, no judge, nothing that is believed.

    counted.main(["TASK.py", "KERNEL.py", "cuda:0"])

The profiler counts what runs between its start and its stop, so neither the task's nor the first calls' work.
"""
import torch

from fiel_worker.runner import sources


def _moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(v, device) for v in value)
    if isinstance(value, dict):
        return {k: _moved(v, device) for k, v in value.items()}
    return value


def _watched(device: str, watching: bool) -> None:
    if device == "cpu":
        return
    torch.cuda.synchronize()
    (torch.cuda.profiler.start if watching else torch.cuda.profiler.stop)()


def main(words: list) -> int:
    task_path, kernel_path, device = words
    task = sources.import_file(task_path, "fiel_task", "task")
    kernel = sources.import_file(kernel_path, "fiel_candidate", "candidate")
    model = kernel.ModelNew(*sources.init_inputs(task, 1)).to(device)
    inputs = _moved(list(task.get_inputs()), device)
    with torch.no_grad():
        for _ in range(2):  # what is built or chosen at first
            model(*inputs)
        _watched(device, True)
        model(*inputs)
        _watched(device, False)
    return 0
