"""An oracle or a runner without PyTorch, for the judge's own course. Descriptor 3 is the channel.

    worker.py oracle|runner BEHAVIOUR[,BEHAVIOUR...] [LOG]

It speaks the protocol of docs/torch-workers.md and computes nothing: a runner's answer carries a word and
an error, and the oracle compares that word. What is stuck-in-OP never answers OP.
again=N answers the Nth call a second time, a moment later. A runner takes the time that NAME=NS says, NAME being kernel,
or a baseline's `compile` (none is eager), and has the error that NAME~ERROR says. Every operation becomes
a line of LOG.
"""

import array
import fcntl
import json
import mmap
import os
import socket
import struct
import sys
import time

HEADER = struct.Struct("<IHHII")
MAGIC = 0x4C454946
ROLE, BEHAVIOURS = sys.argv[1], sys.argv[2].split(",")
LOG = open(sys.argv[3], "a", buffering=1) if len(sys.argv) > 3 else None
channel = socket.socket(fileno=3)
LEAF = {"path": "", "dtype": "float32", "shape": [64, 64], "stride": [64, 1], "offset": 4096}
BYTES = 64 * 64 * 4
TIMES = {"kernel": 1e5, "none": 2e5, "default": 3e5, "reduce-overhead": 4e5, "max-autotune": 5e5}
who = "kernel"
calls = 0
cases = {}
controls = []


class Failure(Exception):
    pass


def read(n):
    data = b""
    while len(data) < n:
        part, rights, _, _ = channel.recvmsg(n - len(data), socket.CMSG_SPACE(64))
        for _, _, numbers in rights:
            received.extend(array.array("i", numbers))
        if not part:
            sys.exit(0)
        data += part
    return data


def behaves(word):
    return word in BEHAVIOURS


def told(name, sign, fallback):
    """The number of the behaviour NAME SIGN NUMBER."""
    for word in BEHAVIOURS:
        if word.startswith(name + sign):
            return float(word[len(name) + 1:])
    return fallback


def fail(kind, error, detail=""):
    raise Failure({"ok": False, "fault": kind, "error": error, "detail": detail})


def row(right=True, error=1e-7):
    return {"path": "", "elements": 4096, "compared": 4096, "failing": 0 if right else 7,
            "first_failing": None if right else 3, "expected": 1.0, "got": 1.0 if right else 2.0,
            "bound": 0.1, "worst_ratio": 0.1 if right else 10.0, "max_abs": 0.01, "rms_error": 0.001,
            "rms_output": 1.0, "relative_rms": error, "rms_limit": 1.0, "rms_failed": False,
            "componentwise": 0.5e7 * error, "nan_mismatches": 0, "infinity_mismatches": 0,
            "exact_fraction": 0.5, "class": "fp32"}


# ------------------------------------------------------------------------------------- oracle


def hello(m):
    return {"torch": "fake", "python": "3", "cuda": "", "driver": "1", "device_name": "a fake",
            "device_uuid": "GPU-fake" if behaves("gpu") else "", "compute_capability": [9, 0],
            "no_compile": "torch.compile needs PyTorch 2.4, this is 2.3" if behaves("old") else "",
            "memory_bytes": 1 << 36, "l2_bytes": 1 << 20, "multiprocessors": 1, "notes": []}


