"""Random configurations through others and through rlzero, with the golden tests of its packages:

    losses      methods of TRL and verl, value and gradient in float64
    adapters    LoRA adapters as PEFT writes them, and as rlzero writes them for PEFT
    texts       chat templates as transformers renders them, and ids of the library tokenizers
    weights     merges by mergekit, of random models with random parameters
    gguf        models of random shapes as GGUF, with the log-probs and tokens of llama.cpp

    cases by compare/AREA.py ──> DIR, a folder of fixtures ──> go test ──> the cases that differ

A seed gives the same cases on every machine with the locked versions. --plant shows that a
difference is found: it changes one thing in what the others return. --plants tries all of them, and
ends with 1 if one is not found. What needs a package or program that is not here is left out, with the
reason.
"""

import argparse
import collections
import importlib
import sys
import tempfile
import time
from pathlib import Path

import codes

from . import gotest

# Areas, and how many of a hundred configurations are theirs.
AREAS = {"losses": 58, "adapters": 2, "texts": 37, "weights": 2, "gguf": 1}
PART = 500  # configurations of one round
PLANTS = {"trl-vespo-weight": "losses", "verl-sum": "losses", "trl-off-policy-mask": "losses", "trl-dpo": "losses", "trl-kto": "losses", "trl-reward": "losses",
          "trl-rloo": "losses", "trl-gmpo": "losses", "trl-cpo": "losses", "trl-orpo": "losses", "trl-advantages": "losses", "verl-advantage": "losses",
          "verl-correction": "losses", "tensor-scale": "adapters", "template-id": "texts", "template-text": "texts", "merge-scale": "weights", "gguf-scale": "gguf"}


def main():
    args = arguments()
    import torch
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    if args.plants:
        tried = [found(args, plant) for plant in PLANTS]
        if tried.count(None) == len(tried):
            raise codes.Broken("no mistake could be planted")
        sys.exit(1 if False in tried else 0)
    started = time.monotonic()
    totals, left_out, differ = compared(args, args.areas, args.plant)
    report(args, totals, left_out, differ, time.monotonic() - started)
    sys.exit(1 if differ else 0)


def compared(args, names, plant):
    """How many configurations were compared, what was left out of them, and what differs."""
    started, totals, left_out, differ = time.monotonic(), collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        areas = opened(names, Path(scratch))
        share = sum(AREAS[name] for name in areas)
        for part in range(10**6):
            left = args.configs - totals.total()
            if left <= 0 or part and time.monotonic() - started > args.seconds:
                break
            for name, area in areas.items():
                folder = Path(args.out or scratch) / f"{plant or ''}part{part}-{name}"
                made, found, outside = area.round(args.seed, part, max(1, min(PART, left) * AREAS[name] // share), folder, plant)
                if not sum(made.values()):
                    raise codes.Broken(f"no configuration of {name} was compared" + "".join(f": {line}" for _, said in found[:1] for line in said[-1:]))
                totals.update(made)
                differ += found
                left_out.update(outside)
    return totals, left_out, differ


def found(args, plant):
    """Whether a planted mistake is found in its area; None: it cannot be planted here."""
    try:
        totals, _, differ = compared(args, [PLANTS[plant]], plant)
    except gotest.Missing as reason:
        print(f"{plant} is left out: {reason}", flush=True)
        return None
    print(f"{plant}: {len(differ)} of {totals.total()} configurations differ{'' if differ else ': NOT FOUND'}", flush=True)
    return bool(differ)


def arguments():
    p = argparse.ArgumentParser(prog="peers/differ", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=1, help="of the configurations (1)")
    p.add_argument("--configs", type=int, default=20000, help="how many are compared (20000)")
    p.add_argument("--seconds", type=float, default=1800, help="after which no round but the first is begun (1800)")
    p.add_argument("--area", action="append", choices=AREAS, dest="areas", help="of these alone (all)")
    p.add_argument("--plant", choices=sorted(PLANTS), help="changes what others return, to see that it is found")
    p.add_argument("--plants", action="store_true", help="does so with each of them, one after the other")
    p.add_argument("--out", help="a folder that keeps the cases")
    args = p.parse_args()
    args.areas = [PLANTS[args.plant]] if args.plant else args.areas or list(AREAS)
    return args


def opened(names, scratch):
    areas = {}
    for name in names:
        try:
            areas[name] = importlib.import_module(f"compare.{name}").Area(scratch)
        except gotest.Missing as reason:
            print(f"{name} is left out: {reason}", file=sys.stderr)
    if not areas:
        raise gotest.Missing(f"nothing is here to compare {' or '.join(names)} with")
    return areas


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
    codes.ends("peers/differ", main)
