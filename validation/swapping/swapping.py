#!/usr/bin/env python3
"""What orchestrating tensor swaps gains on GPUs that share PCIe links, as CSV, tables and SVG.

    swapping.py run UVMSIM OUT.csv     simulates every point that OUT.csv does not have, two at a time
    swapping.py programs UVMSIM OUT.csv     the same, and those planned by programs, each in 30 s of a solver at most
    swapping.py tables IN.csv          prints the tables of README.md
    swapping.py draw IN.csv OUT.svg

Python's standard library only. The same simulator gives the same bytes.
"""

import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
MODELS = {"resnet50": 64, "densenet264": 16, "bert_base": 16, "gpt2": 4, "vit_b16": 32, "convnext_s": 32}  # batch
SERVERS = {  # machine and GPUs
    "2, one uplink": ("v100_pcie_x8_single_root", 2),
    "4, single root": ("v100_pcie_x4_single_root", 4),
    "4, dual root": ("v100_pcie_x4_dual_root", 4),
    "8, single root": ("v100_pcie_x8_single_root", 8),
    "8, dual root": ("v100_pcie_x8_dual_root", 8),
    "8, one uplink": ("v100_pcie_x8_one_uplink", 8),
}
POLICIES = [("lms_like", "none"), ("lms_like", "priority"), ("tmo_like_online", "none"),
            ("tmo_like_online", "bidirectional_overlapping"), ("tmo_like_online", "priority"),
            ("tmo_like_online", "static_slots"), ("tmo_like_disjoint", "none"), ("tmo_like_disjoint", "priority")]
BASELINE = POLICIES[0]
# Near the peak, where sets and timing decide: also planned with the links' share and by programs. With little to move,
# these are solved in seconds; with more, a solver takes most of the time, so they are for n = 4 and three models alone.
# The second baseline plans as the others do, and coordinates nothing.
NEAR_PEAK = ["0.85", "0.9", "0.95"]
SHARED = ("tmo_like_shared", "none")
PROGRAMS = [("tmo_like_mip", "none"), ("tmo_like_disjoint_mip", "none"), ("tmo_like_joint_mip", "none")]
PROGRAMMED = ["resnet50", "bert_base", "gpt2"]
SOLVED_SOON = "0.95"
# Of processor time for each program, most of which are solved sooner. A point whose program is stopped may differ
# between machines.
SOLVER_TIME = "30 s"
UNCOORDINATED = ("tmo_like_online", "none")
EVERYWHERE = [model for model in MODELS if model != "densenet264"]  # takes as long as the others together
EFFICIENCY = [1, 0.9, 0.85, 0.8]  # of its bandwidth, what 1, 2, 3, 4 and more flows of a link reach together (assumed)
KEYS = ["model", "server", "memory", "every", "sharing", "planner", "coordinator"]
VALUES = ["iteration_s", "in_core_s", "swapped_bytes", "beside_kernels", "contention_s"]
COLOURS = ["#444444", "#999999", "#1b7837", "#2166ac", "#b2182b", "#ef8a62", "#762a83", "#a6761d"]


def points(programs=True):
    """(model, server, memory as a share of the peak, iterations per synchronisation, link sharing, policy)"""
    for model in MODELS:
        for server in SERVERS:
            if model not in EVERYWHERE and SERVERS[server][1] == 8:
                continue
            for sharing in ("fair", "lossy"):
                yield from ((model, server, "0.7", 4, sharing, *policy) for policy in POLICIES)
        for every in (1, 2, 8):
            yield from ((model, "4, single root", "0.7", every, "fair", *policy) for policy in POLICIES)
        yield from ((model, "4, single root", "0.85", 4, "fair", *policy) for policy in POLICIES)
        for memory in NEAR_PEAK:
            for every in (1, 2, 4, 8):
                yield from ((model, "2, one uplink", memory, every, "fair", *policy) for policy in [*POLICIES, SHARED])
            solved = (1, 2, 4, 8) if memory == SOLVED_SOON else (4,) if model in PROGRAMMED else ()
            for every in solved if programs else ():
                yield from ((model, "2, one uplink", memory, every, "fair", *policy) for policy in PROGRAMS)


