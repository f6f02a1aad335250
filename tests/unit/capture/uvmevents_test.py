"""libuvmevents.so in a program that never uses a GPU: uvmevents_test.py LIBRARY"""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY = sys.argv.pop()
NOTHING = "# uvmevents 1\n# end, dropped 0, never attached\n"


class UvmEvents(unittest.TestCase):
    def run_with(self, out):
        environment = {**os.environ, "LD_PRELOAD": LIBRARY}
        environment.pop("UVMEVENTS_OUT", None)
        if out:
            environment["UVMEVENTS_OUT"] = str(out)
        # The program starts another and forks: only the first is recorded.
        program = "import os, subprocess; subprocess.run(['true']); os.fork() and os.wait()"
        return subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True,
                              text=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_plain_file_says_that_nothing_was_attached(self):
        self.run_with(self.folder / "a.csv")
        self.assertEqual((self.folder / "a.csv").read_text(), NOTHING)

    def test_a_name_that_ends_in_gz_is_compressed(self):
        self.run_with(self.folder / "a.csv.gz")
        self.assertEqual(gzip.open(self.folder / "a.csv.gz", "rt").read(), NOTHING)

    def test_without_a_name_nothing_is_written(self):
        self.run_with(None)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_file_that_cannot_be_written_is_named_and_does_not_stop_the_program(self):
        told = self.run_with(self.folder / "no" / "a.csv").stderr
        self.assertEqual(told, f"uvmevents: {self.folder}/no/a.csv: No such file or directory\n")


if __name__ == "__main__":
    unittest.main()
