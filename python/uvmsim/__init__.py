"""uvmsim: how much slower is a GPU program whose memory does not fit, and what would help?

    import uvmsim
    result = uvmsim.run("v100_dgx1", {"machine.gpus": 1, "workload.batch": 60})
    result.slowdown, result.time_split_s

Each function runs the installed program with --json and returns its answer as a value (uvmsim.results). `config` is a
dict, the path of a configuration or a trace, or the name of a bundled configuration or a generator; `settings` is what
`--set` takes, as a dict ({"machine": "a100_40gb"} runs on another machine). Errors are
exceptions: InputError has every fault with its place. `progress` is called with the program's progress line, whenever
there is a new one. An interrupt ends the program, too.
"""
import json as _json
import os as _os
import tempfile as _tempfile

from uvmsim import program as _program
from uvmsim.errors import Error, Fault, InputError, ScriptError
from uvmsim.results import (AdviseResult, AnalyseResult, CompareResult, FitResult, PipelineResult, PlanResult, RunResult,
                            StallsResult, SweepResult, ValidateResult, WhatIfResult)

__all__ = ["run", "compare", "sweep", "fit", "plan", "advise", "whatif", "stalls", "pipeline", "analyse", "validate",
           "trace", "Error", "Fault", "InputError", "ScriptError", "RunResult", "CompareResult", "SweepResult", "FitResult",
           "PlanResult", "AdviseResult", "WhatIfResult", "StallsResult", "PipelineResult", "AnalyseResult",
           "ValidateResult"]


def _names(values):
    return values if isinstance(values, str) else ",".join(str(value) for value in values)


def run(config, settings=None, *, plan=None, output=None, overwrite=False, in_core=True, progress=None):
    """Simulates an experiment. `plan`: a file of plans; `output`: a folder that keeps everything; `overwrite`: also
    where it holds the result of another configuration."""
    with _program.config_file(config) as path:
        arguments = ["run", path, *_program.settings_of(settings)]
        arguments += ["--plan", _os.fspath(plan)] if plan else []
        arguments += ["-o", _os.fspath(output)] if output else []
        arguments += ["--overwrite"] if overwrite else []
        arguments += [] if in_core else ["--no-in-core"]
        return RunResult.of(_program.call_json(arguments, progress))


def compare(config, policies=None, settings=None, *, planners=None, processes=None, progress=None):
    """One workload under several policies, by their names; the first is what the others are compared with."""
    with _program.config_file(config) as path:
        arguments = ["compare", path, *_program.settings_of(settings)]
        arguments += ["--policies", _names(policies)] if policies else []
        arguments += ["--planners", _names(planners)] if planners else []
        arguments += ["-j", str(processes)] if processes else []
        return CompareResult.of(_program.call_json(arguments, progress))


def sweep(config, axes, settings=None, *, output=None, jobs=None, progress=None):
    """A grid of points: {"workload.batch": [32, 64], "driver.uvm_perf_prefetch_threshold": "range(1,100,10)"}.

    `output` is the folder of its database; without one it is thrown away.
    """
    with _program.config_file(config) as path, _tempfile.TemporaryDirectory(prefix="uvmsim-") as folder:
        arguments = ["sweep", path, *_program.settings_of(settings)]
        for key, values in axes.items():
            text = values if isinstance(values, str) else ",".join(
                value if isinstance(value, str) else _json.dumps(value) for value in values)
            arguments += ["--sweep", f"{key}={text}"]
        arguments += ["-o", _os.fspath(output) if output else _os.path.join(folder, "grid")]
        arguments += ["-j", str(jobs)] if jobs else []
        return SweepResult.of(_program.call_json(arguments, progress))


def fit(config, settings=None, *, allocators=None):
    """Whether an experiment fits in GPU memory, and the largest batch that does."""
    with _program.config_file(config) as path:
        arguments = ["fit", path, *_program.settings_of(settings)]
        arguments += ["--allocators", _names(allocators)] if allocators else []
        return FitResult.of(_program.call_json(arguments))


