"""Compares the operator catalogue with PyTorch in float64.

    run.py EVALUATOR [--group PREFIX] [--op NAME] [--case N] [--coverage] [--promotion]

EVALUATOR is graph_evaluate_cases. Each operator has a generator of random cases in cases_*.py; a
mismatch prints the expression, the inputs and the command that runs this case alone.
"""

import argparse
import subprocess
import sys
import warnings

import torch

import cases_dense
import cases_elementwise
import cases_layers
import cases_shape
import promotion
from harness import Batch, Random, mismatch

torch.set_num_threads(1)
warnings.filterwarnings("ignore", module="torch")
warnings.filterwarnings("ignore", message=".*(degrees of freedom|padding='same'|reduction: 'mean').*")
OPERATORS = {}
for module in (cases_elementwise, cases_dense, cases_layers, cases_shape):
    for name, spec in module.OPERATORS.items():
        assert name not in OPERATORS, name
        OPERATORS[name] = spec


def catalogue(evaluator):
    text = subprocess.run([evaluator, "--list"], check=True, capture_output=True, text=True).stdout
    return dict(line.split("\t") for line in text.splitlines())


def check_coverage(rows):
    missing = [name for name in rows if name not in OPERATORS]
    stale = [name for name in OPERATORS if name not in rows]
    thin = [name for name, spec in OPERATORS.items() if spec.count < 30]
    for what, names in (("without cases", missing), ("of no operator", stale), ("fewer than 30 cases", thin)):
        if names:
            print(f"{what}: {', '.join(names)}")
    return not (missing or stale or thin)


def report(evaluator, name, index, case, problem):
    print(f"MISMATCH {name} case {index}: {problem}")
    print(f"  {case['text']}")
    for i in case["inputs"]:
        print(f"    {i['name']}: {i['dtype']}{i['shape']}")
    print(f"  reproduce: {sys.argv[0]} {evaluator} --op {name} --case {index}")


def check_promotion(evaluator):
    results = promotion.check(evaluator)
    bad = 0
    for case, (_, spec_case, want), got in results:
        problem = mismatch(spec_case, want, got)
        if problem:
            bad += 1
            print(f"MISMATCH {problem}\n  {case['text']}: {[(i['dtype'], i['shape']) for i in case['inputs']]}")
    print(f"{len(results)} pairs of dtypes, {bad} mismatches")
    return bad == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evaluator")
    parser.add_argument("--group", default="")
    parser.add_argument("--op")
    parser.add_argument("--case", type=int)
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--promotion", action="store_true")
    args = parser.parse_args()
    rows = catalogue(args.evaluator)
    if args.coverage:
        return 0 if check_coverage(rows) else 1
    if args.promotion:
        return 0 if check_promotion(args.evaluator) else 1
    batch, origin = Batch(), []
    for name, spec in OPERATORS.items():
        if name not in rows or not rows[name].startswith(args.group) or (args.op and name != args.op):
            continue
        for index in range(spec.count) if args.case is None else [args.case]:
            batch.add(name, spec, spec.make(Random(name, index)))
            origin.append((name, index))
    if not origin:
        print("no cases")
        return 1
    bad = {}
    for (name, index), (case, (_, spec_case, want), got) in zip(origin, batch.run(args.evaluator)):
        problem = mismatch(spec_case, want, got)
        if problem:
            bad[name] = bad.get(name, 0) + 1
            if bad[name] <= 3:
                report(args.evaluator, name, index, case, problem)
    operators = len({name for name, _ in origin})
    print(f"{operators} operators, {len(origin)} cases, {sum(bad.values())} mismatches, PyTorch {torch.__version__}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
