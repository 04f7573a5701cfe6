"""Windows that the judge hands to a runner."""

from ..channel import Context, Fault
from ..window import Window

MAX_WINDOWS = 256


class Windows:
    def op_map_window(self, message: dict, context: Context) -> dict:
        if len(self.windows) >= MAX_WINDOWS:
            raise Fault("worker", f"over {MAX_WINDOWS} windows")
        name, size = message["window"], message["bytes"]
        if name in self.windows:
            raise Fault("worker", f"window {name} is mapped already")
        self.windows[name] = Window.adopt(self.device, size, context.take())
        return {}

    def op_drop_window(self, message: dict, context: Context) -> dict:
        window = self.windows.pop(message["window"], None)
        if window is not None:
            window.close()
        return {}

    def window(self, name) -> Window:
        found = self.windows.get(name)
        if found is None:
            raise Fault("worker", f"no window {name!r}")
        return found
