#!/usr/bin/env bash
# compare.py in the environment that has PyTorch (made when it is missing).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$("$here/../../python/venv.sh")
exec "$venv/bin/python" "$here/compare.py" "$@"
