"""The Python package: it drives the program and gives typed answers.

usage: package_test.py UVMSIM SOURCE
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

UVMSIM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
del sys.argv[1:3]
os.environ["UVMSIM"] = UVMSIM
sys.path.insert(0, str(SOURCE / "python"))

import uvmsim
from uvmsim import results

SMALL = {"name": "small", "machine": {"extends": "machines/v100_sxm2_16gb.json"},
         "workload": {"generator": "vector_add", "mode": "thread", "elements": 1 << 18, "cpu_init": True,
                      "allocator": "none", "memory": "managed"},
         "run": {"warmup": 0, "iterations": 1}}


def printed(*arguments):
    return json.loads(subprocess.run([UVMSIM, *arguments, "--json"], capture_output=True, check=True).stdout)


class Answers(unittest.TestCase):
    def test_run_gives_what_the_program_prints(self):
        result = uvmsim.run("vector_add_v100")
        summary = printed("run", "vector_add_v100")["summary"]
        self.assertTrue(result.completed)
        self.assertEqual(result.name, "vector_add_v100")
        self.assertEqual(result.duration_s, summary["duration_s"])
        self.assertEqual(result.json["summary"], summary)
        self.assertLess(result.low_s, result.duration_s)
        self.assertGreater(result.high_s, result.duration_s)
        self.assertAlmostEqual(sum(result.time_split_s.values()), result.duration_s)
        self.assertIn("<caption>vector_add_v100</caption>", result._repr_html_())

    def test_a_dict_is_a_configuration(self):
        first, second = uvmsim.run(SMALL), uvmsim.run(SMALL, {"driver.uvm_perf_prefetch_enable": False})
        self.assertEqual(first.name, "small")
        self.assertGreater(second.duration_s, first.duration_s)

    def test_unknown_operands_give_no_slowdown(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "blind.uvmtrace"
            path.write_text('["M",{"v":1,"operands_status":"none"}]\n["A",1,1048576,0]\n["S",0,"k"]\n["I",0]\n'
                            '["K",0,0,1000,[]]\n["Y",-1]\n')
            result = uvmsim.run(str(path), {"run.warmup": 0, "run.iterations": 1})
            self.assertTrue(result.completed)
            self.assertFalse(result.known)
            self.assertIsNone(result.slowdown)
            self.assertIsNone(result.low_s)
            self.assertIn("unknown: ", result._repr_html_())
            with self.assertRaisesRegex(uvmsim.InputError, "nothing can be advised"):
                uvmsim.advise(str(path), budget_s=5)
        self.assertTrue(uvmsim.run(SMALL).known)

    def test_files_of_a_dict_are_relative_to_python(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([UVMSIM, "trace", "gen", "vector_add", "--set", "elements=1024", "--iterations", "1", "-o",
                            "small.uvmtrace"], cwd=folder, check=True)
            before = os.getcwd()
            os.chdir(folder)
            try:
                result = uvmsim.run({**SMALL, "workload": {"trace": "small.uvmtrace", "memory": "managed"}})
            finally:
                os.chdir(before)
        self.assertTrue(result.completed)

    def test_a_run_that_does_not_complete_is_a_result(self):
        result = uvmsim.run(SMALL, {"workload.memory": "device", "machine.gpu.usable_memory": "2 MiB"}, in_core=False)
        self.assertEqual(result.outcome, "out_of_memory")
        self.assertFalse(result.completed)
        self.assertIn("out_of_memory", result._repr_html_())

    def test_compare(self):
        result = uvmsim.compare(SMALL, ["default", "prefetch_off"])
        self.assertEqual([policy.name for policy in result.policies], ["default", "prefetch_off"])
        self.assertLess(result["prefetch_off"].speedup, 1)
        self.assertIn("prefetch_off", result._repr_html_())

    def test_sweep(self):
        result = uvmsim.sweep(SMALL, {"driver.uvm_perf_prefetch_threshold": [51, 100]})
        self.assertEqual([point.settings for point in result.points],
                         [{"driver.uvm_perf_prefetch_threshold": 51}, {"driver.uvm_perf_prefetch_threshold": 100}])
        self.assertGreater(result.points[1].duration_s, result.points[0].duration_s)
        self.assertIn("driver.uvm_perf_prefetch_threshold", result._repr_html_())

    # 48 of the talk fit; 98 do not (README, "What fits").
    def test_fit(self):
        result = uvmsim.fit("v100_dgx1")
        self.assertEqual((result.fits[0].fits, result.fits[0].batch, result.fits[0].largest_batch), (False, 98, 48))
        self.assertIn("torch_1_0", result._repr_html_())

    def test_plan_and_run_under_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "plan.json")
            settings = {"workload.batch": 32, "machine.gpu.usable_memory": "2.5 GB"}
            plan = uvmsim.plan("swap_resnet50_v100", settings, output=file)
            self.assertEqual(plan.json, json.loads(pathlib.Path(file).read_text()))
            self.assertTrue(uvmsim.run("swap_resnet50_v100", settings, plan=file, in_core=False).completed)

    # Two arrays and their sum of 1 MiB each on 16 GB.
    def test_advise(self):
        result = uvmsim.advise(SMALL, budget_s=30)
        self.assertTrue(result.fits)
        self.assertGreater(result.usable_bytes, result.need_bytes)
        self.assertIn("cudaMalloc", [trial.name for trial in result.trials])
        self.assertIn("fits", result._repr_html_())

    # Kernels of mixed precision are two or three times as fast as they are.
    def test_whatif(self):
        result = uvmsim.whatif("resnet50", {"workload.batch": 16})
        self.assertGreater(result["amp"].speedup, 1.5)
        self.assertFalse(result["gradient_compression"].applies)
        self.assertIn("amp", result._repr_html_())

    # The bundled server waits for its cores: 24 of them prepare 6480 images per second.
    def test_stalls(self):
        result = uvmsim.stalls("data_loading_v100", {"data.cache": "minio"})
        self.assertLess(result.base.samples_per_s, 6480.001)
        self.assertGreater(result["twice the cores"].samples_per_s, result.base.samples_per_s)
        self.assertIn("twice the cores", result._repr_html_())

    # Of two GPUs: one pipeline of two stages, or two replicas.
    def test_pipeline(self):
        result = uvmsim.pipeline("resnet50", {"machine": "v100_pcie_x4_single_root", "workload.batch": 8}, gpus=2)
        self.assertEqual({choice.width * choice.depth for choice in result.choices}, {2})
        self.assertTrue(result.choices[0].fits)
        self.assertIn("1f1b", result._repr_html_())

    def test_analyse(self):
        result = uvmsim.analyse("squeezenet1_1", {"workload.batch": 2}, views=["block_sizes", "layers"])
        self.assertEqual(list(result.views), ["block_sizes", "layers"])
        self.assertGreater(len(result.views["layers"]), 10)
        self.assertIn("block_sizes", result._repr_html_())

    def test_validate(self):
        result = uvmsim.validate(SOURCE / "validation" / "cases" / "dli_counts.json")
        self.assertEqual(result.inside, len(result.values))
        self.assertEqual({value.family for value in result.values}, {"dli_counts"})
        self.assertIn("dli_counts", result._repr_html_())

    def test_frames_need_pandas(self):
        result = uvmsim.run(SMALL)
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pandas"):
                result.frame()
        else:
            self.assertEqual(len(result.frame()), 1)
            self.assertIsInstance(result.frame(), pandas.DataFrame)


class Texts(unittest.TestCase):
    def test_quantities(self):
        self.assertEqual(results.seconds_text(0.0123456), "12.35 ms")
        self.assertEqual(results.bytes_text(3_000_000_000), "3 GB")

    def test_html_is_escaped(self):
        self.assertIn("&lt;b&gt;", results._table(("a",), [("<b>",)]))


class Faults(unittest.TestCase):
    def test_every_fault_with_its_place(self):
        with self.assertRaises(uvmsim.InputError) as caught:
            uvmsim.run({**SMALL, "foo": 1}, {"driver.uvm_perf_prefetch_threshold": 510})
        self.assertEqual(caught.exception.faults,
                         [uvmsim.Fault("/foo", "unknown key"),
                          uvmsim.Fault("/driver/uvm_perf_prefetch_threshold (--set)", "510 is outside 0..100 %")])
        self.assertEqual(caught.exception.exit_code, 2)

    # A setting that cannot be made hides no other fault; an option and what it sets are a place.
    def test_a_machine_that_is_not_there_hides_nothing(self):
        with self.assertRaises(uvmsim.InputError) as caught:
            uvmsim.run("vector_add_v100", {"machine": "a100_40g", "workload.elementz": 3})
        self.assertEqual([fault.place for fault in caught.exception.faults],
                         ["--set machine", "/workload/elementz (--set)"])

    def test_no_such_config(self):
        with self.assertRaises(uvmsim.InputError) as caught:
            uvmsim.run("v100_dgx")
        self.assertEqual(caught.exception.faults,
                         [uvmsim.Fault("v100_dgx", "no such file, configuration or generator; did you mean \"v100_dgx1\"?")])

    def test_no_program(self):
        before = os.environ.pop("UVMSIM"), os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        try:
            # Away from the source tree, which may have one.
            here, uvmsim.program.__file__ = uvmsim.program.__file__, "/nowhere/a/b/c/d/e/program.py"
            with self.assertRaisesRegex(uvmsim.Error, "not installed"):
                uvmsim.run(SMALL)
        finally:
            os.environ["UVMSIM"], os.environ["PATH"] = before
            uvmsim.program.__file__ = here


class Running(unittest.TestCase):
    def test_progress_is_streamed(self):
        said = []
        uvmsim.sweep(SMALL, {"driver.uvm_perf_prefetch_threshold": [51, 60, 70, 80]}, {"workload.elements": 1 << 23},
                     jobs=1, progress=said.append)
        self.assertTrue(any("/4 points" in line for line in said), said)

    def test_faults_are_read_with_progress_too(self):
        with self.assertRaises(uvmsim.InputError) as caught:
            uvmsim.run("v100_dgx", progress=lambda line: None)
        self.assertEqual(caught.exception.faults[0].place, "v100_dgx")

    # The run takes minutes; its first progress comes after a second.
    def test_an_interrupt_ends_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            code = ("import sys; sys.path.insert(0, sys.argv[1]); import uvmsim\n"
                    "uvmsim.run('v100_dgx1', output=sys.argv[2], progress=lambda line: print('runs', flush=True))\n")
            child = subprocess.Popen([sys.executable, "-B", "-c", code, str(SOURCE / "python"), folder + "/out"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(child.stdout.readline(), b"runs\n")
            self.assertNotEqual(self.programs(folder), [])
            child.send_signal(signal.SIGINT)
            self.assertIn(b"KeyboardInterrupt", child.communicate()[1])
            while self.programs(folder):  # or the test runs out of its time
                time.sleep(0.05)

    @staticmethod
    def programs(folder):
        """The programs that write below `folder`."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                arguments = (process / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if arguments[0] == UVMSIM and folder + "/out" in arguments:
                found.append(process.name)
        return found


