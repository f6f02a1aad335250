"""Each rule of check_layers.py, broken once."""
import tempfile
import unittest
from pathlib import Path

import check_layers


def faults(files):
    """What the checker says of a source tree with these files, as "path:line: what"."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        found = [*check_layers.layer_faults(root), *check_layers.type_faults(root), *check_layers.file_faults(root)]
        return [f"{path.relative_to(root)}:{line}: {what}" for path, line, what in found]


class CheckLayers(unittest.TestCase):
    def test_a_folder_includes_what_stands_to_its_left_and_itself(self):
        self.assertEqual(faults({"sim/uvm/a.cpp": '#include "uvm/a.h"\n#include "base/units.h"\n#include "gpu/b.h"\n'}), [])

    def test_a_folder_does_not_include_what_stands_to_its_right(self):
        self.assertEqual(faults({"sim/gpu/a.cpp": '\n#include "uvm/a.h"\n'}), ["sim/gpu/a.cpp:2: gpu/ may not include uvm/"])

    def test_siblings_do_not_include_each_other(self):
        self.assertEqual(faults({"sim/trace/a.h": '#include "machine/a.h"\n'}),
                         ["sim/trace/a.h:1: trace/ may not include machine/"])

    def test_every_folder_is_a_layer(self):
        self.assertEqual(faults({"sim/util/a.h": "\n"}), ["sim/util/a.h:1: util/ is no layer"])

    def test_only_one_folder_includes_simgrid(self):
        line = "#include <simgrid/s4u.hpp>\n"
        self.assertEqual(faults({"sim/engine/simgrid/a.cpp": line}), [])
        self.assertEqual(faults({"sim/engine/a.cpp": line}), ["sim/engine/a.cpp:1: only engine/simgrid/ may include SimGrid"])

    def test_the_core_is_pure(self):
        for line in ("#include <fstream>", "#include <random>", "auto t = std::chrono::steady_clock::now();",
                     "#include <istream>", "srand(time(NULL));"):
            self.assertEqual(faults({"sim/uvm/a.cpp": line + "\n"}), [f"sim/uvm/a.cpp:1: uvm/ is pure: {line}"])
            self.assertEqual(faults({"sim/study/a.cpp": line + "\n"}), [])

    def test_the_trace_reader_may_use_files_and_no_clock(self):
        self.assertEqual(faults({"sim/trace/reader.cpp": "#include <fstream>\n#include <istream>\n"}), [])
        self.assertEqual(faults({"sim/trace/info.cpp": "#include <fstream>\n"}),
                         ["sim/trace/info.cpp:1: trace/ is pure: #include <fstream>"])
        self.assertEqual(faults({"sim/trace/reader.cpp": "#include <ctime>\n"}),
                         ["sim/trace/reader.cpp:1: trace/ is pure: #include <ctime>"])

    def test_a_type_name_is_defined_once_in_a_namespace(self):
        one = "namespace uvmsim {\nstruct Life {\n};\n}  // namespace uvmsim\n"
        self.assertEqual(faults({"sim/plan/a.h": one, "sim/observe/b.h": one}),
                         ["sim/plan/a.h:2: uvmsim::Life is defined at sim/observe/b.h:2, too"])
        elsewhere = one.replace("uvmsim", "uvmsim::op")
        own = "namespace uvmsim {\nnamespace {\nstruct Life {\n};\n}  // namespace\n}  // namespace uvmsim\n"
        declared = "namespace uvmsim {\nstruct Life;\n}  // namespace uvmsim\n"
        self.assertEqual(faults({"sim/plan/a.h": one, "sim/gpu/a.h": elsewhere, "sim/gpu/b.cpp": own,
                                 "sim/gpu/c.h": declared}), [])

    def test_files_are_short(self):
        self.assertEqual(faults({"sim/gpu/a.cpp": "\n" * 500}), [])
        self.assertEqual(faults({"sim/gpu/a.cpp": "\n" * 501}), ["sim/gpu/a.cpp:501: more than 500 lines"])

    def test_nothing_is_left_unfinished(self):
        self.assertEqual(faults({"docs/a.md": "x\nTO" "DO: y\n"}), ["docs/a.md:2: unfinished: TO" "DO"])

    def test_no_path_of_one_machine(self):
        self.assertEqual(faults({"a.py": 'open("/ho' 'me/me/x")\n'}), ["a.py:1: a path of one machine: /ho" "me/m"])
        self.assertEqual(faults({"a.md": "see docs/home/x and ./work/y\n"}), [])

    def test_no_package_registry(self):
        self.assertEqual(faults({"a.sh": "pip install -i https://py" "pi.org/simple x\n"}),
                         ["a.sh:1: a package registry: py" "pi.org"])

    def test_binary_files_and_build_folders_are_passed_over(self):
        self.assertEqual(faults({"traces/a.zst": b"\xff\xfe TO" b"DO", "build/a.txt": "FIX" "ME", ".git/a": "X" "XX"}), [])


if __name__ == "__main__":
    unittest.main()
