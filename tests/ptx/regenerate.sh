#!/usr/bin/env bash
# Compiles tests/ptx/fixtures/*.cu to the .ptx files that are committed beside them. Needs nvcc 13.
#   tests/ptx/regenerate.sh [name ...]      all of them without arguments
# Then run test_ptx with FIEL_UPDATE_GOLDEN=1 to write the counts anew, and read the difference.
set -eu
cd "$(dirname "$0")/fixtures"
nvcc=${NVCC:-nvcc}

# compile NAME SUFFIX FLAGS...: paths of this machine are made relative, the rest is nvcc's own text.
compile() {
  local name=$1 suffix=$2
  shift 2
  "$nvcc" -O3 -std=c++17 -ptx -lineinfo "$@" "$name.cu" -o - |
    sed -E -e 's#(\.file[[:space:]]+[0-9]+ )"[^"]*/fixtures/#\1"#' \
      -e 's#(\.file[[:space:]]+[0-9]+ )"[^"]*/include/#\1"include/#' >"$name.$suffix.ptx"
}

if [ $# -eq 0 ]; then set -- $(ls *.cu | sed 's/\.cu$//'); fi
for name in "$@"; do
  compile "$name" sm_90 -arch=sm_90 &
  case $name in
    vadd4 | softmax | calls | half | cooperative | transpose | histogram) compile "$name" sm_100 -arch=sm_100 ;;
    mathf | layernorm) compile "$name" sm_90_fast -arch=sm_90 -use_fast_math ;;
  esac
  wait
done
