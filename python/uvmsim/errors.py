"""What can go wrong, as exceptions."""


class ScriptError(Exception):
    """A script that cannot be traced."""
