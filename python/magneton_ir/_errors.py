"""What goes wrong, as exceptions."""

from __future__ import annotations

import re


class Error(ValueError):
    """Bad input or bad usage: the command's exit status 2. "Not proven" is no error; see `CheckResult.verdict`.

    The text is the command's diagnostic with its place. `code` is the name of the diagnostic, such as `load::node`, and `None`
    where this package found the mistake.
    """

    def __init__(self, text: str, code: str | None = None) -> None:
        super().__init__(text)
        self.code = code

    @classmethod
    def of_diagnostic(cls, text: str) -> Error:
        """The error for what the command wrote to standard error."""
        text = text.strip()
        code = re.match(r"(?:Error: )?([a-z_0-9]+::[a-z_0-9:]+)\n", text)
        return cls(text or "magneton-ir failed without saying why", code and code[1])


class BinaryError(RuntimeError):
    """The command is missing, or ended as it never should: killed, or by a mistake in itself."""
