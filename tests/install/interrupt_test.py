#!/usr/bin/env python3
"""Interrupts a run that has a child process: exit status 130, one line on stderr, and the child is gone.

usage: interrupt_test.py PROGRAM CONFIG
"""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def children(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition, what, seconds=60):
    limit = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > limit:
            sys.exit(f"waited in vain for {what}")
        time.sleep(0.005)
    return result


def main():
    program, config = sys.argv[1:]
    # Enough iterations for a minute: it is still running when the signal comes.
    run = subprocess.Popen([program, "run", config, "--set", "machine.gpus=1", "--set", "run.iterations=40"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child = wait_for(lambda: children(run.pid), "a child process")[0]
    os.kill(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=60)
    if run.returncode != 130 or out or err != "uvmsim: interrupted\n":
        sys.exit(f"exit status {run.returncode}, output {out!r}, {err!r}")
    wait_for(lambda: not is_running(child), "the child's end")


if __name__ == "__main__":
    main()
