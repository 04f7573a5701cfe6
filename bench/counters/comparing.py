"""Our counts beside hardware's: rows, a table, golden numbers, and what is beyond its tolerance.

    values = virtual(profile)                              # of `fiel profile --json`, one shape
    rows = compare("strided", values, hardware, plan)      # plan: cases.json
    print(table(results, plan))

A metric agrees where the two differ by no more than its tolerance times hardware's number (of conflicts: of
the wavefronts that they are among), or by 8, which is what a few extra instructions of a prologue make. Differences that are understood stand in the plan
under `differs` as {"case", "metric", "why"}: they are shown, and do not fail.
"""

ABSOLUTE = 8


def virtual(profile: dict) -> dict:
    """Our counts by the names of ncu.COUNTERS, summed over launches."""
    totals = [launch["total"] for launch in profile["launches"] for _ in range(launch.get("times", 1))]

    def of(*path):
        values = []
        for total in totals:
            for key in path:
                total = total[key]
            values.append(total)
        return sum(values)

    result = {}
    for name, ours in (("load", "global_loads"), ("store", "global_stores")):
        result[f"{name} requests"] = of(ours, "requests")
        result[f"{name} sectors"] = of(ours, "sectors")
    result["atomic requests"] = of("atomics", "requests")
    for name, ours in (("load", "shared_loads"), ("store", "shared_stores")):
        result[f"shared {name} wavefronts"] = of(ours, "wavefronts")
        result[f"shared {name} conflicts"] = of(ours, "wavefronts") - of(ours, "ideal_wavefronts")
    result["flops"] = of("flops")
    result["warp instructions"] = of("warp_instructions")
    result["DRAM bytes read"] = sum(launch["unique_global_bytes_read"] for launch in profile["launches"])
    result["DRAM bytes written"] = sum(launch["unique_global_bytes_written"] for launch in profile["launches"])
    return result


def agrees(ours: float, theirs: float, tolerance: float | None, of: float) -> bool:
    return tolerance is None or abs(ours - theirs) <= max(tolerance * of, ABSOLUTE)


def compare(case: str, ours: dict, theirs: dict, plan: dict) -> list[dict]:
    """A row a metric that both sides have."""
    excuses = {(d["case"], d["metric"]): d["why"] for d in plan["differs"]}
    rows = []
    for metric in plan["metrics"]:
        name = metric["name"]
        if name not in ours or name not in theirs:
            continue
        row = {"case": case, "metric": name, "virtual": ours[name], "hardware": theirs[name]}
        row["tolerance"] = metric["tolerance"]
        whole = name.replace("conflicts", "wavefronts")  # those of which conflicts are a part
        row["agrees"] = agrees(ours[name], theirs[name], metric["tolerance"], theirs.get(whole, theirs[name]))
        row["why"] = excuses.get((case, name), "")
        rows.append(row)
    return rows


def state(row: dict) -> str:
    if row["tolerance"] is None:
        return "not compared"
    if row["agrees"]:
        return "agrees after all: no excuse is needed" if row["why"] else "agrees"
    return f"differs: {row['why']}" if row["why"] else "DIFFERS"


def failures(rows: list[dict]) -> list[dict]:
    return [row for row in rows if not row["agrees"] and not row["why"]]


def missing(case: str, golden: dict, ours: dict, plan: dict) -> list[str]:
    """Metrics that have a golden number and that today's profile no longer has, or that have none."""
    if case not in golden["cases"]:
        return [f"{case}: no golden numbers"]
    theirs = golden["cases"][case]["hardware"]
    return [f"{case}: {m['name']} is in the golden numbers and not in the profile"
            for m in plan["metrics"] if m["name"] in theirs and m["name"] not in ours]


def count(value) -> str:
    return "-" if value is None else f"{value:,.0f}".replace(",", " ")


def quotient(row: dict) -> str:
    return f"{row['virtual'] / row['hardware']:.3f}" if row["hardware"] else "-"


def table(results: list[dict], about: str) -> str:
    """Markdown: what each case was judged, then the metrics. A result: {"case", "virtual_status",
    "cuda_status", "note", "rows"}."""
    text = f"{about}\n\n| case | virtual | GPU | |\n|---|---|---|---|\n"
    for r in results:
        text += f"| {r['case']} | {r['virtual_status']} | {r['cuda_status']} | {r['note']} |\n"
    text += "\n| case | metric | virtual | hardware | ratio | |\n|---|---|---|---|---|---|\n"
    for r in results:
        for row in r["rows"]:
            if row["virtual"] == 0 and row["hardware"] == 0:
                continue
            text += (f"| {row['case']} | {row['metric']} | {count(row['virtual'])} | {count(row['hardware'])} "
                     f"| {quotient(row)} | {state(row)} |\n")
    return text
