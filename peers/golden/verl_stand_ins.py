"""What verl imports on the way to its functions and does not use in them: it is installed without
what it needs, which would be gigabytes. Any name of these modules is there, and does nothing."""

import importlib.abc
import importlib.machinery
import sys
from unittest.mock import MagicMock

ABSENT = ["ray", "codetiming", "hydra", "torchdata", "pylatexenc", "wandb"]


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__ = [], spec
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(StandIn())
