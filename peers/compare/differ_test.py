"""Of differ.py, what needs none of the packages of others: python3 -m unittest compare.differ_test, in peers. peers_test.go
runs it. Packages, Go's tests and modules of golden are stand-ins."""

import collections
import contextlib
import importlib.abc
import io
import json
import re
import sys
import types
import unittest
from unittest import mock

import codes

from . import differ, gotest, losses


class Gone(importlib.abc.MetaPathFinder):
    """Packages that are not here, though this machine may have them."""

    def __init__(self, *names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def golden(name):
    """A module of golden that needs nothing."""
    module = types.ModuleType(f"golden.{name}")
    module.FILE, module.case = name, lambda rng, case: {"name": f"family/{case}"}
    return module


class Differ(unittest.TestCase):
    def setUp(self):
        ours = [name for name in losses.SOURCES if not name.startswith("verl")]
        self.patch(mock.patch.dict(sys.modules, {"torch": mock.MagicMock(), "numpy": mock.MagicMock(), **{f"golden.{name}": golden(name) for name in ours}}))
        for name in [name for name in sys.modules if name.split(".")[0] in ("verl", "trl", "mergekit")]:
            del sys.modules[name]
        self.patch(mock.patch.object(sys, "meta_path", [Gone("verl", "trl", "mergekit"), *sys.meta_path]))
        self.patch(mock.patch.object(gotest, "build", lambda package, scratch: package))
        self.patch(mock.patch.object(gotest, "run", self.go))
        self.asked, self.out_of_scope, self.fails = [], 0, []

    def patch(self, one):
        one.start()
        self.addCleanup(one.stop)

    def go(self, program, package, wanted, folder, root=gotest.ROOT):
        """In place of Go's tests: each case of a file matches, but so many are out of scope."""
        self.asked.append(wanted)
        said = collections.defaultdict(list)
        for file in sorted((folder / "losses").glob("*.json")):
            count = json.loads(file.read_text())["count"]
            said[f"TestFormulas{file.stem}/full"] = [f"fixtures: losses/{file.stem}: {count} cases, {count - self.out_of_scope} matched, {self.out_of_scope} out of scope"]
        return said, self.fails

    def call(self, *args):
        """Its exit code, and what it says."""
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out), mock.patch.object(sys, "argv", ["peers/differ", *args]):
            try:
                codes.ends("peers/differ", differ.main)
            except SystemExit as ended:
                return ended.code, out.getvalue()

    def test_missing_package(self):
        """Without verl the rest is compared."""
        code, said = self.call("--area", "losses", "--area", "weights", "--configs", "100")
        self.assertEqual(code, 0, said)
        for name in losses.SOURCES:
            self.assertEqual(f"{name} is left out: No module named 'verl'" in said, name.startswith("verl"), said)
            self.assertEqual(bool(re.search(rf"^ +\d+ {name}$", said, re.M)), not name.startswith("verl"), said)
        self.assertIn("weights is left out: No module named 'mergekit'", said)
        self.assertNotIn("Verl", "".join(self.asked))
        self.assertIn("TRLLosses", "".join(self.asked))

    def test_nothing_to_compare_with(self):
        code, said = self.call("--area", "weights")
        self.assertEqual((code, said.count("\n")), (3, 2), said)
        self.assertIn("peers/differ: error: nothing is here to compare weights with; rlzero itself needs none of this", said)

    def test_plants(self):
        """What cannot be planted is left out; that nothing can is no success, and no failure."""
        with mock.patch.dict(differ.PLANTS, {"verl-sum": "losses", "merge-scale": "weights"}, clear=True):
            code, said = self.call("--plants", "--configs", "20")
            self.assertEqual(code, 3, said)
            self.assertIn("verl-sum is left out: No module named 'verl'", said)
            self.assertIn("merge-scale is left out: ", said)
        planted = mock.patch.dict(losses.PLANTS, {"trl-dpo": lambda: (differ, "PART", differ.PART)})
        with planted, mock.patch.dict(differ.PLANTS, {"verl-sum": "losses", "trl-dpo": "losses"}, clear=True):
            code, said = self.call("--plants", "--configs", "20")
            self.assertEqual(code, 1, said)
            self.assertRegex(said, r"trl-dpo: 0 of \d+ configurations differ: NOT FOUND")
            self.fails = ["TestFormulasPreference/full/dpo/1"]
            code, said = self.call("--plants", "--configs", "20")
            self.assertEqual(code, 0, said)

    def test_counts(self):
        """Cases that Go leaves out are not counted as compared, and a failure counts wherever it is."""
        count = lambda said: int(re.search(r"^ +(\d+) configurations", said, re.M)[1])
        with mock.patch.dict(losses.SOURCES, {"preference": (100, "Preference")}, clear=True):
            self.assertEqual(count(self.call("--area", "losses", "--configs", "100")[1]), 101)
            self.out_of_scope = 1
            self.assertEqual(count(self.call("--area", "losses", "--configs", "100")[1]), 100)
            self.fails = ["TestFormulasPreference", "TestFormulasPreference/full"]
            self.assertEqual(self.call("--area", "losses", "--configs", "10")[0], 1)
            self.out_of_scope, self.fails = 11, []
            code, said = self.call("--area", "losses", "--configs", "10", "--seconds", "5")
            self.assertEqual(code, 3, said)
            self.assertIn("no configuration of losses was compared", said)
            self.out_of_scope = 0
            code, said = self.call("--area", "losses", "--seconds", "0")
            self.assertEqual((code, count(said)), (0, differ.PART + 1), said)

    def test_reports(self):
        said = {"T/full": ["fixtures: losses/x: 10 cases, 6 matched, 2 out of scope", "fixtures: losses/x: 2 cases differ"], "T/s1/m0": [], "T/s1/m1/f32": [], "T/s1/m1/f16": []}
        self.assertEqual(gotest.reported(said, "losses/x"), (8, 2))
        self.assertEqual(gotest.ran(said, r"T/(s1/m\d+)(/.*)?"), 2)

    def test_own_module(self):
        """A module of this folder that is not there is a mistake."""
        with mock.patch.dict(losses.SOURCES, {"no_such": (4, "Heads")}):
            code, said = self.call("--area", "losses")
            self.assertEqual(code, 2, said)


if __name__ == "__main__":
    unittest.main()
