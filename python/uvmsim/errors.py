"""What can go wrong, as exceptions."""
import re


class Fault:
    """One thing that is wrong: where ("" where the whole input is meant) and what."""

    def __init__(self, place, message):
        self.place, self.message = place, message

    def __repr__(self):
        return f"Fault({self.place!r}, {self.message!r})"

    def __eq__(self, other):
        return isinstance(other, Fault) and (self.place, self.message) == (other.place, other.message)


class Error(Exception):
    """A call of the program that failed. `exit_code` is its exit status (README, "How to read a result")."""

    def __init__(self, text, exit_code=None):
        super().__init__(text)
        self.exit_code = exit_code


class InputError(Error):
    """The input is wrong. `faults` has every fault with its place; nothing was written."""

    def __init__(self, text, exit_code=2):
        super().__init__(text, exit_code)
        self.faults = _faults(text)


class ScriptError(Exception):
    """A script that cannot be traced."""


def _faults(text):
    """The faults of a message: "SUBJECT: MESSAGE", or "SUBJECT: N errors" and a line "  PLACE: MESSAGE" for each."""
    lines = [line.removeprefix("uvmsim: ") for line in text.splitlines() if line.strip()]
    listed = [line.strip() for line in lines if line.startswith("  ")]
    if not listed:
        listed = [line for line in lines if not line.startswith("try: ")][:1]
    faults = []
    for line in listed:
        place, colon, message = line.partition(": ")
        # A place is a JSON Pointer, an option and what it sets, or a file, maybe with a line and where it was written.
        if colon and re.fullmatch(r"(--\S+ )?\S+( \(.*\))?", place):
            faults.append(Fault(place, message))
        else:
            faults.append(Fault("", line))
    return faults
