"""Starts one worker: python -m fiel_worker {oracle|runner} {cpu|cuda:N} [descriptor]"""

import os
import sys


def main() -> int:
    role, device = sys.argv[1], sys.argv[2]
    descriptor = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    if role not in ("oracle", "runner"):
        print(f"fiel_worker: unknown role {role!r}", file=sys.stderr)
        return 2
    from .channel import Channel, serve

    channel = Channel(descriptor)
    if role == "oracle":
        from .oracle.operations import Oracle as Worker
    else:
        from .runner.operations import Runner as Worker
    serve(channel, Worker(device))
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Destructors of what a candidate loaded may hang or crash: nothing is owed to them.
    os._exit(code)
