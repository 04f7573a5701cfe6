#!/usr/bin/env bash
# A script of this folder in the environment that has PyTorch (made when it is missing).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$("$here/../../python/venv.sh")
script=$1
shift
exec "$venv/bin/python" "$here/$script" "$@"
