#!/usr/bin/env python3
"""Reads every export with strict parsers and compares what they say with what went in.

usage: check_exports.py FOLDER hostile|timed|empty
"""
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from xml.parsers import expat

folder, what = pathlib.Path(sys.argv[1]), sys.argv[2]
EXPECTED = {"hostile": (11, 4, 1, 1), "timed": (2, 0, 0, 0), "empty": (0, 0, 0, 0)}[what]

# The part of the SARIF 2.1.0 schema (OASIS) that is used here.
SARIF = {
    "type": "object", "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["tool", "results"],
            "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
                    "type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string"}, "version": {"type": "string"},
                        "rules": {"type": "array", "uniqueItems": True, "items": {
                            "type": "object", "required": ["id"], "properties": {
                                "id": {"type": "string"},
                                "shortDescription": {"$ref": "#/$defs/message"},
                                "fullDescription": {"$ref": "#/$defs/message"},
                                "help": {"$ref": "#/$defs/message"}}}}}}}},
                "results": {"type": "array", "items": {
                    "type": "object", "required": ["message"], "properties": {
                        "ruleId": {"type": "string"},
                        "ruleIndex": {"type": "integer", "minimum": 0},
                        "level": {"enum": ["none", "note", "warning", "error"]},
                        "message": {"$ref": "#/$defs/message"},
                        "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                        "partialFingerprints": {"type": "object",
                                                "additionalProperties": {"type": "string"}}}}}}}},
    },
    "$defs": {
        "message": {"type": "object", "required": ["text"],
                    "properties": {"text": {"type": "string", "minLength": 1}}},
        "location": {"type": "object", "properties": {"physicalLocation": {
            "type": "object", "required": ["artifactLocation"], "properties": {
                "artifactLocation": {"type": "object", "properties": {
                    "uri": {"type": "string", "pattern": r"^[A-Za-z0-9/._~%:-]+$"}}},
                "region": {"type": "object", "properties": {
                    "startLine": {"type": "integer", "minimum": 1}}}}}}},
    },
}


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def strict_json(name):
    return json.loads((folder / name).read_text(encoding="utf-8"), parse_constant=no_constant)


def check_junit():
    data = (folder / "junit").read_bytes()
    parser = expat.ParserCreate()
    parser.Parse(data, True)
    if shutil.which("xmllint"):
        subprocess.run(["xmllint", "--noout", str(folder / "junit")], check=True)
    root = ET.fromstring(data)
    cases = list(root.iter("testcase"))
    counts = (len(cases), sum(1 for _ in root.iter("failure")), sum(1 for _ in root.iter("error")),
              sum(1 for _ in root.iter("skipped")))
    assert counts == EXPECTED, counts
    for element in [root, *root.iter("testsuite")]:
        inside = [len(list(element.iter(tag))) for tag in ("testcase", "failure", "error", "skipped")]
        assert [int(element.get(k)) for k in ("tests", "failures", "errors", "skipped")] == inside
    for element in root.iter():
        if element.get("time") is not None:
            assert re.fullmatch(r"\d+\.\d{3}", element.get("time")), element.get("time")
    assert len(data) < 1 << 20, "the text of candidates is bounded"
    if what == "hostile":
        failure = next(root.iter("failure"))
        assert "\u241b[31mred" in failure.get("message") and "]]>" in failure.text
        assert cases[0].get("name") == "kernels/a,b:c%.cu"


def check_sarif():
    document = strict_json("sarif")
    try:
        import jsonschema
    except ImportError:
        print("python3-jsonschema is not installed: SARIF was only parsed")
    else:
        jsonschema.validate(document, SARIF)
    run = document["runs"][0]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    if what == "hostile":
        uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                for r in run["results"]}
        assert uris == {"kernels/a%2Cb%3Ac%25.cu"}, uris


def check_github():
    lines = (folder / "github").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 10
    decode = {"%25": "%", "%0A": "\n", "%0D": "\r", "%3A": ":", "%2C": ","}
    for line in lines:
        match = re.fullmatch(r"::(error|warning) ([^:]*)::(.*)", line)
        assert match, line
        fields = dict(f.split("=", 1) for f in match[2].split(","))
        path = re.sub("%25|%0A|%0D|%3A|%2C", lambda m: decode[m[0]], fields["file"])
        assert path == "kernels/a,b:c%.cu", path
        assert "::error::100%," in re.sub("%25|%0A", lambda m: decode[m[0]], match[3])
    if what == "hostile":
        assert "tampering" in lines[0], "the worst comes first"


def check_tables():
    with open(folder / "csv", encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, strict=True))
    assert len(rows) == EXPECTED[0]
    for row in rows:
        judged = row["status"] not in ("harness_fault", "task_void")
        wanted = "" if not judged else "-1" if row["accepted"] == "false" else None
        assert row["reward"] == wanted or (wanted is None and row["reward"] in ("1", "3")), row
        for key in ("ratio", "ratio_low", "ratio_high", "kernel_median_ns", "memory_efficiency"):
            assert row[key] == "" or float(row[key]) > 0, (key, row[key])
    with open(folder / "baselines", encoding="utf-8", newline="") as f:
        rows_of_tasks = list(csv.DictReader(f, strict=True))
    assert len(rows_of_tasks) == EXPECTED[0]
    for row in rows_of_tasks:
        assert None not in row and row["status"], row
        for key in (name for name in row if name.endswith("_ms") or name.startswith("control_")):
            assert row[key] == "" or float(row[key]) > 0, (key, row[key])
    markdown = (folder / "markdown").read_text(encoding="utf-8")
    table = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len(table) == EXPECTED[0] + 1
    if what == "timed":
        assert [row["own_share"] for row in rows] == ["0.75", "0.75"], rows
        assert [line.split(" | ")[3] for line in table] == ["reward", "3", "1"], table
    for line in table:
        assert len(re.findall(r"(?<!\\)\|", line)) == 8, line
    for text in (markdown, *[row["ratio"] for row in rows]):
        assert not re.search(r"\b(inf|nan|0\.00+x?)\b", text), text


def check_json():
    document = strict_json("json")
    assert document["summary"]["kernels"] == EXPECTED[0]
    if what == "timed":
        assert abs(document["summary"]["ratio_geomean"] - 1) < 1e-12
    else:
        assert document["summary"]["ratio_geomean"] is None
    bench = strict_json("kernelbench")
    samples = [s for problem in bench.values() for s in problem]
    assert len(samples) == EXPECTED[0]
    for s in samples:
        assert list(s) == ["sample_id", "compiled", "correctness", "metadata", "runtime",
                           "runtime_stats"]
        assert s["runtime"] == -1.0 or s["runtime"] > 0
    if what == "timed":
        assert [s["runtime"] for s in bench["23"]] == [0.04, 0.16], bench
        assert bench["23"][0]["runtime_stats"]["num_trials"] == 60
        assert 0.039 < bench["23"][0]["runtime_stats"]["mean"] < 0.042


check_junit()
check_sarif()
check_github()
check_tables()
check_json()
