#!/usr/bin/env python3
"""Times runs and prints a Markdown table: simulated time, real time, processor time, memory.

usage: run_bench.py PROGRAM [CASE...]        a CASE is the start of a name in the first column; default: all

Each run leaves out the in-core reference. CPU time and memory (the largest resident size of a process) are those of
the program with its calibration trial, which is why they are taken here and not from run.host.
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
RESNET_1001 = "v100_dgx1.json"
ONE_GPU = ["machine.gpus=1"]
ENOUGH_HOST_MEMORY = ["machine.host.memory=4 TiB"]  # of the largest batches

# Name, settings, configuration. Iterations: the cost of one more is a difference of two rows.
CASES = [
    ("1 GPU, 1 iteration", ONE_GPU + ["run.iterations=1"]),
    ("1 GPU, 2 iterations", ONE_GPU + ["run.iterations=2"]),
    ("1 GPU, 3 iterations", ONE_GPU + ["run.iterations=3"]),
    ("1 GPU, 4 iterations", ONE_GPU + ["run.iterations=4"]),
    ("1 GPU, batch 196", ONE_GPU + ENOUGH_HOST_MEMORY + ["workload.batch=196"]),
    ("1 GPU, batch 294", ONE_GPU + ENOUGH_HOST_MEMORY + ["workload.batch=294"]),
    ("1 GPU, batch 392", ONE_GPU + ENOUGH_HOST_MEMORY + ["workload.batch=392"]),
    ("2 GPUs", ["machine.gpus=2"]),
    ("4 GPUs", ["machine.gpus=4"]),
    ("8 GPUs", []),
    ("1 GPU, word LM, access counters",
     ONE_GPU + ["run.iterations=1", "workload.batch=20", "machine.gpu.usable_memory=8.325 GB", "driver.version=595.45.04",
                "driver.uvm_perf_access_counter_migration_enable=1"], "lm_v100.json"),
    ("planned, swap_resnet50_v100", [], "swap_resnet50_v100.json"),
    ("planned, swap_resnet50_x8", [], "swap_resnet50_x8.json"),
]


def measure(program, settings, config=RESNET_1001):
    arguments = [program, "run", str(CONFIGS / config), "--json", "--no-in-core"]
    for setting in settings:
        arguments += ["--set", setting]
    started = time.monotonic()
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    result = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - started
    if status != 0:
        sys.exit(f"{' '.join(arguments)}: {result.get('outcome')}, status {status}")
    return result, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    program, wanted = sys.argv[1], tuple(sys.argv[2:])
    print("| run | iteration, simulated | moved per iteration | events | wall | CPU | memory |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, *case in CASES:
        if wanted and not name.startswith(wanted):
            continue
        result, wall, cpu, memory = measure(program, *case)
        totals = result["summary"]["totals"]
        moved = sum(totals[key] for key in ("h2d_bytes", "d2h_bytes", "memcpy_h2d_bytes", "memcpy_d2h_bytes"))
        print(f"| {name} | {result['summary']['duration_s']:.2f} s | {moved / 1e9:.1f} GB | {result['run']['events']:,} "
              f"| {wall:.3g} s | {cpu:.3g} s | {memory / 1e6:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
