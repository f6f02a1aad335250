#!/usr/bin/env python3
"""Checks what the compiler does not: who includes whom, what the core may touch, and how files are kept.

usage: check_layers.py SOURCE_DIR

Prints one line per fault, "file:line: what", and exits with 1 when there is any.
"""
import re
import sys
from pathlib import Path

# Left to right, as data flows: a folder includes only what stands to its left. Siblings do not include each other.
LAYERS = ["base", ("machine", "trace", "observe", "loading"), "workload", "importers", "memory", "plan", "gpu", "uvm", "metrics",
          "engine", "report", "study", "cli"]

# Reading a clock, a file or a device makes a result depend on more than its inputs. Only the layers from report
# on may; of those to its left, the files that read and write traces and open files to import may use streams.
IMPURE = re.compile(r"#include <(fstream|iostream|filesystem|random|ctime|thread)>"
                    r"|\b(system_clock|steady_clock|high_resolution_clock|random_device|getenv)\b|\b(s?rand|time)\(NULL|"
                    r"\bs?rand\(\)")
STREAMS = re.compile(r"#include <(istream|ostream|iosfwd)>")
FILES = re.compile(r"#include <fstream>")
FIRST_IMPURE_LAYER = "report"
MAY_USE_STREAMS = re.compile(r"(trace/(bytes|reader|writer|digest)|importers/import_file)\.(h|cpp)$")
SIMGRID = re.compile(r'#include [<"](simgrid/|xbt)')

# Types at the first column: a second definition of one in another file breaks the one definition rule, and no linker says so.
OPENED = re.compile(r"namespace (?:([\w:]+) )?\{$")
DEFINED = re.compile(r"(?:template <.*> )?(?:struct|class|enum|enum class|union) (\w+)(?: final)?(?: :[^:].*)? \{")

MOST_LINES = 500
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home|root|Users|builds)/\w")
REGISTRY = re.compile(r"pypi\.org|python" r"hosted|npm" r"js\.|crates\.io|anaconda\.org|arti" r"factory|index-" r"url|deb\.debian\.org|"
                      r"docker\.io|ghcr\.io|proxy\.golang", re.IGNORECASE)
SKIPPED = {".git", "out", "__pycache__", "node_modules", "corpus"}


def ranks():
    return {folder: rank for rank, layer in enumerate(LAYERS) for folder in (layer if isinstance(layer, tuple) else [layer])}


def lines_of(path):
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def layer_faults(root):
    rank = ranks()
    for path in sorted((root / "sim").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        name = path.relative_to(root / "sim").as_posix()
        folder = name.split("/")[0]
        if folder not in rank:
            yield path, 1, f"{folder}/ is no layer"
            continue
        core = rank[folder] < rank[FIRST_IMPURE_LAYER]
        streams = MAY_USE_STREAMS.fullmatch(name)
        for number, line in enumerate(lines_of(path), 1):
            included = re.match(r'#include "([a-z0-9_]+)/', line)
            other = included[1] if included else None
            if other in rank and other != folder and rank[other] >= rank[folder]:
                yield path, number, f"{folder}/ may not include {other}/"
            if SIMGRID.search(line) and not name.startswith("engine/simgrid/"):
                yield path, number, "only engine/simgrid/ may include SimGrid"
            if core and (IMPURE.search(line) or STREAMS.search(line)) and not (
                    streams and (STREAMS.search(line) or FILES.search(line))):
                yield path, number, f"{folder}/ is pure: {line.strip()}"


def type_names(lines):
    """(line number, qualified name) of each type that `lines` define in a named namespace: those in anonymous
    namespaces and inside other types are their file's own affair."""
    namespaces = []
    for number, line in enumerate(lines, 1):
        if opened := OPENED.match(line):
            namespaces.append(opened[1] or "")
        elif line.startswith("}  // namespace") and namespaces:
            namespaces.pop()
        elif (defined := DEFINED.match(line)) and "" not in namespaces:
            yield number, "::".join([*namespaces, defined[1]])


def type_faults(root):
    first = {}
    for path in sorted((root / "sim").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        for number, name in type_names(lines_of(path)):
            where = first.setdefault(name, f"{path.relative_to(root)}:{number}")
            if where != f"{path.relative_to(root)}:{number}":
                yield path, number, f"{name} is defined at {where}, too"


def kept_files(root):
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not SKIPPED & set(parts) and not parts[0].startswith("build"):
            yield path


def file_faults(root):
    for path in kept_files(root):
        lines = lines_of(path)
        if len(lines) > MOST_LINES and path.is_relative_to(root / "sim") and path.suffix in (".h", ".cpp"):
            yield path, len(lines), f"more than {MOST_LINES} lines"
        for number, line in enumerate(lines, 1):
            for rule, what in ((UNFINISHED, "unfinished"), (MACHINE_PATH, "a path of one machine"),
                               (REGISTRY, "a package registry")):
                found = rule.search(line)
                if found:
                    yield path, number, f"{what}: {found[0]}"


def main():
    root = Path(sys.argv[1]).resolve()
    faults = [*layer_faults(root), *type_faults(root), *file_faults(root)]
    for path, line, what in faults:
        print(f"{path.relative_to(root)}:{line}: {what}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
