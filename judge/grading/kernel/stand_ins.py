"""What stands in, while a notebook is graded, for what is not there (inside the sandbox if any).

What an exercise asks for imports, and raises when it is called. `check` and its like judge nothing.
Programs that install or fetch something are noted and not run.
"""

import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.util import spec_from_loader
from types import ModuleType

# programs that change or need what is outside: there is no network, and what is installed stays
INSTALLERS = {
    "pip", "pip3", "pipx", "uv", "conda", "mamba", "micromamba", "poetry", "easy_install",
    "ensurepip", "apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "apk", "brew", "snap", "npm",
    "npx", "yarn", "git", "wget", "curl", "gdown", "aria2c", "kaggle", "huggingface-cli", "hf",
}  # fmt: skip
# what may stand before a program's name
BEFORE = {"sudo", "time", "nohup", "exec", "env", "command", "yes"}
PARTS = re.compile(r"[;&|\n(`]+")
MOST_NOTED, LONGEST_NOTED = 20, 200


def not_there(name):
    return ImportError(f"{name} isn't available while you're graded: write it yourself")


class StandIn(type):
    """The type of what stands in for something hidden: it may be derived from, and not called."""

    hides: str

    def __call__(cls, *args, **kwargs):
        raise not_there(cls.hides)

    __getitem__ = __iter__ = __call__

    def __getattr__(cls, name):
        return stand_in(cls.hides, name)


def stand_in(owner, name):
    """What stands in for an attribute of something hidden."""
    if name.startswith("__"):
        raise AttributeError(name)
    return StandIn(name, (), {"hides": f"{owner}.{name}"})


class HiddenModule(ModuleType):
    """A module without its content, which may be imported under the name of a function in it."""

    def __getattr__(self, name):
        return stand_in(self.__name__, name)

    def __call__(self, *args, **kwargs):
        raise not_there(self.__name__)


class HiddenModules(MetaPathFinder, Loader):
    """Finds modules that hold answers, and lets them be imported without their content."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, fullname, path=None, target=None):
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            return spec_from_loader(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return HiddenModule(spec.name)

    def exec_module(self, module):
        """It holds nothing."""


class Nothing:
    """What `failed()` returns here: whatever is asked of it, it is that again."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __getitem__(self, place):
        return self

    def __iter__(self):
        return iter(())


class Checks:
    """Stands in for the module whose functions a notebook calls: the verdict falls elsewhere.

    What `check` was given last for each exercise is in `given`, by the exercise's name.
    """

    def __init__(self, name):
        self.given = {}
        above, _, own = name.rpartition(".")
        package, notebook = ModuleType(above), ModuleType(name)
        vars(package).update({"__path__": [], own: notebook})
        names = ("failed", "hint", "status", "passed")
        silent = dict.fromkeys(names, lambda *args, **kwargs: Nothing())
        vars(notebook).update({**silent, "check": self.check})
        sys.modules |= {package.__name__: package, notebook.__name__: notebook}

    def check(self, name, *answer, seed=None, **named):
        for one in (*answer[:1], *named.values()) or (name,):
            with suppress(TypeError):
                self.given[getattr(name, "__name__", name)] = one


class Programs:
    """Lets programs be run, but for those that install or fetch: these are noted in `not_run`."""

    def __init__(self):
        self.not_run = []
        programs, system = self, os.system

        class Popen(subprocess.Popen):
            def __init__(self, args, *more, **options):
                if programs.installs(args):
                    args = ["true"]
                    options |= {"shell": False, "executable": None}
                super().__init__(args, *more, **options)

        subprocess.Popen = Popen
        os.system = lambda command: 0 if self.installs(command) else system(command)

    def installs(self, command):
        """Whether a command, a text or a list of words, is not to be run."""
        words = [command] if isinstance(command, (str, bytes, os.PathLike)) else list(command)
        texts = [os.fsdecode(word) for word in words if isinstance(word, (str, bytes, os.PathLike))]
        # of a list, too, what a shell is told is one word
        parts = [" ".join(texts), *texts[1:]] if len(texts) > 1 else texts
        found = any(installer(part) for text in parts for part in PARTS.split(text))
        if found and len(self.not_run) < MOST_NOTED:
            self.not_run.append(" ".join(texts)[:LONGEST_NOTED])
        return found


def installer(part):
    """Whether a command line without pipes begins with such a program."""
    words = part.split()
    while words and (words[0] in BEFORE or "=" in words[0]):
        words.pop(0)
    program = words[0].rpartition("/")[2] if words else ""
    if program.startswith("python") and words[1:2] == ["-m"]:
        program = "".join(words[2:3])
    return program in INSTALLERS
