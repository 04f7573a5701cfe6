#!/usr/bin/env bash
# `run gpu-test` where there is no GPU: it says so. Where nvidia-smi answers (a fake one): it configures
# with tests, builds what they need, and hands its words to ctest with the label `gpu`.
#
#   gpu_test.sh ROOT BUILD_FOLDER      cmake, ninja and ctest are stood in for, so nothing is built
set -euo pipefail
root=$1 real=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; [ -f "$work/calls" ] && cat "$work/calls"; exit 1; }

# A PATH without the machine's own nvidia-smi; what is not stood in for is the real thing.
mkdir "$work/bin"
for tool in bash sh env sed grep find head tail touch mkdir dirname basename cat cp cmp diff wc rm dpkg-query mktemp \
  flock nproc id timeout; do
  ln -s "$(command -v $tool)" "$work/bin/" 2>/dev/null || true
done
for tool in cmake ninja ctest nvcc; do
  printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n' $tool "$work" >"$work/bin/$tool"
  chmod +x "$work/bin/$tool"
done
run() { # words
  env -u CUDA_HOME -u CUDA_PATH PATH="$work/bin" FIEL_NVCC="$work/bin/nvcc" FIEL_NO_INSTALL=1 \
    FIEL_BUILD_DIR="$work/build" "$root/run" gpu-test "$@" >"$work/out" 2>&1
}

status=0
run || status=$?
[ $status -eq 3 ] && grep -q "no GPU here" "$work/out" || fail "without a GPU: exit code $status, $(cat "$work/out")"
[ ! -e "$work/calls" ] || fail "something was built for no GPU"

printf '#!/bin/sh\necho "GPU 0: a fake (UUID: GPU-0)"\n' >"$work/bin/nvidia-smi"
chmod +x "$work/bin/nvidia-smi"
run -R 'GpuTest.*' --repeat until-pass:2 || fail "exit code $?: $(cat "$work/out")"
grep -q "^cmake .*-DFIEL_TESTS=ON" "$work/calls" || fail "not configured with tests"
grep -q "^ninja .* fiel test_gpu cases_on_gpu$" "$work/calls" || fail "fiel, test_gpu and cases_on_gpu are not built"
grep -qxF "ctest -L ^gpu\$ --output-on-failure --no-tests=error -R GpuTest.* --repeat until-pass:2" "$work/calls" ||
  fail "ctest got other words"

# Machine code of sm_90a runs on nothing else.
printf '#!/bin/sh\ncase $1 in -L) ;; *) echo 8.0 ;; esac\n' >"$work/bin/nvidia-smi"
status=0
PATH="$work/bin" "$root/tests/gpu/run" >"$work/out" 2>&1 || status=$?
[ $status -eq 77 ] && grep -q "compute capability 8.0" "$work/out" || fail "an older GPU: exit code $status, $(cat "$work/out")"

# A host with a driver and a carried program alone: the cases' text is recorded, the rest is left out.
printf '#!/bin/sh\ncase $1 in -L) ;; *) echo 9.0 ;; esac\n' >"$work/bin/nvidia-smi"
golden=$root/tests/vgpu/golden/cases_sm90.txt
[ -f "$golden" ] && cp "$golden" "$work/left.txt" || echo "adds kernel.ptx y 4 0123456789abcdef 00000005" >"$work/left.txt"
printf '#!/bin/sh\necho "cases_on_gpu $*" >>"%s/calls"\ncp "%s/left.txt" "$6"\n' "$work" "$work" >"$work/bin/carried"
chmod +x "$work/bin/carried"
status=0
FIEL_NVCC=$work/none PATH="$work/bin" "$root/tests/gpu/run" --update "$work/new" --cases "$work/bin/carried" \
  >"$work/out" 2>&1 || status=$?
grep -q "^left out: no nvcc" "$work/out" || fail "without nvcc: $(cat "$work/out")"
grep -q "^cases_on_gpu --device cuda --cases $root/tests/vgpu/cases --record " "$work/calls" || fail "not asked to record"
cmp -s "$work/left.txt" "$work/new/cases_sm90.txt" || fail "the text was not recorded: $(cat "$work/out")"
if [ -f "$golden" ]; then
  [ $status -eq 0 ] && grep -q "^passed  cases_on_gpu" "$work/out" || fail "the golden text: exit code $status, $(cat "$work/out")"
else
  [ $status -eq 1 ] && grep -q "^new     cases_on_gpu" "$work/out" || fail "no golden text: exit code $status, $(cat "$work/out")"
fi
status=0
FIEL_NVCC=$work/none FIEL_CASES_ON_GPU=$work/none PATH="$work/bin" "$root/tests/gpu/run" >"$work/out" 2>&1 || status=$?
[ $status -eq 77 ] || fail "neither nvcc nor a program: exit code $status, $(cat "$work/out")"

# What ctest fails with is what the script fails with.
printf '#!/bin/sh\nexit 8\n' >"$work/bin/ctest"
status=0
run || status=$?
[ $status -eq 8 ] || fail "a failed test: exit code $status"

# The label finds what is there, and nothing of the virtual GPU's.
listed=$(cd "$real" && ctest -N -L '^gpu$')
for name in gpu.hardware_computes_what_the_golden_texts_say gpu.both_devices_judge_the_examples_alike \
  gpu.native_speed; do
  grep -qF ": $name" <<<"$listed" || fail "$name is not labelled gpu"
done
# Its tests are known once test_gpu is built.
if [ -x "$real/tests/gpu/test_gpu" ]; then
  grep -qF ": GpuTest.AKernelRunsAndItsOutputIsRead" <<<"$listed" || fail "GpuTest is not labelled gpu"
fi
others=$(grep -E '^ *Test +#' <<<"$listed" | grep -vE ': (gpu\.|GpuTest\.|ClockedGpuTest\.|test_gpu_NOT_BUILT|exploits\.|honest\.)' || true)
[ -z "$others" ] || fail "labelled gpu, too: $others"
echo "as it must be"
