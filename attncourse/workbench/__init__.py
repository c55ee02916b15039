"""A method of attention of your own, checked, counted, trained and compared with the course's.

    python -m attncourse.workbench my_attention.py

In a notebook, write the file with `%%writefile my_attention.py` and call
`workbench("my_attention.py")`. What the file holds is said in `attncourse.workbench.layers`.
"""

from attncourse.workbench.session import workbench

__all__ = ["workbench"]
