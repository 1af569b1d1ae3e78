"""Errors, and whether a retry can help. A duplicate is not an error: see `Outcome`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hapax_webhooks._native import NativeError, Trouble


class HapaxError(Exception):
    """The base of every error of this package."""

    @property
    def is_retryable(self) -> bool:
        """Whether to run the same event again immediately, without waiting for a redelivery."""
        return False


class Invalid(HapaxError, ValueError):
    """The string cannot be a source, an event id or a consumer."""


class InvalidCall(HapaxError, ValueError):
    """The call cannot be made, so it is not staged."""


class SetupError(HapaxError, ValueError):
    """A source, an inbox or a route is not configured correctly."""


class DatabaseError(HapaxError):
    """The database failed before the commit, and nothing was written. The driver's own error is the `__cause__`."""

    trouble: Trouble

    def __init__(self, message: str, trouble: Trouble) -> None:
        super().__init__(message)
        self.trouble = trouble

    @property
    def is_retryable(self) -> bool:
        return self.trouble != "refused"


class MissingTable(DatabaseError):
    """The tables do not exist in this database."""


class UnknownCommit(DatabaseError):
    """The connection broke during the commit: it is unknown whether the commit took effect."""


class Broken(HapaxError):
    """The handler succeeded, but its transaction can no longer commit: a commit would have written nothing."""


class WrongTransaction(HapaxError, TypeError):
    """The object is not something in which this operation can run."""


class ParsedBody(HapaxError):
    """The request's body was read before it was verified, so its exact bytes are gone."""


def from_native(error: NativeError) -> HapaxError:
    """The error of this package for one of the native module."""
    kinds: dict[str, type[HapaxError]] = {"Invalid": Invalid, "InvalidCall": InvalidCall, "SetupError": SetupError}
    return kinds[error.code](error.message)