class Notebook(unittest.TestCase):
    """python/question.ipynb, cell by cell, as Jupyter runs it."""

    def test_it_answers_its_question(self):
        try:
            import matplotlib
            matplotlib.use("Agg")
        except ImportError:
            matplotlib = None
        names = {}
        cells = json.loads((SOURCE / "python" / "question.ipynb").read_text())["cells"]
        for cell in cells:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code" and (matplotlib or "matplotlib" not in text):
                exec(text, names)
        # More of what is missing costs more, and none of it nothing.
        slowdowns = [point.slowdown for point in names["grid"].points]
        self.assertAlmostEqual(slowdowns[0], 1, delta=0.01)
        self.assertEqual(slowdowns, sorted(slowdowns))
        self.assertGreater(slowdowns[2], 2)
        self.assertAlmostEqual(names["result"].slowdown, slowdowns[2])
        self.assertLess(names["policies"]["prefetch_off"].speedup, 1)
        if matplotlib:
            self.assertEqual(len(names["axes"].patches), 3)


class Wheel(unittest.TestCase):
    def test_it_has_the_package_and_runs_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            built = subprocess.run([sys.executable, "-B", SOURCE / "python" / "build_wheel.py", folder],
                                   capture_output=True, text=True, check=True)
            wheel = os.path.join(folder, built.stdout.strip())
            names = set(zipfile.ZipFile(wheel).namelist())
            self.assertTrue({"uvmsim/__init__.py", "uvmsim/torch_recorder.py", "uvmcap_torch.py",
                             "uvmsim-0.1.0.dist-info/RECORD"} <= names)
            code = "import uvmsim; print(uvmsim.__file__, uvmsim.fit('v100_dgx1').fits[0].largest_batch)"
            ran = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {wheel!r}); {code}"],
                                 capture_output=True, text=True, check=True, cwd=folder)
            self.assertEqual(ran.stdout.split(), [wheel + "/uvmsim/__init__.py", "48"])


if __name__ == "__main__":
    unittest.main()
