#!/usr/bin/env python3
"""`run -o` ended in the middle: by SIGKILL it leaves the old result, the new one, or files that `report` knows to be of
two runs; by SIGINT nothing. The next run is as if there had been none before.

usage: killed_run_test.py PROGRAM [MOMENTS]
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = {"config.json", "manifest.json", "observations.json", "result.json", "result.txt"}
OLD, NEW = 100000, 200000  # workload.elements


def command(program, elements, folder, *more):
    return [program, "run", "vector_add_v100", "--no-in-core", "--quiet", "--set", f"workload.elements={elements}", "-o",
            str(folder), *more]


def keep(*arguments):
    ran = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{arguments}: exit status {ran.returncode}: {ran.stderr}")


# The result but for what this machine took.
def simulated(folder):
    result = json.loads((folder / "result.json").read_text())
    del result["run"]["host"]
    return json.dumps(result)


def left_over(folder):
    return {path.name for path in folder.iterdir()} - FILES


# Kills a run over an old result some time after it began to write: 0 .. 3 ms, which is about what writing takes.
def kill_while_writing(program, folder, draw):
    run = subprocess.Popen(command(program, NEW, folder, "--overwrite"), stdout=subprocess.DEVNULL)
    while run.poll() is None and not left_over(folder):
        pass
    end = time.monotonic() + draw.uniform(0, 0.003)
    while time.monotonic() < end:
        pass
    run.kill()
    run.wait()


def check_kills(program, folder, moments):
    draw = random.Random(1)
    seen = {"the old": 0, "the new": 0, "refused": 0}
    for name, elements in (("old", OLD), ("new", NEW)):
        keep(program, elements, folder / name)
    results = {simulated(folder / "old"): "the old", simulated(folder / "new"): "the new"}
    for moment in range(moments):
        run = folder / f"run{moment}"
        keep(program, OLD, run)
        kill_while_writing(program, run, draw)
        page = subprocess.run([program, "report", str(run), "-o", str(folder / "page.html")], capture_output=True,
                              text=True, check=False)
        if page.returncode == 0:
            seen[results[simulated(run)]] += 1
        elif page.returncode == 2 and "is not of the run that manifest.json is of" in page.stderr:
            seen["refused"] += 1
        else:
            sys.exit(f"moment {moment}: report ends with {page.returncode}: {page.stderr}")
        keep(program, NEW, run, "--overwrite")
        if left_over(run) or results.get(simulated(run)) != "the new":
            sys.exit(f"moment {moment}: the next run leaves {left_over(run)}, or another result")
    print(", ".join(f"{name}: {count}" for name, count in seen.items()))


def check_interrupt(program, folder):
    run = subprocess.Popen([program, "run", "v100_dgx1", "--set", "machine.gpus=1", "--set", "run.iterations=40", "--quiet",
                            "-o", str(folder / "a/b")], stderr=subprocess.PIPE, text=True)
    while not (folder / "a/b").exists():
        time.sleep(0.001)
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=60)[1]
    if run.returncode != 130 or said != "uvmsim: interrupted\n" or (folder / "a").exists():
        sys.exit(f"interrupted: exit status {run.returncode}, {said!r}, leaves {os.listdir(folder)}")


def main():
    program, moments = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as folder:
        check_kills(program, Path(folder), moments)
        check_interrupt(program, Path(folder))


if __name__ == "__main__":
    main()
