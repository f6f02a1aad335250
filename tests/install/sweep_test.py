#!/usr/bin/env python3
"""Sweeps from outside: killed and resumed, two in one folder, interrupted, in shards, and on MPI ranks where there are.

usage: sweep_test.py PROGRAM MPI_PROGRAM
"""
import csv
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POINTS = 20
AXES = ["--sweep", "run.warmup=range(0,9)", "--sweep", "driver.uvm_perf_prefetch_threshold=51,90",
        "--set", "workload.elements=400000000"]
CONFIG = "vector_add_v100"


def command(program, folder, *more):
    return [program, "sweep", CONFIG, *AXES, "--no-in-core", "-j", "2", "-o", str(folder), "--quiet", *more]


def results(folder):
    """What is done, by hash: when, by whom, and the report without what differs from run to run."""
    database = sqlite3.connect(folder / "sweep.sqlite")
    if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        sys.exit("the database is broken")
    done = {}
    for point, outcome, finished, worker, report in database.execute(
            "SELECT hash, outcome, finished_at, worker, report FROM results"):
        if outcome != "completed":
            sys.exit(f"outcome {outcome}")
        report = json.loads(report)
        del report["run"]["host"]
        done[point] = (finished, worker, report)
    database.close()
    return done


def reports(folder):
    return {point: report for point, (_, _, report) in results(folder).items()}


def run(arguments, expected=0, **options):
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=250, **options)
    if ended.returncode != expected:
        sys.exit(f"{arguments}: exit status {ended.returncode}, expected {expected}: {ended.stderr}")
    return ended


def check_whole(folder, reference, what):
    if reports(folder) != reference:
        sys.exit(f"{what}: other results than one sweep has")
    with open(folder / "sweep.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != POINTS or any(row["outcome"] != "completed" for row in rows):
        sys.exit(f"{what}: sweep.csv has {len(rows)} rows")
    left = [entry for entry in folder.glob("owners/*")]
    if left:
        sys.exit(f"{what}: left behind {left}")


def killed_and_resumed(program, folder, reference, whole):
    """Each kill loses the points in flight at most, and no point that was done is simulated again.

    whole: seconds that a sweep takes here; four kills or more fit into it, however fast the machine is."""
    moments = random.Random(20261121)
    before = {}
    kills = 0
    longest = whole / 4  # seconds until a kill; grows while a machine that is slower now gets nothing done
    while len(before) < POINTS:
        sweep = subprocess.Popen(command(program, folder, "--resume"), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            sweep.wait(timeout=moments.uniform(0, longest))
        except subprocess.TimeoutExpired:
            sweep.kill()
            sweep.wait()
            kills += 1
        if not (folder / "sweep.sqlite").exists():
            longest *= 1.2
            continue
        try:
            after = results(folder)
        except sqlite3.OperationalError as error:  # killed before the tables were there
            if before or "no such table" not in str(error):
                raise
            continue
        for point, made in before.items():
            if after.get(point) != made:
                sys.exit(f"point {point} was lost or made again")
        if len(after) == len(before):
            longest *= 1.2
        before = after
    again = run(command(program, folder, "--resume"))
    if results(folder) != before or "not done" in again.stdout:
        sys.exit("a sweep that was done did something")
    check_whole(folder, reference, f"after {kills} kills")
    return kills


def two_in_one_folder(program, folder, reference):
    sweeps = [subprocess.Popen(command(program, folder, "--resume"), stdout=subprocess.DEVNULL) for _ in range(2)]
    for sweep in sweeps:
        if sweep.wait(timeout=250) != 0:
            sys.exit(f"one of two sweeps ended with {sweep.returncode}")
    check_whole(folder, reference, "two in one folder")
    workers = {worker for _, worker, _ in results(folder).values()}
    if len(workers) != 2:
        sys.exit(f"points were made by {workers}")


def interrupted(program, folder, number):
    sweep = subprocess.Popen(command(program, folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (folder / "sweep.sqlite").exists() or not Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text():
        time.sleep(0.01)
    children = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text().split()
    sweep.send_signal(number)
    out, err = sweep.communicate(timeout=20)
    if sweep.returncode != 130 or out or "interrupted with" not in err or "--resume" not in err:
        sys.exit(f"{number.name}: exit status {sweep.returncode}, {out!r}, {err!r}")
    if any(Path(f"/proc/{child}").exists() for child in children):
        sys.exit("points run on")
    if not (folder / "sweep.csv").exists() or list(folder.glob("owners/*")):
        sys.exit("it did not tidy up")
    any_done = bool(results(folder))
    again = run(command(program, folder), expected=2 if any_done else 0)
    if any_done and "--resume" not in again.stderr:
        sys.exit(f"no hint: {again.stderr}")


def in_shards(program, folder, reference):
    for task in (4, 6, 8):
        slurm = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "4",
                 "SLURM_ARRAY_TASK_STEP": "2"}
        run(command(program, folder), env={**os.environ, **slurm})
    names = sorted(path.name for path in folder.glob("shard-*"))
    if names != ["shard-1-of-3", "shard-2-of-3", "shard-3-of-3"]:
        sys.exit(f"shards: {names}")
    run([program, "sweep", "merge", str(folder)])
    check_whole(folder, reference, "shards")


def on_ranks(program, folder, reference):
    mpirun = ["mpirun", "--oversubscribe", "-n", "3"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    ended = run(mpirun + command(program, folder))
    check_whole(folder, reference, "MPI")
    workers = {worker for _, worker, _ in results(folder).values()}
    if len(workers) != 3 or ended.stdout.count("iteration  slowdown") != 1:
        sys.exit(f"MPI: points of {workers}, output {ended.stdout}")
    wrong = subprocess.run(mpirun + [program, "sweep", CONFIG, "--sweep", "run.warmp=1", "-o", str(folder)],
                           capture_output=True, text=True, timeout=100)
    if wrong.returncode == 0 or wrong.stderr.count("did you mean") != 1:
        sys.exit(f"MPI: a wrong key gives {wrong.returncode}, {wrong.stderr}")


def main():
    program, mpi_program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as root:
        root = Path(root)
        started = time.monotonic()
        run(command(program, root / "reference"))
        whole = time.monotonic() - started
        reference = reports(root / "reference")
        if len(reference) != POINTS:
            sys.exit(f"{len(reference)} points")
        check_whole(root / "reference", reference, "reference")
        kills = 0
        while kills < 3:  # more often when the machine got faster since
            kills = killed_and_resumed(program, root / f"killed-{whole}", reference, whole)
            whole /= 2
        print(f"{kills} kills")
        two_in_one_folder(program, root / "two", reference)
        interrupted(program, root / "sigint", signal.SIGINT)
        interrupted(program, root / "sigterm", signal.SIGTERM)
        in_shards(program, root / "shards", reference)
        if mpi_program and shutil.which("mpirun"):
            on_ranks(mpi_program, root / "ranks", reference)
        else:
            print("no MPI here")


if __name__ == "__main__":
    main()
