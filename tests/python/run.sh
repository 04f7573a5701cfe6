#!/usr/bin/env bash
# One unittest file in the environment that has PyTorch (made when it is missing).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$("$here/venv.sh")
cd "$here"
exec "$venv/bin/python" -B -m unittest "$@"