def open_task(m):
    if behaves("worker-fault"):
        fail("worker", "KeyError: 'nothing'", "Traceback\n  File \"oracle.py\", line 3\nKeyError")
    if behaves("slow-open"):
        time.sleep(1)
    variants = [] if behaves("no-variants") else [
        {"name": "batch=1", "note": "", "input_bytes": BYTES // 64},
        {"name": "batch=33", "note": "", "input_bytes": BYTES * 33 // 64}]
    dtype = {"dtype": next((d for d in ("bfloat16", "float16") if behaves(d)), "float32")}
    return {"name": "fake", "digest": "0" * 64, "inputs": [LEAF | {"domain": {"kind": "real"}}],
            "outputs": [LEAF | dtype], "parameters": 0, "weight_bytes": 64, "input_bytes": BYTES,
            "output_bytes": BYTES, "window_bytes": {"inputs": 65536, "outputs": 65536,
                                                    "weights": 65536},
            "floor": {"bytes": 2 * BYTES, "flops": {"fp32": 1, "tf32able": 1 if behaves("products") else 0,
                                             "fp16": 0, "bf16": 0}},
            "shape_variants": variants, "warnings": [],
            "randomness": "void" if behaves("clock-seeded") else "none",
            "void": "two calls with the same inputs and random state differ"
            if behaves("clock-seeded") else None,
            "prepare_s": 30.0 if any(map(behaves, ("expensive", "slow-cases", "slow-first"))) else 0.001}


def prepare(m):
    if behaves("expensive") and "shape_variant" not in m:
        time.sleep(0.2)
    if behaves("slow-cases") and len(cases) < 12:
        time.sleep(0.1)
    if behaves("slow-first") and len(cases) == 4:  # the first after those of the check for void tasks
        time.sleep(2)
    if behaves("memory") and m.get("probe") == "mixed-signs":
        fail("memory", "wanted 9 GiB where 1 GiB is free")
    if behaves("drops") and m.get("probe") == "special-values":
        return {"case": None, "dropped": "the reference is not finite at ''", "inputs": [],
                "outputs": [], "prepare_s": 0.001}
    if behaves("few-inputs") and [c.get("probe") for c in cases.values()].count("repeated-calls") == 12:
        fail("worker", "a thirteenth input for calls that are only counted")
    number = len(cases) + 1
    cases[number] = m
    return {"case": number, "dropped": None, "inputs": [LEAF], "outputs": [LEAF],
            "note": "PyTorch's own result is 3 times beyond the bound: widened"
            if behaves("widened") else None, "prepare_s": 0.001,
            "window_bytes": {"inputs": 65536, "outputs": 65536}}


def window(m):
    return {"window": next(numbers), "bytes": m["bytes"]}


def verify(m):
    # Where there are buffers, what a runner does not say of them is wrong.
    state = [] if m.get("state") is None else [row(m["state"].get("word") == "right")]
    answer = m["outputs"]  # a bare kernel's carries no word: it is right
    seen = row(answer.get("word", "right") == "right", answer.get("error", 1e-7))
    notes = ["'' has strides [1, 64], PyTorch's [64, 1]"] if behaves("strides") else []
    return {"structure": None, "outputs": [seen], "notes": notes,
            "inputs_modified": [], "guards": [], "unwritten": [], "state": state, "stale": None}


def weights_oracle(m):
    return {"leaves": [LEAF | {"name": "mean", "kind": "buffer"}] if behaves("buffers") else []}


def slots(m):
    reply = {"count": m["count"], "inputs_bytes": BYTES, "outputs_bytes": BYTES}
    return reply | {"slots": next(numbers), "layout": []} if "inputs_window" in m else reply


def time_of(page):
    """What the runner behind the page takes: it says so as soon as it is there."""
    end = time.time() + 10
    while time.time() < end:
        span = struct.unpack("<d", page[8:16])[0]
        if span > 0:
            return span
        time.sleep(0.001)
    return 1e5


def time_oracle(m):
    if "clock" not in m:
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        if any(fcntl.fcntl(fd, fcntl.F_GET_SEALS) != seals for fd in received):
            fail("worker", "a control page comes unsealed")
        controls.clear()
        controls.extend(mmap.mmap(fd, 4096) for fd in received)
    rounds = m["samples_max"]
    spans = [time_of(page) for page in controls]
    samples = [
        {"runner": r, "round": i, "wall_ns": 5e5 + m["calls"] * (span + 10 * (i % 7)),
         "done_ns": span, "device_ns": span + 10 * (i % 7), "host_ns": 1e5, "verified": i == 1,
         "failed": False, "throttle": 0}
        for i in range(rounds) for r, span in enumerate(spans)]
    failures = []
    if behaves("late-wrong") and rounds:
        failures = [{"structure": None, "outputs": [row(False)], "runner": 0, "round": 2, "call": 1,
                     "seed": 5, "missing_at_done": 0, "changed_after_done": False}]
    if m.get("leave", True):
        for page in controls:
            page[0:8] = struct.pack("<q", -1)
    ended = "it died" if behaves("kernel-leaves") else None
    mode = "unheld" if behaves("unheld") or not m["held"] else "held"
    return {"clock": 1, "calls": m["calls"], "mode": mode, "mode_why": None, "samples": samples,
            "failures": failures, "unverified_for_time": 0, "runners": [
                {"calls": rounds, "verified": 1, "ended": ended if i == 0 else None}
                for i in range(len(controls))]}


ORACLE = {
    "hello": hello, "open_task": open_task, "prepare": prepare, "window": window, "verify": verify,
    "slots": slots, "time": time_oracle, "weights": weights_oracle,
    "place": lambda m: {"inputs": {"tree": {"leaf": 0}, "leaves": [LEAF],
                                   "variant": cases[m["case"]].get("shape_variant", "")},
                        "outputs": {"offset": 4096, "bytes": BYTES}},
    "impostors": lambda m: {"impostors": [
        {"impostor": "zeros", "rejected": not behaves("void-anywhere") and not (
            behaves("void-when-small") and "shape_variant" in cases[m["cases"][0]]),
         "rejected_by": "task-inputs"}]},
    "measure": lambda m: {"copy_bytes_per_s": 1e15, "flops": {"fp32": 1e18}, "kernel_ns": 1,
                          "event_ns": 0},
    "watch_memory": lambda m: {} if m["start"] else {"before": 100, "peak": 164, "after": 100,
                                                     "looks": 3},
}

# ------------------------------------------------------------------------------------- runner


def load(m):
    global who
    who = m["compile"] if m["kind"] == "reference" else "kernel"
    if behaves("compile-error"):
        fail("candidate", "RuntimeError: Error building extension 'x'",
             "Traceback\nRuntimeError: Error building extension 'x': [1/2]\n"
             "/tmp/a.cu(3): error: no such thing\nninja: build stopped")
    if behaves("no-load"):
        fail("task", "cannot be built here")
    return {"module": 1, "build_ms": 5, "weights": [], "flags": {}, "extension_log": ""}


def call(m):
    global calls
    calls += 1
    if behaves("hang"):
        time.sleep(60)
    if behaves("crash"):
        os.abort()
    if behaves("garbage"):
        channel.sendall(os.urandom(64))
        time.sleep(60)
    if behaves("out-of-memory"):
        fail("memory", "OutOfMemoryError: tried to allocate 9 GiB, 1 GiB is free")
    if behaves("dies-when-called"):
        os._exit(3)
    if behaves("refuses") and m["inputs"]["variant"]:
        fail("candidate", "ValueError: only my shape")
    word = "wrong" if behaves("wrong") or (behaves("wrong-later") and calls > 20) else "right"
    return {"outputs": {"word": word, "error": told(who, "~", 1e-7)}, "aliases": [],
            "device_ns": 1e5, "host_ns": 1e5, "printed": ""}


def state(m):
    if behaves("silent-state"):
        fail("candidate", "RuntimeError: nothing to tell")
    if behaves("no-state"):
        return {}
    if behaves("odd-state"):
        return {"state": [1, 2]}
    if behaves("garbage-state"):
        channel.sendall(os.urandom(64))
        time.sleep(60)
    return {"state": {"word": "right"}}


def time_runner(m):
    page = mmap.mmap(received[0], 4096)
    page[8:16] = struct.pack("<d", told(who, "=", TIMES[who]))
    while struct.unpack("<q", page[0:8])[0] != -1:
        time.sleep(0.005)
    return {"calls": 1}


def evidence(m):
    if behaves("no-evidence"):
        fail("candidate", "RuntimeError: no profiler today")
    if behaves("unseen"):
        return {"kernels": [], "graph_launches": 0, "missing": "the profiler saw no kernel"}
    library = told("library", "=", 0.0)
    row = {"launches": 1, "tensor_core": False}
    return {"kernels": [row | {"name": "mine", "origin": "own", "device_ns": 1e5},
                        row | {"name": "sgemm", "origin": "library", "device_ns": library}],
            "graph_launches": 2, "missing": None}


RUNNER = {
    "hello": hello, "load": load, "call": call, "time": time_runner,
    "weights": lambda m: {"copied": [], "how": "state_dict"},
    "state": state,
    "memory": lambda m: {"allocated_peak": 64, "reserved_peak": 64, "setup_bytes": 16, "used": 0,
                         "resident_peak": 0},
    "evidence": evidence,
    "build": lambda m: {"built": True},
}
ANYONE = {name: lambda m: {} for name in ("map_window", "drop_window", "release", "unload", "reset")}

numbers = iter(range(1, 1 << 30))
table = ANYONE | (ORACLE if ROLE == "oracle" else RUNNER)
while True:
    received = []
    _, _, _, size, sequence = HEADER.unpack(read(HEADER.size))
    request = json.loads(read(size))
    if LOG:
        LOG.write(json.dumps({"pid": os.getpid(), "role": ROLE, "at": time.time(),
                              "op": request["op"], "shape": request.get("shape_variant", ""),
                              "probe": request.get("probe", ""),
                              "compile": request.get("compile", ""),
                              "runners": len(request.get("runners", [])),
                              "reference": request.get("reference", ""),
                              "domains": request.get("domains")}) + "\n")
    if behaves("stuck-in-" + request["op"]):
        LOG.write(json.dumps({"role": ROLE, "op": "stuck"}) + "\n")
        time.sleep(3600)
    try:
        reply = {"ok": True} | table[request["op"]](request)
    except Failure as failure:
        reply = failure.args[0]
    payload = json.dumps(reply).encode()
    frame = HEADER.pack(MAGIC, 1, 2, len(payload), sequence) + payload
    if request["op"] == "window":
        fd = os.memfd_create("window")
        os.ftruncate(fd, reply["bytes"])
        channel.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        os.close(fd)
    else:
        channel.sendall(frame)
    if request["op"] == "call" and calls == told("again", "=", 0):
        time.sleep(0.05)  # long enough for the first answer to be taken alone
        channel.sendall(frame)
