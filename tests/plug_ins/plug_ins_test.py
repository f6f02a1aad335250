"""Adding a plug-in of any kind is adding one file.

usage: plug_ins_test.py SOURCE_DIR UVMSIM UVMSIM_WITH_PLUG_INS

The second program is the first and the files of tests/plug_ins/sim, one for each kind, each named "scratch".
"""
import json
import subprocess
import sys
from pathlib import Path

SOURCE, PLAIN, WITH = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
FILES_OF_CONFIGS = {"configs", "policies", "machines"}  # kinds of files, not of plug-ins


def out(program, *arguments):
    done = subprocess.run([program, *arguments], cwd=SOURCE, capture_output=True, text=True)
    assert done.returncode == 0, (program, arguments, done.stdout, done.stderr)
    return done.stdout


def listed(program):
    kinds = json.loads(out(program, "list", "--json"))
    return {kind: [row["name"] for row in rows] for kind, rows in kinds.items() if kind not in FILES_OF_CONFIGS}


def every_kind_gains_the_file_and_nothing_else():
    plain, more = listed(PLAIN), listed(WITH)
    assert plain.keys() == more.keys(), plain.keys() ^ more.keys()
    for kind, names in plain.items():
        assert sorted([*names, "scratch"]) == more[kind], f"{kind}: no file in tests/plug_ins/sim adds one: {more[kind]}"
    return more


def help_names_every_kind(kinds):
    text = " ".join(out(WITH, "list", "--help").split())
    for kind in kinds:
        assert kind in text, f"list --help: {kind}"
        assert out(WITH, "list", kind).startswith(f"{kind}: for "), kind


def the_files_are_where_the_build_takes_them():
    """sim/CMakeLists.txt takes every .cpp below a layer's folder."""
    layers = next(line for line in (SOURCE / "sim/CMakeLists.txt").read_text().splitlines()
                  if line.startswith("set(UVMSIM_LAYERS")).strip(")").split()[1:]
    for file in (SOURCE / "tests/plug_ins/sim").rglob("*.cpp"):
        place = file.relative_to(SOURCE / "tests/plug_ins")
        assert place.parts[1] in layers and (SOURCE / place).parent.is_dir(), place


def configurations_take_them():
    settings = ["workload.allocator=scratch", "workload.calls=scratch,operand_prefetch",
                "workload.call_options.operand_prefetch.when=scratch", "driver.eviction_policy=scratch",
                "driver.eviction_options.share=0.25", "driver.prefetch_policy=scratch"]
    run = [argument for setting in settings for argument in ("--set", setting)]
    assert "completed" in out(WITH, "run", "vector_add_v100", "--no-in-core", "--json", *run).lower()
    assert "of something" in out(WITH, "explain", "driver.eviction_options.share")
    assert "tensors to keep" in out(WITH, "explain", "plan.keep")
    enum = json.loads(out(WITH, "config", "schema"))["properties"]["driver"]["properties"]["eviction_policy"]
    assert "scratch" in json.dumps(enum), enum


def a_new_pattern_is_written_read_and_run():
    trace = Path("scratch.uvmtrace").resolve()
    out(WITH, "trace", "gen", "scratch", "-o", str(trace))
    assert '"pixels","scratch"' in trace.read_text()
    out(WITH, "trace", "check", str(trace))
    assert subprocess.run([PLAIN, "trace", "check", str(trace)], capture_output=True).returncode == 2
    config = Path("scratch.json").resolve()
    config.write_text(json.dumps({
        "machine": {"extends": str(SOURCE / "configs/machines/v100_sxm2_16gb.json")},
        "driver": {"uvm_perf_prefetch_enable": False},
        "workload": {"trace": str(trace), "transforms": [{"name": "scratch"}, {"name": "scale_host", "factor": 2}]}}))
    report = json.loads(out(WITH, "run", str(config), "--no-in-core", "--json"))
    assert report["outcome"] == "completed", report["outcome"]


every_kind = every_kind_gains_the_file_and_nothing_else()
help_names_every_kind(every_kind)
the_files_are_where_the_build_takes_them()
configurations_take_them()
a_new_pattern_is_written_read_and_run()
