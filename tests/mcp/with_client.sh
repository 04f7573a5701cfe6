#!/usr/bin/env bash
# Runs a Python program that uses PyPI's mcp; skipped where that cannot be had.
#
#   tests/mcp/with_client.sh PROGRAM WORDS...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! venv=$("$here/venv.sh"); then
  echo "no Python with the package mcp" >&2
  exit 77
fi
exec "$venv/bin/python" "$@"
