#!/usr/bin/env bash
# Makes the Python environment in which tests compare with PyTorch, and prints its path. A second
# call returns at once; two at a time do not disturb each other. About 5 GB, two minutes.
#
#   tests/python/venv.sh            FIEL_VENV moves it (default: ~/.cache/fiel/venv)
set -euo pipefail
venv=${FIEL_VENV:-${FIEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fiel}/venv}
complete() { [ -x "$venv/bin/python" ] && ls "$venv"/lib/python3*/site-packages/torch/__init__.py >/dev/null 2>&1; }
if ! complete; then
  if [ -n "${FIEL_NO_INSTALL:-}" ]; then
    echo "venv.sh: no PyTorch in $venv; make it with: python3 -m venv $venv && $venv/bin/python -m pip install torch numpy" >&2
    exit 3
  fi
  mkdir -p "$(dirname "$venv")"
  exec 9>"$venv.lock"
  flock 9
  if ! complete; then
    echo "venv.sh: installing PyTorch into $venv (about 5 GB, two minutes)" >&2
    rm -rf "$venv.new"
    python3 -m venv "$venv.new" >&2
    "$venv.new/bin/python" -m pip install -q 'torch>=2.5,<3' 'numpy>=1.26,<3' >&2
    rm -rf "$venv"
    mv "$venv.new" "$venv"
  fi
fi
echo "$venv"
