"""A runner's operations (docs/torch-workers.md#runner). One mixin a subject."""

from ..channel import Context
from ..hello import describe
from ..protocols.operation import ProtocolOperations
from .building import Building
from .calling import Calling
from .evidence import EvidenceOperations
from .loading import Loading
from .memory import Memory
from .printed import Printed
from .timed import TimedOperations
from .windows import Windows


class Runner(
    Loading, Building, Calling, TimedOperations, EvidenceOperations, Memory, Windows,
    ProtocolOperations,
):
    """`device` is cpu or cuda:N. Whatever goes wrong without a Fault is the candidate's doing."""

    blame = "candidate"

    def __init__(self, device: str):
        self.device = device
        self.printed = Printed()
        self.windows = {}  # id -> window.Window
        self.modules = {}  # id -> module.Loaded

    def op_hello(self, message: dict, context: Context) -> dict:
        context.give(self.printed.descriptor)
        return describe(self.device)
