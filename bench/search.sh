#!/usr/bin/env bash
# The scripted proposer on three memory-bound tasks, 30 judged kernels each: the best kernel's ratio against
# torch.compile, as the judge measures it once more.
#
#   FIEL=build/release/fiel bench/search.sh [cuda:0] [OUT]      BUDGET=30, JUDGE='--baselines default'
# Needs a Python with PyTorch for the ratios (FIEL_PYTHON).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
device=${1:-cuda:0}
out=${2:-$(mktemp -d)}
fiel=${FIEL:-$here/build/release/fiel}
for task in softmax layernorm gelu_bias_residual; do
  "$fiel" search "$here/tasks/$task.toml" --strategy climb --budget "${BUDGET:-30}" --device "$device" --no-store \
    ${JUDGE:+--judge "$JUDGE"} --json --out "$out/$task.cu" --plot "$out/$task.svg" >"$out/$task.json"
  python3 - "$out/$task.json" "$task" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
best, again = r["best"] or {}, r["best_judged_again"] or {}
print(f"{sys.argv[2]:<20} judged {r['judged']:>3}  {best.get('measure')} {best.get('score')}"
      f"  again {again.get('score')} [{again.get('score_low')}, …)  {best.get('state')}")
PYTHON
done
echo "kernels, documents and plots: $out"
