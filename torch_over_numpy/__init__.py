"""The part of torch that right answers of exercises, and the judge, need, over NumPy.

For pages in which Python runs without torch. `load.as_torch()` puts it in torch's place.
"""


def names() -> list[str]:
    """Every function, method and class that is here, by the name that torch gives it."""
    from torch_over_numpy.load import OTHERS
    from torch_over_numpy.public import PUBLIC

    homes = OTHERS.keys() | PUBLIC.keys()
    found = {
        f"{home}.{name}"
        for home in homes
        for name in (*PUBLIC.get(home, ()), *OTHERS.get(home, ()))
    }
    return sorted(found)
