#!/usr/bin/env bash
# Runs a Python program that uses a package of PyPI; skipped (77) where that cannot be had.
#
#   tests/support/with_package.sh PACKAGE REQUIREMENT PROGRAM WORDS...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! venv=$("$here/package_venv.sh" "$1" "$2"); then
  echo "no Python with the package $1" >&2
  exit 77
fi
exec "$venv/bin/python" "${@:3}"
