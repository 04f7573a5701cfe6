#!/usr/bin/env bash
# Makes the Python environment that holds a client of the Model Context Protocol (PyPI: mcp), and prints its path.
# A second call returns at once; two at a time do not disturb each other. About 60 MB.
#
#   tests/mcp/venv.sh            FIEL_MCP_VENV moves it (default: ~/.cache/fiel/mcp-venv)
set -euo pipefail
venv=${FIEL_MCP_VENV:-${FIEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fiel}/mcp-venv}
complete() { [ -x "$venv/bin/python" ] && ls "$venv"/lib/python3*/site-packages/mcp/__init__.py >/dev/null 2>&1; }
if ! complete; then
  if [ -n "${FIEL_NO_INSTALL:-}" ]; then
    echo "venv.sh: no package mcp in $venv; make it with: python3 -m venv $venv && $venv/bin/python -m pip install mcp" >&2
    exit 3
  fi
  mkdir -p "$(dirname "$venv")"
  exec 9>"$venv.lock"
  flock 9
  if ! complete; then
    rm -rf "$venv.new"
    python3 -m venv "$venv.new" >&2
    "$venv.new/bin/python" -m pip install -q 'mcp>=2,<3' >&2 || exit 3
    rm -rf "$venv"
    mv "$venv.new" "$venv"
  fi
fi
echo "$venv"
