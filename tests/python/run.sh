#!/usr/bin/env bash
# One unittest file in the environment that has PyTorch (made when it is missing).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$("$here/venv.sh")
cd "$here"
# Nothing new in src/: it would be newer than the binary, and `run` would build beside the tests.
export PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" -m unittest "$@"
