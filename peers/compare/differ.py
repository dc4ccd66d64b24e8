"""Random configurations and batches through the functions of TRL and verl, in float64, and
through the golden tests of rl/algo, which map their options to rlzero's text.

    cases by golden/*.py ──> DIR/losses/*.json ──> go test ./rl/algo ──> the cases that differ

A seed gives the same cases on every machine with the locked versions. --plant shows that a
difference is found: it changes what one function of the trainers returns.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PART = 500  # configurations of one file in one round

# Modules of golden, how many of a hundred configurations are theirs, and the test that reads them.
SOURCES = {
    "trl_losses": (34, "TRLLosses"), "trl_sequence_losses": (4, "TRLSequenceLosses"), "trl_advantages": (10, "TRLAdvantages"),
    "verl_losses": (24, "VerlPolicyLosses"), "verl_advantages": (12, "VerlAdvantages"), "verl_misc": (4, "VerlMisc"),
    "verl_rollout_correction": (4, "VerlRolloutCorrection"), "preference": (8, "Preference"),
}


def main():
    args = arguments()
    import torch
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    started, totals, left_out, differ = time.monotonic(), collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        tests = build(Path(scratch))
        for part in range(10**6):
            left = args.configs - totals.total()
            if left <= 0 or time.monotonic() - started > args.seconds:
                break
            folder = Path(args.out or scratch) / f"part{part}"
            (folder / "losses").mkdir(parents=True, exist_ok=True)
            with planted(args.plant):
                made = {name: write(name, args.seed, part, min(PART, left) * share // 100 + 1, folder, left_out) for name, (share, _) in SOURCES.items()}
            found, outside = compare(tests, folder)
            totals.update(made)
            differ += found
            left_out.update(outside)
    report(args, totals, left_out, differ, time.monotonic() - started)
    sys.exit(1 if differ else 0)


def arguments():
    p = argparse.ArgumentParser(prog="peers/differ", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=1, help="of the configurations and batches (1)")
    p.add_argument("--configs", type=int, default=20000, help="how many are compared (20000)")
    p.add_argument("--seconds", type=float, default=1800, help="after which no more are begun (1800)")
    p.add_argument("--plant", choices=sorted(PLANTS), help="changes a trainer, to see that it is found")
    p.add_argument("--out", help="a folder that keeps the golden files")
    return p.parse_args()


def plant_trl():
    from trl import GRPOTrainer
    return GRPOTrainer, "get_gamma_weights", staticmethod(lambda *a, was=GRPOTrainer.get_gamma_weights, **k: 1.01 * was(*a, **k))


def plant_verl():
    from verl.trainer.ppo import core_algos
    return core_algos, "agg_loss", lambda *a, was=core_algos.agg_loss, **k: 1.01 * was(*a, **k)


def plant_mask():
    from trl import GRPOTrainer
    return GRPOTrainer, "get_off_policy_mask", staticmethod(lambda *a, was=GRPOTrainer.get_off_policy_mask, **k: was(*a, **k) * 1.01)


PLANTS = {"trl-vespo-weight": plant_trl, "verl-sum": plant_verl, "trl-off-policy-mask": plant_mask}


@contextlib.contextmanager
def planted(name):
    """A factor of 1.01 in one function of a trainer."""
    if name is None:
        yield
        return
    owner, attribute, wrong = PLANTS[name]()
    right = owner.__dict__[attribute]
    setattr(owner, attribute, wrong)
    try:
        yield
    finally:
        setattr(owner, attribute, right)


def build(scratch):
    """The golden tests as a program."""
    program = scratch / "algo.test"
    made = subprocess.run(["go", "test", "-c", "-vet=off", "-o", program, "./rl/algo"], cwd=ROOT, capture_output=True, text=True)
    if made.returncode != 0:
        print(f"peers: error: the golden tests of rl/algo do not build, so nothing was compared:\n{made.stderr}", file=sys.stderr)
        sys.exit(3)
    return program


def write(name, seed, part, count, folder, left_out):
    """Makes cases and returns how many."""
    import importlib

    from golden import files
    module = importlib.import_module(f"golden.{name}")
    rng, cases = random.Random(f"{seed}/{part}/{name}"), []
    import torch
    torch.manual_seed(rng.getrandbits(60))  # verl draws an order
    while len(cases) < count:
        try:
            cases.append(module.case(rng, f"{seed}-{part}-{len(cases)}"))
        except files.NotComparable as reason:
            left_out[f"{name}: {reason}"] += 1
    files.write(folder / "losses" / f"{module.FILE}.json", module.FILE, cases, getattr(module, "DEFAULTS", None), getattr(module, "TOLERANCE", None))
    return len(cases)


def compare(program, folder):
    """What differs in a folder, as (case, what the test says), and how many cases it leaves out by reason."""
    wanted = "|".join(test for _, test in SOURCES.values())
    tests = subprocess.Popen([program, f"-test.run=^TestFormulas({wanted})$/^full$", "-test.v=test2json"], cwd=ROOT / "rl" / "algo", text=True,
                             env={**os.environ, "RLZERO_FIXTURES": str(folder.resolve()), "CI": "true"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    events = subprocess.run(["go", "tool", "test2json"], stdin=tests.stdout, capture_output=True, text=True).stdout
    if tests.wait() not in (0, 1):
        print(f"peers: error: the golden tests broke off:\n{events[-4000:]}", file=sys.stderr)
        sys.exit(3)
    said, differ, outside = collections.defaultdict(list), [], collections.Counter()
    for event in map(json.loads, events.splitlines()):
        test = event.get("Test", "")
        if event["Action"] == "output":
            line = event["Output"].strip()
            if not line.startswith(("===", "---")):
                said[test].append(re.sub(r"^\w+\.go:\d+: ", "", line))
        if reason := re.search(r"out of scope: (\d+): (.*)", event.get("Output", "")):
            outside[reason[2]] += int(reason[1])
        if event["Action"] == "fail" and test.count("/") >= 3:
            differ.append((test.split("/", 2)[2], said[test]))
    return differ, outside


def report(args, totals, left_out, differ, seconds):
    for name, count in sorted(totals.items()):
        print(f"{count:7} {name}")
    print(f"{totals.total():7} configurations with seed {args.seed} in {seconds:.0f} s; {len(differ)} differ")
    for reason, count in left_out.most_common():
        print(f"{count:7} left out: {reason}")
    kinds = collections.defaultdict(list)
    for name, said in differ:
        kinds[name.split("/")[0]].append((name, said))
    for kind, cases in sorted(kinds.items()):
        print(f"\n{kind}: {len(cases)} differ")
        for name, said in cases[:5]:
            print("  " + "\n    ".join([name, *said[:3]]))


if __name__ == "__main__":
    main()
