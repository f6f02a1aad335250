"""uvmcap_torch.py on a CPU. Skipped (77) where no PyTorch is installed (Debian: python3-torch)."""
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import unittest

DEBIAN_PYTHON = "/usr/bin/python3"
if importlib.util.find_spec("torch") is None:
    if sys.executable != DEBIAN_PYTHON and os.path.exists(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, "-B", *sys.argv])
    print("skipped: PyTorch is not installed")
    sys.exit(77)

import torch

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "capture"))
import uvmcap_torch


def recorded(program, module=None, optimizer=None):
    """The lines of what `program(recorder)` did, strings resolved."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.jsonl")
        with uvmcap_torch.record(path, module, optimizer) as recorder:
            program(recorder)
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    strings = {}
    for line in lines:
        if line["k"] == "str":
            strings[line["i"]] = line["s"]
        elif "n" in line:
            line["n"] = strings[line["n"]]
    return lines


def of_kind(lines, kind):
    return [line for line in lines if line["k"] == kind]


def op(lines, name):
    found = [line for line in of_kind(lines, "op") if line["n"] == name]
    assert len(found) == 1, (name, [line["n"] for line in of_kind(lines, "op")])
    return found[0]


class Operators(unittest.TestCase):
    # 4 x 8 times 8 x 2 floats: 128 and 64 bytes in, 32 out.
    def test_a_product_reads_its_factors_and_writes_a_new_tensor(self):
        a, b = torch.ones(4, 8), torch.ones(8, 2)
        keep = []
        mm = op(recorded(lambda _: keep.append(torch.mm(a, b))), "aten.mm.default")
        self.assertEqual([access[1:] for access in mm["r"]], [[0, 128], [0, 64]])
        self.assertEqual([access[1:] for access in mm["w"]], [[0, 32]])
        self.assertEqual(len({access[0] for access in mm["r"] + mm["w"]}), 3)

    def test_in_place_reads_and_writes_one_tensor_once(self):
        a = torch.ones(4)
        add = op(recorded(lambda _: a.add_(1)), "aten.add_.Tensor")
        self.assertEqual(add["r"], add["w"])
        self.assertEqual(len(add["r"]), 1)

    def test_overwriting_does_not_read(self):
        a, b = torch.ones(4), torch.ones(4)
        lines = recorded(lambda _: (a.zero_(), a.copy_(b), torch.add(b, b, out=a)))
        self.assertEqual(op(lines, "aten.zero_.default")["r"], [])
        copy, add = op(lines, "aten.copy_.default"), op(lines, "aten.add.out")
        for each in (copy, add):
            self.assertEqual(len(each["r"]), 1)
            self.assertNotEqual(each["r"][0][0], each["w"][0][0])

    # Column 1 of 4 x 8 floats: from byte 4, 3 rows of 32 bytes and an element.
    def test_a_view_is_a_range_of_its_storage(self):
        a = torch.ones(4, 8)
        lines = recorded(lambda _: a[:, 1].mul_(2))
        self.assertEqual([line["n"] for line in of_kind(lines, "op")], ["aten.mul_.Tensor"])
        self.assertEqual(op(lines, "aten.mul_.Tensor")["w"][0][1:], [4, 3 * 32 + 4])
        self.assertEqual([line["bytes"] for line in of_kind(lines, "tensor")], [128])

    def test_a_list_of_tensors_is_read_whole(self):
        parts = [torch.ones(2), torch.ones(3)]
        cat = op(recorded(lambda _: torch.cat(parts)), "aten.cat.default")
        self.assertEqual([access[2] for access in cat["r"]], [8, 12])
        self.assertEqual(cat["w"][0][2], 20)

    def test_a_list_of_results_is_written_whole(self):
        parts, keep = [torch.ones(2), torch.ones(3)], []
        add = op(recorded(lambda _: keep.append(torch._foreach_add(parts, 1))), "aten._foreach_add.Scalar")
        self.assertEqual([access[2] for access in add["w"]], [8, 12])
        self.assertEqual(len({access[0] for access in add["r"] + add["w"]}), 4)

    def test_empty_allocates_without_writing(self):
        lines = recorded(lambda _: torch.empty_like(torch.empty(4)).fill_(1))
        self.assertEqual([line["n"] for line in of_kind(lines, "op")], ["aten.fill_.Scalar"])
        self.assertEqual(len(of_kind(lines, "tensor")), 2)

    def test_a_reused_address_is_another_tensor(self):
        def program(_):
            for _ in range(3):
                torch.ones(1 << 16).add(1)
        lines = recorded(program)
        ids = [line["id"] for line in of_kind(lines, "tensor")]
        self.assertEqual(len(ids), 6)
        self.assertEqual(sorted(line["id"] for line in of_kind(lines, "gone")), sorted(ids))

    def test_batch_norm_writes_its_statistics_only_while_training(self):
        norm = torch.nn.BatchNorm1d(4, affine=False, track_running_stats=True)
        name = "aten.native_batch_norm.default"
        counts = {}
        for training in (True, False):
            norm.train(training)
            lines = recorded(lambda _: norm(torch.ones(8, 4)), norm)
            buffers = {line["id"] for line in of_kind(lines, "kind") if line["is"] == "buffer"}
            norms = [line for line in of_kind(lines, "op") if "batch_norm" in line["n"]]
            counts[training] = len(buffers & {access[0] for line in norms for access in line["w"]})
        self.assertEqual(counts, {True: 2, False: 0}, name)

    # Of 3 x 3, ones on the diagonal: 2 x 3 indices of 8 bytes and 3 floats. The other factor: 9 floats.
    def test_a_sparse_tensor_is_its_indices_and_its_values(self):
        sparse, dense = torch.eye(3).to_sparse(), torch.ones(3, 3)
        lines = recorded(lambda _: torch.sparse.mm(sparse, dense))
        read = {access[2] for line in of_kind(lines, "op") for access in line["r"]}
        self.assertLessEqual({48, 12, 36}, read)
        self.assertEqual(of_kind(lines, "note"), [])

    # 4 x 8 floats and, transposed, 2 x 8: both lie in rows of 8; what comes out has rows of 2.
    def test_an_operand_has_a_shape(self):
        a, b = torch.ones(4, 8), torch.ones(2, 8)
        lines = recorded(lambda _: torch.mm(a, b.t()))
        shapes = {line["i"]: (line["item"], line["size"], line["stride"]) for line in of_kind(lines, "shape")}
        self.assertEqual([shapes[i] for i in op(lines, "aten.mm.default")["s"]],
                         [(4, [4, 8], [8, 1]), (4, [8, 2], [1, 8]), (4, [4, 2], [2, 1])])


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def program(recorder):
            for _ in range(2):
                recorder.iteration()
                optimizer.zero_grad()
                model(torch.ones(32, 8)).sum().backward()
                optimizer.step()
        cls.step = optimizer.step
        cls.lines = recorded(program, model, optimizer)
        cls.optimizer = optimizer

    def test_names_phases_and_iterations(self):
        order = [line.get("n", line.get("i")) for line in self.lines if line["k"] in ("phase", "iteration")]
        self.assertEqual([each for each in order if each != "other"], [0, "forward", "backward", "optimizer",
                                                                       1, "forward", "backward", "optimizer"])

    def test_names_layers_of_the_forward_pass(self):
        layers, phase, layer = [], "", ""
        for line in self.lines:
            phase = line["n"] if line["k"] == "phase" else phase
            layer = line["n"] if line["k"] == "layer" else layer
            if line["k"] == "op" and phase == "forward":
                layers.append((layer, line["n"]))
        self.assertEqual(layers[:len(layers) // 2], [("0", "aten.addmm.default"), ("1", "aten.relu.default"),
                                                     ("2", "aten.addmm.default")])

    def test_names_kinds(self):
        last = {}
        for line in of_kind(self.lines, "kind"):
            last[line["id"]] = line["is"]
        kinds = list(last.values())
        # 2 weights and 2 biases, as many momentum buffers; the gradients are kept by zero_grad or made anew.
        self.assertEqual(kinds.count("parameter"), 4)
        self.assertEqual(kinds.count("optimizer"), 4)
        self.assertGreaterEqual(kinds.count("gradient"), 4)
        self.assertGreaterEqual(kinds.count("activation"), 6)

    def test_every_access_is_to_a_live_tensor_and_inside_it(self):
        live = {}
        for line in self.lines:
            if line["k"] == "tensor":
                self.assertNotIn(line["id"], live)
                live[line["id"]] = line["bytes"]
            elif line["k"] == "gone":
                del live[line["id"]]
            elif line["k"] == "op":
                for tensor, offset, length in line["r"] + line["w"]:
                    self.assertGreater(length, 0)
                    self.assertLessEqual(offset + length, live[tensor])

    def test_ids_ascend_and_the_end_counts(self):
        ids = [line["id"] for line in of_kind(self.lines, "op")]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(self.lines[-1]["k"], "end")
        self.assertGreaterEqual(self.lines[-1]["ops"], ids[-1])

    def test_leaves_the_program_as_it_was(self):
        self.assertEqual(self.optimizer.step.__func__, self.step.__func__)
        self.assertEqual(torch.autograd.backward.__module__, "torch.autograd")


class Failures(unittest.TestCase):
    def test_a_failing_program_leaves_a_whole_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.jsonl")
            with self.assertRaises(ValueError):
                with uvmcap_torch.record(path):
                    torch.ones(2)
                    raise ValueError("mine")
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        self.assertEqual([line["k"] for line in lines[-2:]], ["note", "end"])
        self.assertIn("ValueError: mine", lines[-2]["text"])

    def test_compiled_models_are_refused(self):
        model = torch.nn.Linear(2, 2)
        model._orig_mod = model.weight  # what torch.compile leaves
        with self.assertRaisesRegex(RuntimeError, "torch.compile"):
            uvmcap_torch.record("never.jsonl", model)


if __name__ == "__main__":
    unittest.main()
