"""What Nsight Compute counts, and how its CSV is read.

    rows = read_csv(text)                  # a dict a profiled launch: column -> text
    values, problems = hardware(rows)      # our names -> numbers, summed over launches
"""
import csv
import io
import re

# Our name: hardware counters that are added up, each with its weight. Names as of ncu on sm_90.
COUNTERS = {
    "load requests": {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1},
    "load sectors": {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1},
    "store requests": {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 1},
    "store sectors": {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 1},
    "atomic requests": {"l1tex__t_requests_pipe_lsu_mem_global_op_red.sum": 1,
                        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum": 1},
    "shared load wavefronts": {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 1},
    "shared store wavefronts": {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 1},
    "shared load conflicts": {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 1},
    "shared store conflicts": {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 1},
    "flops": {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 1,
              "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": 1,
              "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 2},
    "warp instructions": {"smsp__inst_executed.sum": 1},
    "DRAM bytes read": {"dram__bytes_read.sum": 1},
    "DRAM bytes written": {"dram__bytes_write.sum": 1},
}
METRICS = sorted({counter for counters in COUNTERS.values() for counter in counters})
# What ncu makes of bytes where --print-units base is not obeyed.
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def command(ncu: str, program: list[str], metrics: list[str]) -> list[str]:
    return [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
            "--metrics", ",".join(metrics), *program]


def read_csv(text: str) -> list[dict]:
    """The launches. Before the table ncu prints lines that begin with == and what the program prints;
    the table's second line holds units, which end up under "unit of NAME"."""
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        return []
    table = list(csv.reader(io.StringIO("\n".join(lines[begin:]))))
    header, launches, units = table[0], [], {}
    for cells in table[1:]:
        if len(cells) != len(header):
            continue  # a line of the program between the launches
        row = dict(zip(header, cells))
        if row["ID"].strip() == "":
            units = {f"unit of {name}": unit for name, unit in row.items()}
        elif row["ID"].strip().isdigit():
            launches.append(row | units)
    return launches


def number(text: str, unit: str = "") -> float | None:
    """"1,048,576" and "12.5"; nothing of "n/a" and of no text."""
    try:
        return float(text.replace(",", "")) * UNITS.get(unit, 1)
    except (AttributeError, ValueError):
        return None


def hardware(launches: list[dict]) -> tuple[dict, list[str]]:
    """Sums over launches by our names, and the counters that ncu did not give."""
    values, missing = {}, set()
    for name, counters in COUNTERS.items():
        total = 0.0
        for counter, weight in counters.items():
            seen = [number(row.get(counter), row.get(f"unit of {counter}", "")) for row in launches]
            if not seen or any(value is None for value in seen):
                missing.add(counter)
                total = None
                break
            total += weight * sum(seen)
        if total is not None:
            values[name] = int(total) if total == int(total) else total
    return values, sorted(missing)


def complaint(output: str) -> str:
    """The first line in which ncu says what is wrong."""
    for line in output.splitlines():
        if line.startswith("==ERROR==") or "ERR_NVGPUCTRPERM" in line:
            return line.strip()[:200]
    return ""


def unknown_metrics(output: str, metrics: list[str]) -> list[str]:
    """Those of `metrics` that an error message names, with or without what follows their first point: another
    GPU has other counters."""
    errors = "\n".join(line for line in output.splitlines() if line.startswith("==ERROR=="))
    return [metric for metric in metrics
            if re.search(rf"(?<![A-Za-z0-9_]){re.escape(metric.split('.')[0])}(?![A-Za-z0-9_])", errors)]
