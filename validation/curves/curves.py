#!/usr/bin/env python3
"""Speed against batch under several policies, as CSV and SVG.

    curves.py collect OUT.csv COMPARISON.json...   what `uvmsim compare --json --set workload.batch=N` printed, one
                                                   file per batch (README.md here has the commands); the batch is
                                                   read from the file's name: anything.N.anything.json
    curves.py draw IN.csv OUT.svg TITLE [COLUMN]   COLUMN: samples_per_s (default) or speedup
    curves.py table IN.csv                         samples/s as the tables of README.md

Python's standard library only. The same input gives the same bytes.
"""

import csv
import json
import re
import sys
from pathlib import Path

COLUMNS = ["batch", "policy", "samples_per_s", "slowdown", "speedup", "fault_batches", "h2d_bytes", "d2h_bytes",
           "dead_h2d_bytes", "remote_bytes"]
UNITS = {"samples_per_s": "samples/s", "speedup": "speed-up over the driver's default"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 460, 64, 210, 40, 48
COLOURS = ["#444444", "#1b7837", "#2166ac", "#67a9cf", "#b2182b", "#ef8a62", "#762a83", "#a6761d", "#e7298a", "#66a61e",
           "#1f78b4", "#b15928"]


def collect(out, files):
    rows = {}
    for file in files:
        batch = int(re.search(r"\.(\d+)\.", Path(file).name)[1])
        comparison = json.loads(Path(file).read_text())
        for entry in [comparison["in_core"], *comparison["policies"]]:
            if not entry["completed"]:
                continue
            rows[batch, entry["policy"]] = [
                batch, entry["policy"], f"{entry['throughput']:.3f}", f"{entry['slowdown']:.3f}",
                f"{entry['speedup']:.3f}", *(entry[key] for key in COLUMNS[5:])]
    with open(out, "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows[key] for key in sorted(rows))


def table(source):
    with open(source) as stream:
        rows = list(csv.DictReader(stream))
    batches = sorted({int(row["batch"]) for row in rows})
    speed = {(row["policy"], int(row["batch"])): float(row["samples_per_s"]) for row in rows}
    print("| policy | " + " | ".join(f"batch {batch}" for batch in batches) + " |")
    print("| --- " * (len(batches) + 1) + "|")
    for policy in dict.fromkeys(["in_core", "default", *(row["policy"] for row in rows)]):
        cells = (f"{speed[policy, batch]:.3g}" if (policy, batch) in speed else "" for batch in batches)
        print(f"| `{policy}` | " + " | ".join(cells) + " |")


def draw(source, out, title, column="samples_per_s"):
    curves = {}
    with open(source) as stream:
        for row in csv.DictReader(stream):
            if column == "samples_per_s" or row["policy"] not in ("in_core", "default"):
                curves.setdefault(row["policy"], []).append((int(row["batch"]), float(row[column])))
    curves = {name: points for name, points in curves.items() if len(points) > 1}
    most_x = max(x for points in curves.values() for x, _ in points)
    most_y = max(y for points in curves.values() for _, y in points) * 1.05

    def at(x, y):
        return (LEFT + (WIDTH - LEFT - RIGHT) * x / most_x, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / most_y)

    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="22" font-size="14">{title}</text>']
    x0, y0 = at(0, 0)
    x1, y1 = at(most_x, most_y)
    svg.append(f'<path d="M{x0:.1f} {y1:.1f}V{y0:.1f}H{x1:.1f}" fill="none" stroke="#000"/>')
    for x in sorted({x for points in curves.values() for x, _ in points}):
        svg.append(f'<text x="{at(x, 0)[0]:.1f}" y="{y0 + 18:.1f}" text-anchor="middle">{x}</text>')
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if most_y / s <= 8)
    for i in range(int(most_y / step) + 1):
        y = at(0, i * step)[1]
        svg.append(f'<text x="{x0 - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{i * step:g}</text>'
                   f'<path d="M{x0:.1f} {y:.1f}H{x1:.1f}" stroke="#ddd"/>')
    svg.append(f'<text x="{(x0 + x1) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">batch</text>'
               f'<text x="14" y="{(y0 + y1) / 2:.1f}" text-anchor="middle" '
               f'transform="rotate(-90 14 {(y0 + y1) / 2:.1f})">{UNITS[column]}</text>')
    for i, (name, points) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = "L".join("{:.1f} {:.1f}".format(*at(*point)) for point in sorted(points))
        dash = ' stroke-dasharray="5 4"' if name in ("in_core", "clairvoyant") else ""
        svg.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for point in points:
            svg.append('<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*at(*point), colour))
        y = TOP + 12 + 20 * i
        svg.append(f'<path d="M{WIDTH - RIGHT + 20} {y - 4}h24" stroke="{colour}" stroke-width="2"{dash}/>'
                   f'<text x="{WIDTH - RIGHT + 50}" y="{y}">{name}</text>')
    svg.append("</svg>")
    Path(out).write_text("\n".join(svg) + "\n")


if __name__ == "__main__":
    if len(sys.argv) >= 4 and sys.argv[1] == "collect":
        collect(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) in (5, 6) and sys.argv[1] == "draw":
        draw(*sys.argv[2:])
    elif len(sys.argv) == 3 and sys.argv[1] == "table":
        table(sys.argv[2])
    else:
        sys.exit(__doc__)
