"""Makes every bundled trace again and compares what is in it: check_traces.py UVMSIM TRACES_FOLDER"""
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile



def make(origin, to):
    """A generated trace, or some iterations of what was recorded."""
    if isinstance(origin, list):
        run("gen", *origin, "-o", to)
        return
    parts = []
    for name in origin["recordings"]:
        parts.append(to.with_name(name))
        parts[-1].write_bytes(lzma.decompress((folder / "recordings" / (name + ".xz")).read_bytes()))
    whole = to.with_name("whole.uvmtrace")
    run("import", *parts, "-o", whole)
    run("cut", whole, "--iterations", origin["iterations"], "-o", to)


def run(command, *arguments):
    subprocess.run([uvmsim, "trace", command, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


uvmsim, folder = sys.argv[1], pathlib.Path(sys.argv[2])
origin = json.loads((folder / "ORIGIN.json").read_text())
bundled = {p.name for p in folder.glob("*.uvmtrace*")}
wrong = [f"{name}: no origin" for name in sorted(bundled - set(origin))]
wrong += [f"{name}: missing" for name in sorted(set(origin) - bundled)]
with tempfile.TemporaryDirectory() as temporary:
    for name in sorted(bundled & set(origin)):
        again, plain = pathlib.Path(temporary, "again.uvmtrace"), pathlib.Path(temporary, "plain.uvmtrace")
        make(origin[name], again)
        run("convert", folder / name, plain)
        if again.read_bytes() != plain.read_bytes():
            wrong.append(f"{name}: what it was made from gives something else now")
print("\n".join(wrong) or f"{len(origin)} traces as they were made")
sys.exit(1 if wrong else 0)
