"""Random experiments from outside: whatever a user asks for, results hold together.

usage: random_experiments_test.py UVMSIM [--experiments N] [--seed S]

Each experiment draws a program, a machine, its GPUs and memory, driver parameters, a policy of configs/policies and a
planner, and runs the installed program on them:

* with room it completes; with less memory or a plan it may say why it cannot (exit 2 or 4), and never fails by a fault
  of its own (exit 5, signals);
* no time, count or byte is negative, and the causes of time add up to the iteration;
* nothing is evicted where everything fits, under any bundled policy, and nothing moves where nothing is managed;
* the same bytes come out in another time zone and locale, and of `compare` with any -j;
* kernels that neither fault nor reach remote memory take what they were recorded with, as on explicit memory;
* from the first touch on, a larger batch that reserves no less memory takes no less time;
* more memory moves no more bytes and takes no more time, beyond what is allowed below.

A failure prints the command that repeats it. 60 experiments take about 170 s of processor time, 85 s on two idle cores.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

# A program that goes through more than fits, iteration after iteration, finds as little under LRU with a quarter more
# memory: what it moves stays, and how faults meet in batches, which has no reason to get better, decides about the time.
MORE_BYTES, MORE_TIME = 0.15, 0.25

BATCHES = {
    "alexnet": (4, 32), "squeezenet1_1": (2, 12), "mobilenet_v2": (2, 8), "resnet50": (1, 6), "vgg11": (1, 8),
    "resnet_cifar": (16, 64), "googlenet": (2, 16), "nin": (4, 24), "dcgan": (8, 64), "unet": (1, 1), "bert_base": (1, 2),
    "gpt2": (1, 1), "dlrm": (32, 512), "word_language_model": (2, 8),
}
MICRO = {
    "vector_add": {"elements": [3 << 20, 10 << 20]}, "stream_triad": {"elements": [3 << 20, 16 << 20]},
    "first_touch": {"size": ["16 MiB", "64 MiB"]}, "repeated_read": {"size": ["48 MiB", "100 MiB"]},
    "chunk_stream": {"size": ["64 MiB", "130 MiB"]}, "pointer_chase": {"size": ["64 MiB"], "stride": ["4 KiB", "2 MiB"]},
}
POLICIES = pathlib.Path(__file__).resolve().parents[2] / "configs/policies"
MACHINES = ["v100_sxm2_16gb", "v100_pcie_32gb", "titan_v", "gtx1080ti", "a100_40gb", "rtx3080", "t4", "p100_pcie_16gb",
            "h200", "dgx1_v100_16gb", "v100_pcie_x4_single_root", "gtx1080ti_x4"]
DRIVER = [
    {}, {}, {}, {"uvm_perf_prefetch_threshold": 5}, {"uvm_perf_prefetch_enable": False},
    {"uvm_perf_fault_batch_count": 64}, {"uvm_perf_fault_replay_policy": 0}, {"uvm_perf_fault_replay_policy": 1},
    {"uvm_perf_fault_replay_policy": 3}, {"version": "580.82.07"}, {"version": "470.82.01"},
]
PLANNERS = ["vdnn", "autoswap", "chen_sqrt_n", "capuchin", "superneurons", "tmo_like_online", "zero_offload", "lms_like"]


class Failure(Exception):
    pass


def duration(result):
    return result["summary"]["duration_s"]


def reserved(result):
    return result["summary"]["reserved_bytes"]


def moved(result):
    totals = result["summary"]["totals"]
    return totals["h2d_bytes"] + totals["d2h_bytes"] + totals["peer_bytes"]


class Experiment:
    def __init__(self, program, folder, seed):
        self.program, self.folder, self.seed = program, folder, seed
        self.draw = random.Random(seed)

    def config(self, changes):
        workload = dict(self.workload)
        machine = {"extends": f"machines/{self.machine}.json", "gpus": self.gpus}
        if "batch" in changes:
            workload["batch"] = changes["batch"]
        if "memory" in changes:
            machine["gpu"] = {"memory": f"{changes['memory']} B", "usable_memory": f"{changes['memory']} B"}
        if changes.get("explicit"):
            workload["memory"] = "device"
        config = {"machine": machine, "driver": self.driver, "workload": workload,
                  "run": {"warmup": self.warmup, "iterations": 2}}
        if changes.get("planner"):
            workload["memory"] = "device"
            config["plan"] = {"planner": changes["planner"]}
        return config

    def write(self, changes):
        path = os.path.join(self.folder, f"{self.seed}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.config(changes), file)
        return path

    # The result of the experiment with changes, of two iterations (buffers may trade places every other one); None where the program says that there is none.
    def run(self, environment=None, **changes):
        path = self.write(changes)
        settings = [part for setting in changes.get("settings", ()) for part in ("--set", setting)]
        ran = subprocess.run([self.program, "run", path, "--json", *settings], capture_output=True, check=False, timeout=120,
                             env={**os.environ, **(environment or {})})
        if ran.returncode in (2, 4) and changes:
            if not ran.stderr.strip() and not ran.stdout.strip():
                raise Failure(f"exit {ran.returncode} without a word")
            return None
        if ran.returncode != 0:
            raise Failure(f"exit {ran.returncode}: {ran.stderr.decode(errors='replace')[:500]}")
        result = json.loads(ran.stdout)
        self.check(result)
        return result

    def check(self, result):
        def numbers(value, place):
            if isinstance(value, dict):
                for key, inner in value.items():
                    numbers(inner, f"{place}/{key}")
            elif isinstance(value, list):
                for i, inner in enumerate(value):
                    numbers(inner, f"{place}/{i}")
            elif isinstance(value, (int, float)) and value < 0:
                raise Failure(f"{place} is {value}")

        for key in ("summary", "links"):
            numbers(result[key], f"/{key}")
        for gpu in result["summary"]["gpus"]:
            parts, whole = sum(gpu["time_split_s"].values()), gpu["duration_s"]
            if abs(parts - whole) > 1e-9 * max(whole, 1e-3):
                raise Failure(f"{gpu['name']}: the causes add up to {parts} s of {whole} s")

    def go(self):
        name = self.draw.choice(list(BATCHES) + list(MICRO))
        self.machine = self.draw.choice(MACHINES)
        self.gpus = 1 if self.draw.random() < 0.7 or name in MICRO else 2
        if not any(self.machine.startswith(many) for many in ("dgx1", "v100_pcie_x4", "gtx1080ti_x4")):
            self.gpus = 1
        self.driver = self.draw.choice(DRIVER)
        self.warmup = self.draw.choice([0, 1])
        self.workload = {"generator": name}
        if name in BATCHES:
            self.workload["batch"] = self.draw.randint(*BATCHES[name])
        else:
            for key, values in MICRO[name].items():
                self.workload[key] = self.draw.choice(values)
        roomy = self.run()
        needed = reserved(roomy) or roomy["summary"]["peak_live_bytes"]
        if roomy["summary"]["totals"]["evicted_bytes"] != 0:
            raise Failure("something was evicted from a card that has room")
        self.tell_apart(roomy, self.run({"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"}))
        self.compute_as_recorded(roomy)
        self.compare_in_parallel()
        self.follow_policy(needed)
        self.oversubscribe(needed)
        self.plan(needed)
        self.grow(roomy)

    def tell_apart(self, first, second):
        for result in (first, second):
            del result["run"]["host"]
        if first != second:
            raise Failure("another time zone or locale gives another result")

    def compute_as_recorded(self, roomy):
        totals = roomy["summary"]["totals"]
        explicit = self.run(explicit=True)
        if explicit is None or totals["fault_batches"] + totals["remote_bytes"] > 0:
            return
        took, recorded = (result["summary"]["totals"]["time_split_s"]["compute_s"] for result in (roomy, explicit))
        if abs(took - recorded) > 1e-9 * recorded:
            raise Failure(f"kernels in core take {took} s, on explicit memory {recorded} s")

    def compare_in_parallel(self):
        if self.seed % 20 != 0:
            return
        path = self.write({})
        outputs = {subprocess.run([self.program, "compare", path, "--policies", "default,threshold_5", "--json", "--quiet", "-j",
                                   str(jobs)], capture_output=True, check=False, timeout=120).stdout for jobs in (1, 3)}
        if len(outputs) != 1:
            raise Failure("compare -j 1 and -j 3 differ")

    def follow_policy(self, needed):
        policy = self.draw.choice(sorted(POLICIES.glob("*.json")))
        settings = [f"{key}={json.dumps(value)}" for key, value in json.loads(policy.read_text())["set"].items()]
        roomy = self.run(settings=settings)
        if roomy is not None and roomy["summary"]["totals"]["evicted_bytes"] != 0:
            raise Failure(f"{policy.stem} evicts from a card that has room")
        self.run(settings=settings, memory=max(int(needed * self.draw.uniform(0.5, 1.1)), 48 << 20))

    def oversubscribe(self, needed):
        page = 2 << 20
        memory = max(int(needed * self.draw.uniform(0.5, 1.1)) // page, 24) * page
        tight, wider = self.run(memory=memory), self.run(memory=memory + max(memory // 4 // page, 8) * page)
        if tight is None or wider is None:
            return
        for what, allowed, of in (("moves {} bytes", MORE_BYTES, moved), ("takes {} s", MORE_TIME, duration)):
            if of(wider) > of(tight) * (1 + allowed):
                raise Failure(f"{memory} bytes: it {what.format(of(tight))}, with a quarter more {of(wider)}")

    def plan(self, needed):
        if self.workload["generator"] not in BATCHES or self.draw.random() < 0.5:
            return
        result = self.run(memory=int(needed * self.draw.uniform(0.7, 1.1)), planner=self.draw.choice(PLANNERS))
        if result is not None and result["summary"]["totals"]["fault_batches"] + result["summary"]["totals"]["evicted_bytes"] != 0:
            raise Failure("explicit memory faulted")

    def grow(self, roomy):
        # A later iteration touches for the first time what the allocator had not touched before: more or less of it.
        if "batch" not in self.workload or self.warmup > 0:
            return
        twice = self.run(batch=2 * self.workload["batch"])
        # A caching allocator may find room for the larger batch's tensors in fewer segments: fewer pages to touch.
        if twice is None or reserved(twice) < reserved(roomy):
            return
        if duration(twice) < duration(roomy):
            raise Failure("twice the batch takes less time")


def attempt(program, folder, seed):
    experiment = Experiment(program, folder, seed)
    try:
        experiment.go()
    except (Failure, subprocess.TimeoutExpired) as failure:
        return f"seed {seed} ({getattr(experiment, 'workload', '')} on {getattr(experiment, 'machine', '')}): {failure}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--experiments", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.experiments)
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [f for f in pool.map(lambda seed: attempt(arguments.program, folder, seed), seeds) if f]
    for failure in failures:
        print(failure)
        print(f"  repeat: {sys.argv[0]} {arguments.program} --experiments 1 --seed {failure.split()[1]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(failures)} of {len(seeds)} experiments failed, {used.ru_utime + used.ru_stime:.0f} s of processor time")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
