#!/usr/bin/env bash
# Makes the Python environment that holds one package of PyPI, and prints its path. A second call returns at once; two
# at a time do not disturb each other.
#
#   tests/support/package_venv.sh mcp 'mcp>=2,<3'      FIEL_MCP_VENV moves it (default: ~/.cache/fiel/mcp-venv)
set -euo pipefail
package=$1 requirement=$2
moved=FIEL_${package^^}_VENV
venv=${!moved:-${FIEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fiel}/$package-venv}
complete() { [ -x "$venv/bin/python" ] && ls "$venv"/lib/python3*/site-packages/"$package"/__init__.py >/dev/null 2>&1; }
if ! complete; then
  if [ -n "${FIEL_NO_INSTALL:-}" ]; then
    echo "package_venv.sh: no package $package in $venv; make it with: python3 -m venv $venv && $venv/bin/python -m pip install '$requirement'" >&2
    exit 3
  fi
  mkdir -p "$(dirname "$venv")"
  exec 9>"$venv.lock"
  flock 9
  if ! complete; then
    rm -rf "$venv.new"
    python3 -m venv "$venv.new" >&2
    "$venv.new/bin/python" -m pip install -q "$requirement" >&2 || exit 3
    rm -rf "$venv"
    mv "$venv.new" "$venv"
  fi
fi
echo "$venv"