def machine_of(server, sharing):
    name, gpus = SERVERS[server]
    lines = (CONFIGS / "machines" / f"{name}.json").read_text().splitlines()
    machine = json.loads("\n".join(line for line in lines if not line.startswith("//")))
    machine["gpus"] = gpus
    machine["gpu"] = {"extends": "gpus/v100_pcie_16gb.json", "memory": "1 TB", "usable_memory": "1 TB"}
    used = {f"gpu{g}" for g in range(8)} - {f"gpu{g}" for g in range(gpus)}
    machine["links"] = [link for link in machine["links"] if link["to"] not in used]
    for part in [machine["gpu"], machine["host"], *machine["links"]]:
        part["extends"] = str(CONFIGS / "machines" / part["extends"])
    if sharing == "lossy":
        for link in machine["links"]:
            if link["name"].startswith(("uplink", "cascade")):
                link["sharing_efficiency"] = EFFICIENCY
    return machine


def simulate(uvmsim, config, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        done = subprocess.run([uvmsim, "run", file.name, "--json", *options], capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def config_of(model, server, every, sharing):
    iterations = max(2, every)
    return {
        "name": f"{model} on {server}",
        "machine": machine_of(server, sharing),
        "workload": {"generator": model, "batch": MODELS[model], "torch": "1.0", "allocator": "torch_1_0",
                     "memory": "device", "data_parallel": True, "sync_gradients": True, "sync_every": every},
        "run": {"warmup": iterations, "iterations": iterations},
    }


def row_of(uvmsim, point, in_core):
    """`in_core`: the peak of memory, and the time without swaps."""
    model, server, memory, every, sharing, planner, coordinator = point
    peak, alone = in_core
    config = config_of(model, server, every, sharing)
    config["machine"]["gpu"]["usable_memory"] = f"{int(float(memory) * peak)} B"
    config["plan"] = {"planner": planner, "coordinator": coordinator}
    if (planner, coordinator) in PROGRAMS:
        config["plan"]["time_limit"] = SOLVER_TIME
    result = simulate(uvmsim, config, "--no-in-core")
    row = dict(zip(KEYS, map(str, point))) | dict.fromkeys(VALUES, "")
    if result["outcome"] != "completed":
        return row
    totals = result["summary"]["totals"]
    return row | {"iteration_s": f"{result['summary']['duration_s']:.6f}", "in_core_s": f"{alone:.6f}",
                  "swapped_bytes": str(totals["memcpy_h2d_bytes"] + totals["memcpy_d2h_bytes"]),
                  "beside_kernels": f"{totals['swap_overlapped_ns'] / max(totals['swap_ns'], 1):.3f}",
                  "contention_s": f"{totals['swap_contention_ns'] * 1e-9:.6f}"}


def run(uvmsim, out, programs):
    rows = load(out) if Path(out).exists() else {}
    missing = [point for point in points(programs) if tuple(map(str, point)) not in rows]
    with ThreadPoolExecutor(2) as pool:
        def in_core_of(place):
            result = simulate(uvmsim, config_of(*place), "--no-in-core")
            return result["summary"]["peak_live_bytes"], result["summary"]["duration_s"]

        places = list(dict.fromkeys((p[0], p[1], p[3], p[4]) for p in missing))
        in_core = dict(zip(places, pool.map(in_core_of, places)))
        done = pool.map(lambda p: row_of(uvmsim, p, in_core[p[0], p[1], p[3], p[4]]), missing)
        for point, row in zip(missing, done):
            rows[tuple(map(str, point))] = row
            save(out, rows)


def save(out, rows):
    with open(out, "w", newline="") as stream:
        writer = csv.DictWriter(stream, KEYS + VALUES, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[tuple(str(p) for p in point)] for point in points()
                         if tuple(str(p) for p in point) in rows)


def load(source):
    with open(source) as stream:
        return {tuple(row[k] for k in KEYS): row for row in csv.DictReader(stream)}


def speedup(rows, key, baseline=BASELINE):
    """Over the baseline; None when one of the two does not complete, or is not there."""
    base, own = rows.get((*key[:5], *baseline)), rows.get(key)
    if not base or not own or not base["iteration_s"] or not own["iteration_s"]:
        return None
    return float(base["iteration_s"]) / float(own["iteration_s"])


def percent(ratio):
    return "" if ratio is None else f"{100 * (ratio - 1):+.0f} %"


def mean(ratios):
    ratios = [r for r in ratios if r is not None]
    return statistics.geometric_mean(ratios) if ratios else None


def table(title, heads, lines):
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for line in lines:
        if any(line[1:]):
            print(f"| {' | '.join(line)} |")


def name_of(policy):
    return policy[0] + ("" if policy[1] == "none" else f", {policy[1]}")


def choice_of(row):
    """The coordinator that `uvmsim run` says it would choose (sim/report/text.cpp), from the run without one."""
    alone, gpus = float(row["in_core_s"]), SERVERS[row["server"]][1]
    most = min(float(row["contention_s"]) / gpus, float(row["iteration_s"]) - alone)
    if most <= 0:
        return "none"
    return "bidirectional_overlapping" if int(row["every"]) >= math.ceil(alone / 3 / most) else "priority"


def print_choice(rows):
    kinds = [coordinator for planner, coordinator in POLICIES if planner == UNCOORDINATED[0]]
    gains, losses = [], []
    for key, row in rows.items():
        if key[5:] != UNCOORDINATED or not row["iteration_s"]:
            continue
        gain = {kind: speedup(rows, (*key[:5], UNCOORDINATED[0], kind), UNCOORDINATED) or 0 for kind in kinds}
        gains.append(gain[choice_of(row)])
        losses.append(max(gain.values()) / gains[-1])
    print(f"\nThe coordinator that a run without one says to choose, {len(gains)} points: {percent(mean(gains))}, "
          f"{100 * (min(gains) - 1):+.1f} % at least; the fastest of {len(kinds)} gains {100 * (mean(losses) - 1):.2f} % "
          f"more, {100 * (max(losses) - 1):.1f} % at most, and is another at {sum(l > 1.001 for l in losses)} points")


def tables(source):
    rows = load(source)
    others = POLICIES[1:]
    for sharing in ("fair", "lossy"):
        table(f"Speed-up over lms_like, n = 4, memory 0.7 of the peak, {sharing}: mean of five models",
              ["", *SERVERS],
              [[name_of(p), *(percent(mean(speedup(rows, (m, s, "0.7", "4", sharing, *p)) for m in EVERYWHERE))
                              for s in SERVERS)] for p in others])
    for sharing in ("fair", "lossy"):
        table(f"The same on four GPUs, single root, {sharing}, by model",
              ["", *MODELS],
              [["lms_like, times in core",
                *(f"{float(r['iteration_s']) / float(r['in_core_s']):.2f}" if r["iteration_s"] else "does not fit"
                  for r in (rows[m, "4, single root", "0.7", "4", sharing, *BASELINE] for m in MODELS))]]
              + [[name_of(p), *(percent(speedup(rows, (m, "4, single root", "0.7", "4", sharing, *p)))
                                for m in MODELS)] for p in others])
    table("Four GPUs, single root, fair, mean of six models, by n",
          ["", "n = 1", "n = 2", "n = 4", "n = 8"],
          [[name_of(p), *(percent(mean(speedup(rows, (m, "4, single root", "0.7", n, "fair", *p)) for m in MODELS))
                          for n in "1248")] for p in others])
    table("Four GPUs, single root, fair, n = 4, mean of six models, by memory",
          ["", "0.7 of the peak", "0.85"],
          [[name_of(p), *(percent(mean(speedup(rows, (m, "4, single root", memory, "4", "fair", *p)) for m in MODELS))
                          for memory in ("0.7", "0.85"))] for p in others])
    near = [*POLICIES, SHARED]
    for baseline in (BASELINE, UNCOORDINATED):
        for models, policies in ((MODELS, near), (PROGRAMMED, [UNCOORDINATED, SHARED, *PROGRAMS])):
            table(f"Two GPUs, fair, n = 4, mean of {len(models)} models, by memory, over {baseline[0]}",
                  ["", *NEAR_PEAK],
                  [[name_of(p), *(percent(mean(speedup(rows, (m, "2, one uplink", memory, "4", "fair", *p), baseline)
                                               for m in models)) for memory in NEAR_PEAK)]
                   for p in policies if p != baseline])
        table(f"The same with memory 0.95, by n, over {baseline[0]}", ["", "n = 1", "n = 2", "n = 4", "n = 8"],
              [[name_of(p), *(percent(mean(speedup(rows, (m, "2, one uplink", "0.95", n, "fair", *p), baseline)
                                           for m in MODELS)) for n in "1248")]
               for p in [*near, *PROGRAMS] if p != baseline])
    turns = ("tmo_like_online", "bidirectional_overlapping")
    table("n from which turns pay on two GPUs: of 1, 2, 4, 8", ["", *MODELS],
          [[memory, *(next((n for n in "1248"
                            if (speedup(rows, (m, "2, one uplink", memory, n, "fair", *turns), UNCOORDINATED) or 0) > 1),
                           "none") for m in MODELS)] for memory in NEAR_PEAK])
    print_choice(rows)
    table("Two GPUs, fair, memory 0.95 of the peak: a little too little, by model; n = 1, n = 8",
          ["", *MODELS],
          [["lms_like, times in core",
            *(", ".join(f"{float(r['iteration_s']) / float(r['in_core_s']):.2f}"
                        for r in (rows[m, "2, one uplink", "0.95", n, "fair", *BASELINE] for n in "18"))
              for m in MODELS)]]
          + [[name_of(p), *(", ".join(percent(speedup(rows, (m, "2, one uplink", "0.95", n, "fair", *p))) for n in "18")
                            for m in MODELS)] for p in [*others, SHARED]])


def draw(source, out):
    """Bars of the mean speed-up by server, one of each policy; whiskers reach from the least to the most model."""
    rows = load(source)
    width, height, left, top, bottom, right = 980, 420, 60, 40, 40, 300
    values = {(s, p): [v for v in (speedup(rows, (m, s, "0.7", "4", "fair", *p)) for m in EVERYWHERE) if v]
              for s in SERVERS for p in POLICIES[1:]}
    most = max(max(v) for v in values.values() if v) * 1.03
    least = min(0.6, min(min(v) for v in values.values() if v))

    def y_of(ratio):
        return height - bottom - (height - top - bottom) * (ratio - least) / (most - least)

    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="22" font-size="14">Speed-up over lms_like, synchronised every 4 iterations: mean, '
           'least and most of five models</text>']
    step = 0.25 if most - least < 3 else 0.5
    tick = step * (int(least / step) + 1)
    while tick < most:
        svg.append(f'<path d="M{left} {y_of(tick):.1f}H{width - right}" stroke="{"#000" if tick == 1 else "#ddd"}"/>'
                   f'<text x="{left - 8}" y="{y_of(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
        tick += step
    slot = (width - left - right) / len(SERVERS)
    bar = slot * 0.8 / (len(POLICIES) - 1)
    for i, server in enumerate(SERVERS):
        x0 = left + slot * i
        svg.append(f'<text x="{x0 + slot / 2:.1f}" y="{height - 16}" text-anchor="middle">{server}</text>')
        for j, policy in enumerate(POLICIES[1:]):
            v = values[server, policy]
            if not v:
                continue
            x, y = x0 + slot * 0.1 + bar * j, y_of(statistics.geometric_mean(v))
            svg.append(f'<rect x="{x:.1f}" y="{min(y, y_of(1)):.1f}" width="{bar - 1:.1f}" '
                       f'height="{abs(y - y_of(1)):.1f}" fill="{COLOURS[j + 1]}"/>'
                       f'<path d="M{x + bar / 2:.1f} {y_of(min(v)):.1f}V{y_of(max(v)):.1f}" stroke="#000"/>')
    for j, policy in enumerate(POLICIES[1:]):
        y = top + 12 + 20 * j
        svg.append(f'<rect x="{width - right + 16}" y="{y - 10}" width="12" height="12" fill="{COLOURS[j + 1]}"/>'
                   f'<text x="{width - right + 34}" y="{y}">{name_of(policy)}</text>')
    svg.append("</svg>")
    Path(out).write_text("\n".join(svg) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "run":
        run(*sys.argv[2:], programs=False)
    elif len(sys.argv) == 4 and sys.argv[1] == "programs":
        run(*sys.argv[2:], programs=True)
    elif len(sys.argv) == 3 and sys.argv[1] == "tables":
        tables(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "draw":
        draw(*sys.argv[2:])
    else:
        sys.exit(__doc__)
