"""clang-tidy, with .clang-tidy's checks, on the sources that changed.

usage: check_tidy.py SOURCE_DIR [COMPILER_OPTION ...]

Changed is what differs from where this branch left origin/main or main, and on main itself from the commit before;
$UVMSIM_TIDY_BASE names another commit. Exits with 1 when something is found, with 77 (skipped) where there is no
clang-tidy or no git history. After BUDGET_S seconds no file is begun any more: what is left out is said.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
BUDGET_S = 240  # a file takes 5 to 15 s


def git(root, *arguments):
    ran = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def base(root):
    head = git(root, "rev-parse", "HEAD")
    for name in (os.environ.get("UVMSIM_TIDY_BASE", ""), "origin/main", "main"):
        parting = name and git(root, "merge-base", "HEAD", name)
        if parting and parting != head:
            return parting
    return git(root, "rev-parse", "--verify", "HEAD~1")


def changed(root, since):
    names = git(root, "diff", "--name-only", "--diff-filter=d", since, "--", "sim").splitlines()
    names += git(root, "ls-files", "--others", "--exclude-standard", "--", "sim").splitlines()
    return sorted(name for name in set(names) if Path(name).suffix in (".cpp", ".h"))


def look_at(root, name, options, end):
    """What clang-tidy says of a file; None: there was no time for it."""
    if time.monotonic() > end:
        return None
    ran = subprocess.run(["clang-tidy", "--quiet", name, "--", "-xc++", "-std=c++20", *options], cwd=root,
                         capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else ran.stdout or ran.stderr


def main(root, *options):
    since = base(root) if shutil.which("git") else ""
    if not shutil.which("clang-tidy") or not since:
        print("skipped: there is no " + ("history to compare with" if shutil.which("clang-tidy") else "clang-tidy"))
        return SKIPPED
    names, end = changed(root, since), time.monotonic() + BUDGET_S
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda name: look_at(root, name, options, end), names))
    print("".join(text for text in said if text), end="")
    left_out = [name for name, text in zip(names, said) if text is None]
    print(f"looked at {len(names) - len(left_out)} of {len(names)} files changed since {since[:12]}")
    if left_out:
        print("no time for " + " ".join(left_out))
    return 1 if any(said) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
