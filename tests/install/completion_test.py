#!/usr/bin/env python3
"""Completion as shells do it, the man page as man shows it; zsh and fish where they are installed.

usage: completion_test.py PROGRAM
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(arguments, **options):
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60, **options)
    if ended.returncode != 0 or ended.stderr:
        sys.exit(f"{arguments}: {ended.returncode}, {ended.stderr}")
    return ended.stdout


def completions(script, *words):
    """What bash offers for the last of `words`."""
    quoted = " ".join(f"'{word}'" for word in words)
    return run(["bash", "--norc", "-c", f"source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
                "_uvmsim; printf '%s\\n' \"${COMPREPLY[@]}\""]).split()


def expect(found, *wanted, without=()):
    if not set(wanted) <= set(found) or set(without) & set(found):
        sys.exit(f"expected {wanted} and not {without}, found {found}")


def main():
    program, = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        scripts = {shell: Path(folder) / shell for shell in ("bash", "zsh", "fish")}
        for shell, script in scripts.items():
            script.write_text(run([program, "completion", shell]))

        bash = scripts["bash"]
        expect(completions(bash, "uvmsim", ""), "run", "sweep", "diff", "doctor", without=["--help"])
        expect(completions(bash, "uvmsim", "sw"), "sweep", without=["run"])
        expect(completions(bash, "uvmsim", "run", "v100"), "v100_dgx1", "v100_dgx1_fp16", without=["vector_add_v100"])
        expect(completions(bash, "uvmsim", "run", "--n"), "--no-in-core", without=["--json"])
        expect(completions(bash, "uvmsim", "sweep", ""), "merge", "show", "v100_dgx1")
        expect(completions(bash, "uvmsim", "sweep", "merge", "-"), "--help", without=["--resume"])
        expect(completions(bash, "uvmsim", "validate", "--role", ""), "calibration", "validation")
        expect(completions(bash, "uvmsim", "completion", ""), "bash", "zsh", "fish")
        if completions(bash, "uvmsim", "run", "--set", "") != []:
            sys.exit("a free value has no words: files come from -o default")

        if shutil.which("zsh"):
            run(["zsh", "-f", "-n", str(scripts["zsh"])])
        if shutil.which("fish"):
            found = run(["fish", "--no-config", "-c", f"source {scripts['fish']}; complete -C 'uvmsim sweep --re'"])
            expect(found.split("\t")[0].split(), "--resume")
            found = run(["fish", "--no-config", "-c", f"source {scripts['fish']}; complete -C 'uvmsim '"])
            expect([line.split("\t")[0] for line in found.splitlines()], "run", "doctor")

        page = Path(folder) / "uvmsim.1"
        page.write_text(run([program, "man"]))
        for part in (".SH NAME", ".SH EXIT STATUS", ".SS uvmsim sweep merge", "\\fB\\-\\-resume\\fR", "NO_COLOR"):
            if part not in page.read_text():
                sys.exit(f"the man page lacks {part}")
        if shutil.which("groff"):
            run(["groff", "-man", "-Tutf8", "-ww", "-z", str(page)])


if __name__ == "__main__":
    main()
