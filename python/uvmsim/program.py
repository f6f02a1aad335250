"""Runs the installed program `uvmsim`: there is no second engine."""
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from uvmsim.errors import Error, InputError

# Exit statuses after which there is a result: done, a check that did not hold, a run that did not complete.
_WITH_RESULT = (0, 1, 4)


def find():
    """The program: $UVMSIM, or what belongs to this package, or one of $PATH. Raises Error when there is none."""
    here = pathlib.Path(__file__).resolve()
    # share/uvmsim/python/uvmsim of a prefix; python/uvmsim of a source tree.
    beside = [here.parents[4] / "bin" / "uvmsim", here.parents[2] / "build" / "release" / "sim" / "uvmsim"]
    for candidate in [os.environ.get("UVMSIM"), *beside, shutil.which("uvmsim")]:
        if candidate and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return str(candidate)
    raise Error("the program uvmsim is not installed: neither $UVMSIM nor $PATH has it; where it is elsewhere, say "
                "UVMSIM=PREFIX/bin/uvmsim")


def _absolute(value, key=""):
    """A dict's file names, which are relative to where Python runs, hold in any folder."""
    if isinstance(value, dict):
        return {name: _absolute(member, name) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_absolute(member, key) for member in value]
    if isinstance(value, os.PathLike):
        return os.path.abspath(value)
    if key in ("extends", "trace") and isinstance(value, str) and os.path.exists(value):
        return os.path.abspath(value)
    return value


@contextlib.contextmanager
def config_file(config):
    """A configuration as something that the program takes: a path or bundled name as it is, a dict as a file."""
    if not isinstance(config, dict):
        yield os.fspath(config)
        return
    with tempfile.TemporaryDirectory(prefix="uvmsim-") as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_absolute(config), file)
        yield path


def _without_own_files(text):
    """A dict's places are JSON Pointers alone: its file is gone by the time that its faults are read."""
    own = r"\S*/uvmsim-[^/\s]+/config\.json"
    return re.sub(own, "config", re.sub(rf" \({own}:\d+\)", "", text))


def settings_of(settings):
    """{"workload.batch": 64} as arguments."""
    arguments = []
    for key, value in (settings or {}).items():
        arguments += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return arguments


def _read_progress(handle, progress, kept):
    """Hands each line, and each state of a bar, of a terminal to `progress`; keeps all of it."""
    line = b""
    while True:
        try:
            chunk = os.read(handle, 4096)
        except OSError:  # the program closed its end
            chunk = b""
        if not chunk:
            break
        kept.append(chunk)
        for byte in chunk.replace(b"\x1b[K", b""):
            if byte in b"\r\n":
                if line:
                    progress(line.decode("utf-8", "replace"))
                line = b""
            else:
                line += bytes([byte])


def _stop(child):
    """Ends the program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _run(command, progress):
    """Exit status, standard output and standard error of the program. An interrupt ends it, too."""
    environment = {**os.environ, "NO_COLOR": "1"}
    if progress is None:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                 start_new_session=True)
        try:
            out, err = child.communicate()
        except BaseException:
            _stop(child)
            raise
        return child.returncode, out.decode(), err.decode()
    ours, theirs = pty.openpty()  # a terminal: else there is no progress to see
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, start_new_session=True)
    os.close(theirs)
    kept = []
    reader = threading.Thread(target=_read_progress, args=(ours, progress, kept), daemon=True)
    reader.start()
    try:
        out = child.stdout.read()
        child.wait()
    except BaseException:
        _stop(child)
        raise
    finally:
        reader.join(timeout=5)
        child.stdout.close()
        os.close(ours)
    return child.returncode, out.decode(), b"".join(kept).decode("utf-8", "replace").replace("\r\n", "\n")


def call(arguments, progress=None):
    """Runs `uvmsim ARGUMENTS` and returns its standard output; `progress` is called with what it says meanwhile.

    Raises InputError where the input is wrong, Error for everything else after which there is no result.
    """
    status, out, err = _run([find(), *arguments], progress)
    if status == 2:
        raise InputError(_without_own_files(err.strip()))
    if status not in _WITH_RESULT or (status != 0 and not out.strip()):
        raise Error(err.strip() or f"uvmsim ended with status {status}", status)
    return out


def call_json(arguments, progress=None):
    """`call` with --json, as what that prints."""
    return json.loads(call([*arguments, "--json"], progress))
