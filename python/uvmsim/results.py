"""What the program answers, as values. `json` of each has everything that it printed, with the names of
sim/report/RESULT.md; notebooks show them as tables; `frame()` gives a pandas DataFrame where pandas is installed."""
import html
from dataclasses import dataclass, field


def seconds_text(value):
    """Three digits and a unit."""
    if value is None:
        return ""
    for unit, factor in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns"


def bytes_text(value):
    if value is None:
        return ""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value} B"


def _table(head, rows, caption=""):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _frame(rows):
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frame() needs pandas; `.json` has the same values without it") from error
    return pandas.DataFrame(rows)


def _flat(value, prefix=""):
    """{"a": {"b": 1}} as {"a.b": 1}; lists are left out."""
    flat = {}
    for key, member in value.items():
        if isinstance(member, dict):
            flat.update(_flat(member, f"{prefix}{key}."))
        elif not isinstance(member, list):
            flat[prefix + key] = member
    return flat


def _of_same_names(cls, json):
    return cls(**{name: json.get(name) for name in cls.__dataclass_fields__})


@dataclass
class RunResult:
    """One experiment. Durations are of one iteration, in seconds; `low_s` and `high_s` are its error band."""
    name: str
    outcome: str
    detail: str
    duration_s: float
    cuda_malloc_duration_s: float  # with plain cudaMalloc on GPUs that are large enough: what `slowdown` is against
    slowdown: float
    in_core_duration_s: float
    low_s: float
    high_s: float
    throughput: float
    throughput_unit: str
    peak_live_bytes: int
    time_split_s: dict
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        summary, band = json["summary"], (json.get("trust") or {}).get("band") or {}
        gpus = summary.get("gpus") or [{}]
        split = [gpu.get("time_split_s") or {} for gpu in gpus]
        throughput = summary.get("throughput") or {}
        return cls(name=json["run"]["experiment"], outcome=json["outcome"], detail=json["detail"],
                   duration_s=summary["duration_s"], cuda_malloc_duration_s=summary["cuda_malloc_duration_s"],
                   slowdown=summary["slowdown"], in_core_duration_s=summary["in_core_duration_s"],
                   low_s=band.get("low_s"), high_s=band.get("high_s"),
                   throughput=throughput.get("value"), throughput_unit=throughput.get("unit"),
                   peak_live_bytes=summary["peak_live_bytes"],
                   time_split_s={cause: sum(one[cause] for one in split) / len(split) for cause in split[0]}, json=json)

    @property
    def completed(self):
        return self.outcome == "completed"

    @property
    def known(self):
        """False where too little is known of what the kernels of a recorded trace touch: then there is no slowdown."""
        return (self.json["run"]["setup"].get("operands") or {}).get("enough", True)

    def frame(self):
        """A row per GPU."""
        return _frame([_flat(gpu) for gpu in self.json["summary"]["gpus"]])

    def plot(self, axes=None):
        """A bar of where the time went. Needs matplotlib; returns its axes."""
        import matplotlib.pyplot
        axes = axes or matplotlib.pyplot.subplots(figsize=(8, 1.6))[1]
        left = 0
        for cause, value in self.time_split_s.items():
            axes.barh([self.name], [value], left=left, label=cause.removesuffix("_s").replace("_", " "))
            left += value
        axes.set_xlabel("s per iteration")
        axes.legend(ncol=4, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.6))
        return axes

    def _repr_html_(self):
        if not self.completed:
            return _table(("outcome", "why"), [(self.outcome, self.detail)], self.name)
        band = f"{seconds_text(self.low_s)} to {seconds_text(self.high_s)}" if self.low_s is not None else ""
        slowdown = "" if self.slowdown is None else f"{self.slowdown:.3f}x"
        if not self.known:
            slowdown = "unknown: " + self.json["run"]["setup"]["operands"]["remedy"]
        rows = [("iteration", seconds_text(self.duration_s)), ("80 % band", band),
                ("with cudaMalloc", seconds_text(self.cuda_malloc_duration_s)), ("slowdown", slowdown),
                ("peak memory", bytes_text(self.peak_live_bytes))]
        rows += [(cause.removesuffix("_s").replace("_", " "), seconds_text(value))
                 for cause, value in self.time_split_s.items()]
        return _table(("", "this run"), rows, self.name)


@dataclass
class Policy:
    """A row of a comparison. `told_apart` is None for the first one, which the others are compared with."""
    name: str
    description: str
    completed: bool
    duration_s: float
    low_s: float
    high_s: float
    speedup: float
    told_apart: bool
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        return cls(name=json["policy"], description=json.get("description", ""), completed=json["completed"],
                   duration_s=json.get("duration_s"), low_s=json.get("duration_low_s"),
                   high_s=json.get("duration_high_s"), speedup=json.get("speedup"), told_apart=json.get("told_apart"),
                   json=json)


