"""A course on signals, in two chapters."""

__version__ = "1.0"

from signals.course.session import check, failed, hint, status

__all__ = ["check", "failed", "hint", "status"]