def plan(config, settings=None, *, output=None, progress=None):
    """Decides ahead what happens to tensors that no kernel uses. `output`: a file for `run(plan=...)`."""
    with _program.config_file(config) as path, _tempfile.TemporaryDirectory(prefix="uvmsim-") as folder:
        file = _os.fspath(output) if output else _os.path.join(folder, "plan.json")
        _program.call(["plan", path, *_program.settings_of(settings), "-o", file], progress)
        with open(file, encoding="utf-8") as text:
            return PlanResult.of(_json.load(text))


def advise(config, settings=None, *, on=None, budget_s=None, processes=None, progress=None):
    """Whether it fits, how slow it is if not, and what to change. `on`: names of machines to try as well."""
    with _program.config_file(config) as path:
        arguments = ["advise", path, *_program.settings_of(settings)]
        arguments += ["--on", _names(on)] if on else []
        arguments += ["--budget", f"{budget_s} s"] if budget_s else []
        arguments += ["-j", str(processes)] if processes else []
        return AdviseResult.of(_program.call_json(arguments, progress))


def whatif(config, settings=None, *, top=None, also=(), processes=None, progress=None):
    """What each optimisation would gain. `top`: also so many of the best together; `also`: "NAME:KEY=VALUE,..."."""
    with _program.config_file(config) as path:
        arguments = ["whatif", path, *_program.settings_of(settings)]
        arguments += ["--top", str(top)] if top else []
        for transform in also:
            arguments += ["--with", transform]
        arguments += ["-j", str(processes)] if processes else []
        return WhatIfResult.of(_program.call_json(arguments, progress))


def stalls(config, settings=None):
    """Where training waits for its data, and what more cores, memory or faster storage would change."""
    with _program.config_file(config) as path:
        return StallsResult.of(_program.call_json(["stalls", path, *_program.settings_of(settings)]))


def pipeline(config, settings=None, *, gpus=None, batch=None):
    """The best pipelines over several GPUs. `gpus`: how many of the machine's; `batch`: samples between two steps."""
    with _program.config_file(config) as path:
        arguments = ["pipeline", path, *_program.settings_of(settings)]
        arguments += ["--gpus", str(gpus)] if gpus else []
        arguments += ["--batch", str(batch)] if batch else []
        return PipelineResult.of(_program.call_json(arguments))


def analyse(config, settings=None, *, views=None):
    """How a program uses memory: the views of `uvmsim list view`, all of them or those named."""
    with _program.config_file(config) as path:
        arguments = ["analyse", path, *_program.settings_of(settings)]
        arguments += ["--view", _names(views)] if views else []
        return AnalyseResult.of(_program.call_json(arguments))


def validate(cases=(), *, role=None, quick=False, jobs=None, progress=None):
    """Simulates what others measured: the bundled cases, or those of files and folders."""
    cases = [cases] if isinstance(cases, (str, _os.PathLike)) else cases
    arguments = ["validate", *[_os.fspath(case) for case in cases]]
    arguments += ["--role", role] if role else []
    arguments += ["--quick"] if quick else []
    arguments += ["-j", str(jobs)] if jobs else []
    return ValidateResult.of(_program.call_json(arguments, progress))


def trace(step, model=None, optimizer=None, *, output="step.uvmtrace.zst", gpu="v100", iterations=2):
    """Traces `iterations` calls of a PyTorch step, on meta tensors: without a GPU, weights or data.

    Writes the trace to `output`, for `run({"workload": {"trace": output, ...}})`, and returns that path; kernels take
    what the roofline of `gpu` says. In a script under `uvmsim trace torch` the program's own arguments say all three,
    and None is returned. Raises ScriptError for operators that need values or have no shapes without data.
    """
    from uvmsim import torch_script
    session = torch_script.current()
    if session is not None:
        session.trace(step, model, optimizer)
        return None
    with _tempfile.TemporaryDirectory(prefix="uvmsim-") as folder:
        recorded = _os.path.join(folder, "operators.jsonl")
        torch_script.record(step, model, optimizer, iterations, recorded)
        _program.call(["trace", "torch", recorded, "-o", _os.fspath(output), "--gpu", gpu])
    return _os.fspath(output)
