"""Builds the wheel of the package, by the standard library alone: the backend that pyproject.toml names (PEP 517)."""
import base64
import hashlib
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def _project(key):
    """A string of pyproject.toml; tomllib is there from Python 3.11 on only."""
    return re.search(rf'^{key} = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.MULTILINE)[1]


def _metadata():
    return (f"Metadata-Version: 2.1\nName: {_project('name')}\nVersion: {_project('version')}\n"
            f"Summary: {_project('description')}\nRequires-Python: {_project('requires-python')}\n")


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel into the folder and returns its name."""
    stem = f"{_project('name')}-{_project('version')}"
    files = {str(path.relative_to(HERE)): path.read_bytes()
             for path in [*sorted(HERE.glob("uvmsim/*.py")), HERE / "uvmcap_torch.py"]}
    files[f"{stem}.dist-info/METADATA"] = _metadata().encode()
    files[f"{stem}.dist-info/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: true\n"
                                        b"Tag: py3-none-any\n")
    record = f"{stem}.dist-info/RECORD"
    rows = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}\n")
    files[record] = ("".join(rows) + f"{record},,\n").encode()
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), content)  # the same bytes whenever it is built
    return name


if __name__ == "__main__":
    print(build_wheel(sys.argv[1] if len(sys.argv) > 1 else "."))
