"""The golden tests of rlzero's packages, as programs that read a folder of cases."""

import collections
import importlib
import json
import os
import re
import subprocess
from pathlib import Path

import codes

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = Path(os.environ.get("RLZERO_FIXTURES") or ROOT.parent / "shared" / "fixtures")  # may be absent


class Missing(codes.Broken):
    """What an area needs is not here: the reason."""


def imported(module):
    """A module of others, or one that needs some of theirs; Missing, if they are not here."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as why:
        if codes.absent(why):
            raise Missing(why) from None
        raise


def build(package, scratch):
    """The tests of a package as a program."""
    program = scratch / f"{package.replace('/', '-')}.test"
    made = subprocess.run(["go", "test", "-c", "-vet=off", "-o", program, f"./{package}"], cwd=ROOT, capture_output=True, text=True)
    if made.returncode != 0:
        raise codes.Broken(f"the tests of {package} do not build: {codes.last(made.stderr)}")
    return program


def run(program, package, wanted, folder, root=ROOT):
    """What the wanted tests say over a folder of cases, by test, and which of them failed. root is the tree that they look for
    other files in."""
    tests = subprocess.Popen([program, f"-test.run={wanted}", "-test.v=test2json"], cwd=root / package, text=True,
                             env={**os.environ, "RLZERO_FIXTURES": str(folder.resolve()), "CI": "true"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    events = subprocess.run(["go", "tool", "test2json"], stdin=tests.stdout, capture_output=True, text=True).stdout
    if tests.wait() == 2:  # rlzero panics
        raise RuntimeError(f"the tests of {package} broke off:\n{events[-4000:]}")
    if tests.returncode not in (0, 1):
        raise codes.Broken(f"the tests of {package} ended with {tests.returncode}")
    whole, failed = collections.defaultdict(str), []
    for event in map(json.loads, events.splitlines()):
        test = event.get("Test", "")
        if event["Action"] == "output":  # a long line comes in pieces
            whole[test] += event["Output"]
        if event["Action"] == "fail" and test:
            failed.append(test)
        if event["Action"] == "skip":
            whole.pop(test, None)
    lines = {test: [line.rstrip() for line in text.splitlines() if not line.strip().startswith(("===", "---"))] for test, text in whole.items()}
    return collections.defaultdict(list, {test: [re.sub(r"^\s*\w+\.go:\d+: ", "", line) for line in said] for test, said in lines.items()}), failed


def reported(said, name):
    """How many cases of a set were compared and how many of them differ, as fixtures.Report says."""
    text = "\n".join(line for lines in said.values() for line in lines)
    compared = sum(int(n) - int(out) for n, out in re.findall(rf"fixtures: {name}: (\d+) cases, \d+ matched, (\d+) out of scope", text))
    return compared, sum(int(n) for n in re.findall(rf"fixtures: {name}: (\d+) cases differ", text))


def ran(said, cases):
    """How many cases were compared, where each is a test of its own: cases matches its whole name, its first group what tells
    it from others."""
    return len({case[1] for test in said if (case := re.fullmatch(cases, test))})
