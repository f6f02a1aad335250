"""Runs a PyTorch script on meta tensors and records a step of it: what `uvmsim trace torch` starts.

    python -m uvmsim.torch_script --out FILE [--iterations N] SCRIPT [ARGUMENT ...]
"""
import argparse
import json
import os
import re
import runpy
import sys
import traceback

from uvmsim.errors import ScriptError

_session = None


class Session:
    """One script that is traced. Its recorder is a context around all of it."""

    def __init__(self, iterations):
        from uvmsim.torch_recorder import Recorder
        self.iterations = iterations
        self.recorder = Recorder()
        self.done = False

    def trace(self, step, model, optimizer):
        if self.done:
            raise ScriptError("uvmsim.trace was called before: a script is traced once")
        self.done = True
        self.recorder.record(step, model, optimizer, self.iterations)


def current():
    """The session of the script that runs under `uvmsim trace torch`; None: none does."""
    return _session


def _place(error, script):
    """Where in the script, or in a file next to it, an exception came from."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    folder = os.path.dirname(os.path.abspath(script)) + os.sep
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frames = [(os.path.abspath(frame.filename), frame) for frame in traceback.extract_tb(error.__traceback__)]
    users = [frame for path, frame in frames
             if path.startswith(folder) and not path.startswith(own) and "-packages" + os.sep not in path]
    return f"{users[-1].filename}:{users[-1].lineno}" if users else script


def _message(error):
    if isinstance(error, ScriptError):
        return str(error)
    if isinstance(error, SystemExit):
        return f"ended by itself, with status {error.code}, before a step was traced"
    lines = str(error).splitlines() or ["no message"]
    lacking = re.match(r"Could not run '(.*)' with arguments from the '\w*Meta' backend", lines[0])
    if lacking:  # one without a rule for autograd is not even recorded
        from uvmsim import torch_compat
        return torch_compat.without_shapes(lacking[1])
    blind = "meta tensor" in lines[0] or "unallocated storage" in lines[0]
    advice = "; the step may not look at values: there are none without data" if blind else ""
    if "process group" in lines[0] or "rendezvous" in lines[0]:
        advice = ("; trace one process without torch.distributed, and let the simulator add the exchange of gradients: "
                  "--set 'workload.transforms=[{\"name\": \"ddp\"}]'")
    return f"{type(error).__name__}: {lines[0].rstrip('.')}{advice}"


def _import_torch():
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ScriptError(f"{sys.executable} has no PyTorch: name a Python that has it with --python") from error
    return torch


def _run(script, arguments, iterations):
    global _session
    torch = _import_torch()
    from uvmsim import torch_compat
    _session = Session(iterations)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    torch.manual_seed(0)
    with torch_compat.as_on_gpu() as notes, _session.recorder:
        names = runpy.run_path(script, run_name="__main__")
        if not _session.done:
            step = names.get("step")
            if not callable(step):
                raise ScriptError("defines no function step(), and does not call uvmsim.trace")
            _session.trace(step, names.get("model"), names.get("optimizer"))
    _session.recorder.note(notes)
    return _session.recorder


def record(step, model, optimizer, iterations, path):
    """The same for a step of the program that this is part of: a model that has its values is left as it was."""
    _import_torch()
    from uvmsim import torch_compat
    from uvmsim.torch_recorder import Recorder
    recorder = Recorder()
    with torch_compat.as_on_gpu() as notes, torch_compat.moved(model, optimizer), recorder:
        recorder.record(step, model, optimizer, iterations)
    recorder.note(notes)
    with open(path, "w", encoding="utf-8") as file:
        recorder.write(file, type(model).__name__ if model is not None else "step")


def main():
    parser = argparse.ArgumentParser(prog="uvmsim.torch_script")
    parser.add_argument("--out", required=True)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    with open(given.out, "w", encoding="utf-8") as file:
        try:
            recorder = _run(given.script, given.arguments, given.iterations)
        except KeyboardInterrupt:
            return 130
        except (Exception, SystemExit) as error:
            place = given.script if type(error) is ScriptError else _place(error, given.script)
            file.write(json.dumps({"k": "error", "place": place, "message": _message(error)}) + "\n")
            return 2
        recorder.write(file, os.path.splitext(os.path.basename(given.script))[0])
    return 0


if __name__ == "__main__":
    # The script imports the package by its name: that module has the session, not this one, which is __main__.
    from uvmsim import torch_script
    sys.exit(torch_script.main())
