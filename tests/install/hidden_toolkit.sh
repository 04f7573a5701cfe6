#!/usr/bin/env bash
# Judges a kernel with every installed CUDA toolkit hidden, so that the compiler is the one that `run`
# brings from PyPI's wheels.
#
#   hidden_toolkit.sh ROOT FIEL_BINARY CACHE
set -euo pipefail
root=$1 binary=$2 cache=$3
mkdir -p "$cache"

# Hides what exists: toolkits under an empty file system, single files under /dev/null.
hide=()
for folder in /usr/local/cuda /usr/local/cuda-* /opt/cuda /usr/lib/cuda; do
  [ -d "$folder" ] && [ ! -L "$folder" ] && hide+=(--tmpfs "$folder")
done
while IFS= read -r program; do
  case $(readlink -f "$program") in
    /usr/local/cuda* | /opt/cuda* | /usr/lib/cuda*) ;; # already gone with its folder
    *) hide+=(--ro-bind /dev/null "$program") ;;
  esac
done < <(type -ap nvcc || true)

inside() {
  env -u CUDA_HOME -u CUDA_PATH -u FIEL_NVCC FIEL_CACHE="$cache" \
    bwrap --dev-bind / / --proc /proc "${hide[@]}" --die-with-parent "$@"
}
if inside sh -c 'command -v nvcc && nvcc --version' 2>/dev/null | grep -q release; then
  echo "nvcc still answers: the toolkit is not hidden"; exit 1
fi
FIEL_BUILD_DIR=$(dirname "$binary") inside "$root/run" setup
found=$(inside "$binary" doctor --json | python3 -c '
import json, sys
for item in json.load(sys.stdin)["items"]:
    if item["id"] == "compiler": print(item["state"], item["found"])')
echo "compiler: $found"
case $found in "ok nvcc "*"at $cache/cuda/"*) ;; *) echo "the compiler is not the one from the wheels"; exit 1 ;; esac
inside "$binary" judge --seed 1 "$root/tasks/softmax.toml" "$root/examples/softmax/online.cu" --json >"$cache/verdict.json"
python3 - "$cache/verdict.json" <<'P'
import json, sys
verdict = json.load(open(sys.argv[1]))
verdict = verdict.get("verdicts", [verdict])[0]
assert verdict["status"] == "correct", verdict["status"]
print("correct, compiled by", verdict["environment"]["compiler"])
P