@dataclass
class CompareResult:
    name: str
    in_core: Policy
    policies: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        in_core = json.get("in_core")
        return cls(name=json["experiment"], in_core=Policy.of(in_core) if in_core else None,
                   policies=[Policy.of(one) for one in json["policies"]], json=json)

    def __getitem__(self, name):
        return next(policy for policy in self.policies if policy.name == name)

    def frame(self):
        return _frame([_flat(policy.json) for policy in self.policies])

    def _repr_html_(self):
        rows = [(p.name, seconds_text(p.duration_s) if p.completed else "did not complete",
                 "" if p.speedup is None else f"{p.speedup:.3f}x", {True: "yes", False: "no", None: ""}[p.told_apart])
                for p in self.policies]
        return _table(("policy", "iteration", "speed-up", "told apart"), rows, self.name)


@dataclass
class Point:
    settings: dict
    outcome: str
    error: str
    duration_s: float
    slowdown: float
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        summary = json.get("summary") or {}
        return cls(settings=json["settings"], outcome=json["outcome"], error=json.get("error", ""),
                   duration_s=summary.get("duration_s"), slowdown=summary.get("slowdown"), json=json)


@dataclass
class SweepResult:
    name: str
    points: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        sweeps = json["sweeps"]
        return cls(name=", ".join(sweep["experiment"] for sweep in sweeps),
                   points=[Point.of(point) for sweep in sweeps for point in sweep["points"]], json=json)

    def frame(self):
        return _frame([{**point.settings, "outcome": point.outcome, **_flat(point.json.get("summary") or {})}
                       for point in self.points])

    def _repr_html_(self):
        keys = list(self.points[0].settings) if self.points else []
        rows = [[point.settings[key] for key in keys] +
                [seconds_text(point.duration_s) if point.outcome == "completed" else point.outcome,
                 "" if point.slowdown is None else f"{point.slowdown:.3f}x"] for point in self.points]
        return _table([*keys, "iteration", "slowdown"], rows, self.name)


@dataclass
class Fit:
    allocator: str
    fits: bool
    peak_live_bytes: int
    peak_reserved_bytes: int
    batch: int
    largest_batch: int

    of = classmethod(_of_same_names)


@dataclass
class FitResult:
    name: str
    usable_memory_bytes: int
    fits: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        return cls(name=json["experiment"], usable_memory_bytes=json["usable_memory_bytes"],
                   fits=[Fit.of(one) for one in json["fits"]], json=json)

    def frame(self):
        return _frame([_flat(one) for one in self.json["fits"]])

    def _repr_html_(self):
        rows = [(f.allocator, "yes" if f.fits else "no", bytes_text(f.peak_live_bytes),
                 bytes_text(f.peak_reserved_bytes), "" if f.largest_batch is None else f.largest_batch)
                for f in self.fits]
        return _table(("allocator", "fits", "peak live", "peak reserved", "largest batch"), rows,
                      f"{self.name}: {bytes_text(self.usable_memory_bytes)} usable")


@dataclass
class PlanResult:
    """Plans, one for each GPU's process (sim/plan/PLAN.md)."""
    workload: str
    plans: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        return cls(workload=json["workload"], plans=json["plans"], json=json)

    def _repr_html_(self):
        rows = [(plan.get("planner", ""), plan.get("why", ""), bytes_text(plan.get("budget_bytes")))
                for plan in self.plans]
        return _table(("planner", "why", "budget"), rows, self.workload)


def _gain_text(trial):
    if trial.gain is None:
        return "not tried" if not trial.tried else "did not complete" if not trial.completed else ""
    band = f" ({trial.gain_low:.3g}x to {trial.gain_high:.3g}x)" if trial.gain_low else ""
    return f"{trial.gain:.3g}x{band}"


@dataclass
class Trial:
    """A change that was tried. `gain`: samples per second over those of demand paging; None where there are none."""
    kind: str
    name: str
    meaning: str
    change: str
    needs: str
    tried: bool
    completed: bool
    duration_s: float
    gain: float
    gain_low: float
    gain_high: float
    told_apart: bool

    of = classmethod(_of_same_names)


@dataclass
class AdviseResult:
    """`advice`: the trials that gain by more than the error, best first (sim/study/advice/ADVISE.md)."""
    name: str
    fits: bool
    need_bytes: int
    usable_bytes: int
    batch: int
    largest_batch: int
    duration_s: float
    in_core_duration_s: float
    trials: list
    advice: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        trials = [Trial.of(trial) for trial in json["trials"]]
        by_name = {trial.name: trial for trial in trials}
        own = {name: json[name] for name in ("fits", "need_bytes", "usable_bytes", "batch", "largest_batch", "duration_s",
                                             "in_core_duration_s")}
        return cls(name=json["experiment"], trials=trials, advice=[by_name[name] for name in json["advice"]], json=json,
                   **own)

    def frame(self):
        return _frame([_flat(trial) for trial in self.json["trials"]])

    def _repr_html_(self):
        rows = [(trial.name, _gain_text(trial), trial.change) for trial in self.advice]
        need = f"{bytes_text(self.need_bytes)} of {bytes_text(self.usable_bytes)}"
        return _table(("change", "gain", "how"), rows, f"{self.name}: {'fits' if self.fits else 'does not fit'}, {need}")


