#!/usr/bin/env bash
# Runs a command with FIEL_PYTHON set to the tests' Python; skipped where that cannot be had.
#
#   tests/cli/with_torch.sh COMMAND...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! venv=$("$here/../python/venv.sh"); then
  echo "no Python with PyTorch" >&2
  exit 77
fi
exec env FIEL_PYTHON="$venv/bin/python" "$@"
