"""Generates every bundled trace again and compares what is in it: check_traces.py UVMSIM TRACES_FOLDER"""
import json
import pathlib
import subprocess
import sys
import tempfile

uvmsim, folder = sys.argv[1], pathlib.Path(sys.argv[2])
origin = json.loads((folder / "ORIGIN.json").read_text())
bundled = {p.name for p in folder.glob("*.uvmtrace*")}
wrong = [f"{name}: no origin" for name in sorted(bundled - set(origin))]
wrong += [f"{name}: missing" for name in sorted(set(origin) - bundled)]
with tempfile.TemporaryDirectory() as temporary:
    for name in sorted(bundled & set(origin)):
        again, plain = pathlib.Path(temporary, "again.uvmtrace"), pathlib.Path(temporary, "plain.uvmtrace")
        subprocess.run([uvmsim, "trace", "gen", *origin[name], "-o", str(again)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([uvmsim, "trace", "convert", str(folder / name), str(plain)], check=True, stdout=subprocess.DEVNULL)
        if again.read_bytes() != plain.read_bytes():
            wrong.append(f"{name}: its generator writes something else now")
print("\n".join(wrong) or f"{len(origin)} traces as generated")
sys.exit(1 if wrong else 0)
