#!/usr/bin/env python3
"""Runs `uvmsim run` and compares its JSON with a committed file.

usage: check_run.py GOLDEN PROGRAM ARGUMENTS...

What varies (run.host) and what every release changes (run.version, trust) are left out. With UVMSIM_UPDATE_GOLDEN set in the
environment the file is written instead. Prints a diff and exits with 1 when they differ.
"""
import difflib
import json
import os
import subprocess
import sys
from pathlib import Path

COMPLETED = (0, 4)  # 4: the simulated run did not complete, which may be what the golden says


def run(program, arguments):
    """The JSON text of one run, without what may vary."""
    done = subprocess.run([program, "run", *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in COMPLETED:
        sys.exit(f"exit status {done.returncode}")
    result = json.loads(done.stdout)
    del result["run"]["host"], result["run"]["version"], result["trust"]
    return json.dumps(result, indent=1) + "\n"


def main():
    golden, program, arguments = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    actual = run(program, arguments)
    if "UVMSIM_UPDATE_GOLDEN" in os.environ:
        golden.write_text(actual, encoding="utf-8")
        return
    if not golden.exists():
        sys.exit(f"{golden} is missing; tests/golden/update.sh writes it")
    expected = golden.read_text(encoding="utf-8")
    if actual != expected:
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), actual.splitlines(True), str(golden), "this run"))
        sys.exit("the result changed; if it should, tests/golden/update.sh and say in the commit what moved")


if __name__ == "__main__":
    main()
