"""What the course has besides its text and its mechanisms, and what the judge is told of it.

A chapter has a folder of its name, with its claims, its questions and its exercises.
"""

from pathlib import Path

import attncourse
from judge.course import Course

PACKAGE = Path(attncourse.__file__).parent
# a checkout has them beside the package, the wheel in it
IN_THE_WHEEL, IN_A_CHECKOUT = PACKAGE / "exercises", PACKAGE.parent / "exercises"

# how a process is told it
ADDRESS = f"{__name__}:COURSE"
COURSE = Course(
    package="attncourse",
    content=__name__,
    session=f"{__name__}.session",
    notebooks=IN_THE_WHEEL if IN_THE_WHEEL.is_dir() else IN_A_CHECKOUT,
    version=attncourse.__version__,
    hides=("attncourse.{chapter}", "attncourse.kernels.{chapter}"),
    metadata_key="attncourse",
    packages=("torch", "numpy", "matplotlib", "einops", "jaxtyping", "num2words", "safetensors"),
    # torch's own attention, in all its names: what an exercise asks for is written, not called
    solved_by=(
        "scaled_dot_product_attention",
        "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.modules.activation.MultiheadAttention",
    ),
    oracles="tests.judge.oracles",
)
chapters, order = COURSE.chapters, COURSE.order
exercises, exercise, groups = COURSE.exercises, COURSE.exercise, COURSE.groups
