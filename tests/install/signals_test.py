#!/usr/bin/env python3
"""Signals in the middle of a simulation: its exit status and last line are the program's own, not SimGrid's.

usage: signals_test.py PROGRAM CONFIG
"""
import os
import pty
import signal
import subprocess
import sys

CRASH = "uvmsim: internal error: "
EXPECTED = {  # exit status, last line
    signal.SIGINT: (130, "uvmsim: interrupted"),
    signal.SIGABRT: (5, ""),  # UVMSIM_CHECK has said why
    signal.SIGSEGV: (5, CRASH + "bad memory access or stack overflow"),
    signal.SIGBUS: (5, CRASH + "bus error"),
    signal.SIGFPE: (5, CRASH + "integer division by zero"),
}


def read_all(terminal):
    text = b""
    try:
        while piece := os.read(terminal, 4096):
            text += piece
    except OSError:  # a terminal that nobody writes to any more
        pass
    return text.decode()


NO_TERMINAL = 77  # what ctest takes for "skipped"


def open_terminal():
    try:
        return pty.openpty()
    except OSError as error:  # a chroot without /dev/pts
        print(f"no pseudo-terminal here: {error}")
        sys.exit(NO_TERMINAL)


def check(program, config, number):
    ours, theirs = open_terminal()
    run = subprocess.Popen([program, "run", config, "--no-in-core", "--set", "machine.gpus=1", "--set",
                            "run.iterations=10"],
                           stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    os.read(ours, 1)  # the progress bar of the simulation appears
    run.send_signal(number)
    text = read_all(ours)
    expected = EXPECTED[number]
    found = (run.wait(timeout=60), text.rpartition("\x1b[K")[2].strip())
    if found != expected:
        sys.exit(f"{number.name}: exit status and last line {found}, expected {expected}")


def main():
    program, config = sys.argv[1:]
    for number in EXPECTED:
        check(program, config, number)


if __name__ == "__main__":
    main()
