#!/usr/bin/env bash
# The scripted proposer on three memory-bound tasks, 30 judged kernels each: the best kernel's ratio against
# torch.compile, as the judge measures it once more.
#
#   FIEL=build/release/fiel bench/search.sh [cuda:0] [OUT]      BUDGET=30, JUDGE='--baselines default'
# Exit code 1 where, on a GPU, a best kernel judged again is slower than 0.98 of it.
# Needs a Python with PyTorch for the ratios (FIEL_PYTHON).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
device=${1:-cuda:0}
out=${2:-$(mktemp -d)}
fiel=${FIEL:-$here/build/release/fiel}
slow=0
for task in softmax layernorm gelu_bias_residual; do
  "$fiel" search "$here/tasks/$task.toml" --strategy climb --budget "${BUDGET:-30}" --device "$device" --no-store \
    ${JUDGE:+--judge "$JUDGE"} --json --out "$out/$task.cu" --plot "$out/$task.svg" >"$out/$task.json"
  python3 - "$out/$task.json" "$task" "$device" <<'PYTHON' || slow=1
import json, sys
r = json.load(open(sys.argv[1]))
best, again = r["best"] or {}, r["best_judged_again"] or {}
print(f"{sys.argv[2]:<20} judged {r['judged']:>3}  {best.get('measure')} {best.get('score')}"
      f"  again {again.get('score')} [{again.get('score_low')}, …)  {best.get('state')}")
sys.exit(sys.argv[3].startswith("cuda") and not (again.get("score") or 0) >= 0.98)
PYTHON
done
echo "kernels, documents and plots: $out"
exit $slow
