"""Runs a PyTorch script on meta tensors and records a step of it: what `uvmsim trace torch` starts.

    python -m uvmsim.torch_script --out FILE [--iterations N] SCRIPT [ARGUMENT ...]
"""
import argparse
import json
import os
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
        self.recorder.start(model, optimizer)
        for _ in range(self.iterations):
            self.recorder.iteration()
            step()
        self.recorder.stop()


def current():
    """The session of the script that runs under `uvmsim trace torch`; None: none does."""
    return _session


def _place(error, script):
    """Where in the script an exception came from: the last of its lines that is the user's own."""
    folder = os.path.dirname(os.path.abspath(script))
    own = os.path.dirname(os.path.abspath(__file__))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not os.path.abspath(f.filename).startswith(own)]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    in_script = [f for f in frames if os.path.abspath(f.filename) == os.path.abspath(script)]
    beside = [f for f in frames if os.path.abspath(f.filename).startswith(folder + os.sep)]
    chosen = beside or in_script
    return f"{chosen[-1].filename}:{chosen[-1].lineno}" if chosen else script


_ADVICE = {"_local_scalar_dense": "leave .item(), float(), print and if on tensors out of the step",
           "nonzero": "its result's size depends on data: use masks of a fixed shape"}


def _message(error):
    from uvmsim.torch_recorder import Unsupported
    if isinstance(error, Unsupported):
        operator = _operator_of(error)
        advice = _ADVICE.get(operator.split(".")[0].split("::")[-1],
                             "leave it out of the step, or replace it by operators with known shapes")
        return f"{operator}: {error}; {advice}" if operator else str(error)
    text = str(error) or "no message"
    return f"{type(error).__name__}: {text.splitlines()[0]}"


def _operator_of(error):
    """The operator that was being dispatched."""
    frame = error.__traceback__
    name = ""
    while frame is not None:
        if frame.tb_frame.f_code.co_name == "__torch_dispatch__" and "func" in frame.tb_frame.f_locals:
            name = str(frame.tb_frame.f_locals["func"])
        frame = frame.tb_next
    return name


def _run(script, arguments, iterations):
    global _session
    import torch
    from uvmsim import torch_compat
    _session = Session(iterations)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    torch.manual_seed(0)
    with torch_compat.as_on_gpu(), _session.recorder:
        names = runpy.run_path(script, run_name="__main__")
        if not _session.done:
            step = names.get("step")
            if not callable(step):
                raise ScriptError("defines no function step(), and did not call uvmsim.trace")
            _session.trace(step, names.get("model"), names.get("optimizer"))
    return _session.recorder


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
            place = given.script if isinstance(error, ScriptError) else _place(error, given.script)
            file.write(json.dumps({"k": "error", "place": place, "message": _message(error)}) + "\n")
            return 2
        recorder.write(file, os.path.splitext(os.path.basename(given.script))[0])
    return 0


if __name__ == "__main__":
    # The script imports the package again, by its own name: there is one session.
    from uvmsim import torch_script
    sys.exit(torch_script.main())
