#!/usr/bin/env python3
"""Runs `uvmsim run` twice on each config and compares the bytes it prints, less the object run.host.

usage: check_repeat.py PROGRAM CONFIG... [--set KEY=VALUE]...

The settings are for the last config.
"""
import re
import subprocess
import sys


def output(program, arguments):
    text = subprocess.run([program, "run", *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    without_host, found = re.subn(r'"host": \{[^}]*\}', "", text)
    assert found == 1
    return without_host


def main():
    program, rest = sys.argv[1], sys.argv[2:]
    first_setting = rest.index("--set") if "--set" in rest else len(rest)
    configs, settings = rest[:first_setting], rest[first_setting:]
    for config in configs:
        arguments = [config, *(settings if config == configs[-1] else [])]
        if output(program, arguments) != output(program, arguments):
            sys.exit(f"two runs of {config} differ outside run.host")


if __name__ == "__main__":
    main()
