"""check_tidy.py on a repository whose files have a fault each."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FAULT = "namespace {}\nusing namespace std;\n"


@unittest.skipUnless(shutil.which("clang-tidy") and shutil.which("git"), "needs clang-tidy and git")
class CheckTidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        (self.root / "sim").mkdir()
        shutil.copy(HERE.parent.parent / ".clang-tidy", self.root)
        self.write("old.cpp", FAULT)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        (self.root / "sim" / name).write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "a")

    def run_check(self, **environment):
        return subprocess.run([sys.executable, "-B", HERE / "check_tidy.py", self.root], capture_output=True, text=True,
                              check=False, env={**os.environ, **environment})

    def test_what_changed_is_looked_at_and_nothing_else(self):
        self.write("new.h", "int next(int n) { return n + 1; }\n")
        self.commit()
        ran = self.run_check()
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("looked at 1 of 1 files", ran.stdout)
        self.write("added.cpp", FAULT)  # not committed
        ran = self.run_check()
        self.assertEqual(ran.returncode, 1)
        self.assertIn("added.cpp:2:1", ran.stdout)
        self.assertIn("google-build-using-namespace", ran.stdout)
        self.assertNotIn("old.cpp", ran.stdout)

    def test_without_history_or_clang_tidy_it_is_skipped(self):
        self.assertEqual(self.run_check().returncode, 77)
        self.assertEqual(self.run_check(PATH="/nonexistent").returncode, 77)


if __name__ == "__main__":
    unittest.main()
