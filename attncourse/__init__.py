"""attncourse: self-attention, from the dot product to the Transformer, with graded exercises."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attncourse.course.session import check, failed, hint, status
    from attncourse.devices import device

__version__ = "0.2.0"
__all__ = ["check", "device", "failed", "hint", "status"]


def __getattr__(name: str):
    # importing the package alone loads neither torch nor a check: each name comes when asked for
    if name == "device":
        from attncourse.devices import device

        return device
    if name in __all__:
        from attncourse.course import session

        return getattr(session, name)
    raise AttributeError(f"module 'attncourse' has no attribute {name!r}")


def __dir__() -> list[str]:
    # what Tab offers
    return sorted({*globals(), *__all__})
