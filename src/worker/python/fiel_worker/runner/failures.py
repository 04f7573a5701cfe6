"""Running foreign code: whatever it raises becomes a Fault that says whose failure it is."""

import contextlib
import traceback

from ..channel import Fault, is_out_of_memory, words_of

DETAIL_CHARACTERS = 8192
_NEEDS_GPU = ("NVIDIA driver", "not compiled with CUDA", "No CUDA GPUs", "0 active drivers")


@contextlib.contextmanager
def foreign_code(printed, device: str, kind: str):
    """SystemExit and the like included. `kind` is load's: a reference's failure is the task's."""
    try:
        with printed.captured():
            yield
    except BaseException as error:
        raise fault_of(error, device, kind, printed.text()) from None


def fault_of(error: BaseException, device: str, kind: str, printed: str) -> Fault:
    if isinstance(error, Fault):
        return error
    words = words_of(error)
    detail = traceback_of(error)
    if printed:
        detail = f"{detail[-DETAIL_CHARACTERS // 2:]}\nprinted:\n{printed[-DETAIL_CHARACTERS // 2 + 32:]}"
    if is_out_of_memory(error):
        return Fault("memory", words, detail)
    # Some failures are the machine's: CUDA code where there is no GPU.
    if device == "cpu" and any(text in words for text in _NEEDS_GPU):
        return Fault("unsupported", f"this kernel needs a GPU ({words})", detail)
    return Fault("task" if kind == "reference" else "candidate", words, detail)


def traceback_of(error: BaseException) -> str:
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-24)
        return "".join(lines)[-DETAIL_CHARACTERS:]
    except BaseException:  # its own methods may raise anything
        return "no traceback: the exception cannot be shown"