@dataclass
class WhatIf:
    name: str
    summary: str
    costs: str
    applies: bool
    completed: bool
    duration_s: float
    speedup: float

    of = classmethod(_of_same_names)


@dataclass
class WhatIfResult:
    """`what_ifs`: the fastest first, what does not apply last."""
    name: str
    base: WhatIf
    what_ifs: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        return cls(name=json["experiment"], base=WhatIf.of(json["base"]),
                   what_ifs=[WhatIf.of(one) for one in json["what_ifs"]], json=json)

    def __getitem__(self, name):
        return next(one for one in self.what_ifs if one.name == name)

    def frame(self):
        return _frame([_flat(one) for one in self.json["what_ifs"]])

    def _repr_html_(self):
        rows = [(one.name, seconds_text(one.duration_s) if one.completed else "not applicable",
                 "" if one.speedup is None else f"{one.speedup:.3f}x", one.costs) for one in self.what_ifs]
        return _table(("optimisation", "iteration", "speed-up", "costs"), rows, self.name)


@dataclass
class LoadedRates:
    """Samples/s with data that is always there, with all of it in memory, and as it is loaded."""
    name: str
    synthetic_samples_per_s: float
    cached_samples_per_s: float
    samples_per_s: float
    prep_stall: float
    fetch_stall: float
    cached_share: float

    of = classmethod(_of_same_names)


@dataclass
class StallsResult:
    """`base`: as it is; the stalls are shares of the time of training."""
    name: str
    base: LoadedRates
    what_ifs: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        return cls(name=json["experiment"], base=LoadedRates.of({"name": "as it is", **json["base"]}),
                   what_ifs=[LoadedRates.of(one) for one in json["what_ifs"]], json=json)

    def __getitem__(self, name):
        return next(one for one in self.what_ifs if one.name == name)

    def frame(self):
        return _frame([vars(one) for one in [self.base, *self.what_ifs]])

    def _repr_html_(self):
        rows = [(one.name, f"{one.samples_per_s:.4g}", f"{one.fetch_stall:.1%}", f"{one.prep_stall:.1%}")
                for one in [self.base, *self.what_ifs]]
        return _table(("", "samples/s", "fetch stall", "prep stall"), rows, self.name)


@dataclass
class PipelineChoice:
    """`width` pipelines of `depth` stages; `memory_bytes` of the fullest stage."""
    schedule: str
    recompute: bool
    width: int
    depth: int
    micro_batches: int
    batch_s: float
    samples_per_s: float
    memory_bytes: int
    fits: bool

    of = classmethod(_of_same_names)


@dataclass
class PipelineResult:
    """`choices`: the best first, those that do not fit last."""
    name: str
    choices: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        return cls(name=json["experiment"], choices=[PipelineChoice.of(one) for one in json["choices"]], json=json)

    def frame(self):
        return _frame(self.json["choices"])

    def _repr_html_(self):
        rows = [(one.schedule + (" + recompute" if one.recompute else ""), one.width, one.depth,
                 f"{one.samples_per_s:.4g}", bytes_text(one.memory_bytes), "yes" if one.fits else "no")
                for one in self.choices]
        return _table(("schedule", "width", "depth", "samples/s", "memory", "fits"), rows, self.name)


@dataclass
class AnalyseResult:
    """`views`: by name, lists of rows, each a dict."""
    workload: str
    views: dict
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        return cls(workload=json["workload"], views={view["view"]: view["rows"] for view in json["views"]}, json=json)

    def frame(self, view):
        return _frame(self.views[view])

    def _repr_html_(self):
        rows = [(view["view"], view.get("finding", ""), len(view["rows"])) for view in self.json["views"]]
        return _table(("view", "finding", "rows"), rows, self.workload)


@dataclass
class Value:
    """A value that was measured, and its prediction. Errors are relative."""
    family: str
    case: str
    name: str
    unit: str
    predicted: object
    measured: object
    error: float
    inside: bool

    @classmethod
    def of(cls, json):
        return cls(name=json["value"], **{name: json.get(name) for name in cls.__dataclass_fields__ if name != "name"})


@dataclass
class ValidateResult:
    median_error: float
    inside: int
    values: list
    json: dict = field(repr=False)

    @classmethod
    def of(cls, json):
        summary = json["summary"]
        return cls(median_error=summary["median_error"], inside=summary["inside"],
                   values=[Value.of(value) for value in json["values"]], json=json)

    def frame(self):
        return _frame([_flat(value) for value in self.json["values"]])

    def _repr_html_(self):
        rows = [(f["family"], f["title"], f["values"], "" if f["median_error"] is None else f"{f['median_error']:.1%}")
                for f in self.json["families"]]
        return _table(("family", "what was measured", "values", "median error"), rows)
