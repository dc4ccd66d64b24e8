"""The same work by rlzero and by others, each a process of its own on two processors, in turns (A B B A):

    step       a GRPO step of countdown-tiny's model, from the start, the middle and the end of its RL stage, against TRL
    decode     a round of sampling with the shape of SmolLM2-135M in float32, batch 1, 8 and 32, against transformers
    prefill    reading a prompt of 512 tokens, same shape
    train      an update on 2 x 128 tokens, same shape
    groups     an update on 16 completions of 100 tokens after one prompt of 1,000, 25 million parameters
    start      from the start of the program to its first GRPO step

A ratio is the time of rlzero to that of the other: below 1, rlzero takes less. Each round gives one ratio, of the two
processes of either; the table has their median and their range. What is measured goes into docs/benchmarks.tsv, a line a
case, and docs/benchmarks.md is written from it. --run takes a run of countdown-tiny that has its checkpoints; without it
one is trained, which takes some minutes.
"""

import argparse
import csv
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE, PAGE = ROOT / "docs" / "benchmarks.tsv", ROOT / "docs" / "benchmarks.md"
COLUMNS = ["case", "against", "ours", "theirs", "unit", "ratio", "low", "high", "rounds", "memory", "bar", "machine", "device", "versions", "release", "date"]
SMOL = "SmolLM2-135M shape"
# Bars that a release should keep, as ratios.
BARS = {"step start": 0.55, "step end": 0.4, "decode 1": 0.7, "decode 8": 0.8, "decode 32": 0.8, "prefill": 1.6, "groups": 0.5, "start": 0.1}
MEMORY_BAR = 0.7


def broken(why):
    print(f"peers/bench: error: {why}; nothing was compared", file=sys.stderr)
    sys.exit(3)


class Side:
    """A process on two processors: what it prints, how long it took, and the most memory that it had."""

    def __init__(self, *command):
        self.command = [str(c) for c in command]

    def run(self):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            self.began = time.time()
            child = subprocess.Popen(self.command, cwd=ROOT / "peers", stdout=out, stderr=err, env={
                **os.environ, "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "LP_NUM_THREADS": "2", "GOMAXPROCS": "2", "TOKENIZERS_PARALLELISM": "false"})
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.ended, self.kib = time.time(), usage.ru_maxrss
            out.seek(0), err.seek(0)
            if child.returncode != 0:
                broken(f"{' '.join(self.command)} ended with {child.returncode}: {err.read().decode(errors='replace')[-800:]}")
            return out.read().decode()


class Case:
    """Two ways to do the same. ours and theirs are their processes; each read gives seconds of what a process printed."""

    def __init__(self, name, unit, against, ours, read_ours, theirs, read_theirs):
        self.name, self.unit, self.against = name, unit, against
        self.ours, self.read_ours, self.theirs, self.read_theirs = ours, read_ours, theirs, read_theirs

    def measure(self, rounds):
        sides = [[], []]
        memory = [[], []]
        ratios, said = [], {}
        for i in range(rounds):
            turn = [[], []]
            for which in (0, 1, 1, 0):
                side, read = [(self.ours, self.read_ours), (self.theirs, self.read_theirs)][which]
                printed = side.run()
                turn[which].append(read(printed, side))
                memory[which].append(side.kib)
                if which == 1:
                    said = json.loads(printed.splitlines()[-1])
                else:
                    device = printed
            ours, theirs = min(turn[0]), min(turn[1])
            sides[0].append(ours), sides[1].append(theirs), ratios.append(ours / theirs)
            print(f"{self.name}: round {i + 1} of {rounds}: {ours:.4g} against {theirs:.4g} {self.unit}, ratio {ours / theirs:.3g}", flush=True)
        return {"case": self.name, "against": self.against + (f", {said['detail']}" if "detail" in said else ""), "ours": f"{statistics.median(sides[0]):.4g}",
                "theirs": f"{statistics.median(sides[1]):.4g}", "unit": self.unit, "ratio": f"{statistics.median(ratios):.3g}", "low": f"{min(ratios):.3g}",
                "high": f"{max(ratios):.3g}", "rounds": rounds, "memory": f"{statistics.median(memory[0]) / statistics.median(memory[1]):.2g}",
                "bar": BARS.get(self.name, ""), "device": json.loads(device.splitlines()[0])["device"] if device.startswith("{") else "",
                "versions": " ".join(f"{k} {v}" for k, v in said["versions"].items())}


def fields(printed, _):
    return json.loads(printed.splitlines()[0])


def of_step(printed, side):
    return fields(printed, side)["value"]


def of_rate(tokens):
    return lambda printed, side: tokens / fields(printed, side)["value"]


def shortest(printed, _):
    return min(json.loads(printed.splitlines()[-1])["seconds"])


def first(printed, side):
    return json.loads(printed.splitlines()[-1])["first"] - side.began


def whole(_, side):
    return side.ended - side.began


def cases(rlzero, run, wanted, scratch):
    """The wanted cases. run is called for the folder of a run where a case needs one."""
    theirs = lambda *args: Side(sys.executable, "-m", "beside.work", *args)
    # Shares of the device's limits are not asked for: given ones are not measured.
    bench = lambda *args: Side(rlzero, "bench", *args, "--json", "--longest", "0", "--alone", "--gflops", "100", "--gb-s", "10", "--quiet")
    transformers = "transformers"
    if wanted("step"):
        checkpoints = sorted((run() / "checkpoints").glob("step-*"))
        for place, folder in (("start", checkpoints[0]), ("middle", checkpoints[len(checkpoints) // 2]), ("end", checkpoints[-1])):
            yield Case(f"step {place}", "s", "TRL's GRPOTrainer", bench("step", "--from", folder), of_step, theirs("step", folder, 6), shortest)
    for batch in (1, 8, 32):
        if wanted("decode"):
            yield Case(f"decode {batch}", "s a round", transformers, bench("decode", "--only", f"{SMOL}, batch {batch}"), of_rate(batch), theirs("decode", batch), shortest)
    if wanted("prefill"):
        yield Case("prefill", "s", transformers, bench("prefill", "--only", SMOL), of_rate(512), theirs("prefill"), shortest)
    if wanted("train"):
        yield Case("train", "s", "torch and transformers", bench("train", "--only", SMOL), of_rate(256), theirs("train"), shortest)
    if wanted("groups"):
        yield Case("groups", "s", "torch and transformers", bench("groups", "--only", "25M, 1000 + 100"), of_step, theirs("groups"), shortest)
    if wanted("start"):
        folder = sorted((run() / "checkpoints").glob("step-*"))[0]
        sets = [f"model.path={folder}", "stage.warm-up.skip=true", "stage.rl.steps=1", "stage.rl.eval_every=0", "task.eval_problems=1"]
        program = " ".join([f"rm -rf {scratch}/run && exec {rlzero} train countdown-tiny -q --run {scratch}/run", *(f"--set {s}" for s in sets)])
        yield Case("start", "s", "TRL's GRPOTrainer", Side("sh", "-c", program), whole, theirs("step", folder, 0), first)


def trained(rlzero, scratch):
    folder = Path(scratch) / "countdown-tiny"
    print("training countdown-tiny for its checkpoints", flush=True)
    done = subprocess.run([rlzero, "train", "countdown-tiny", "--run", folder, "--set", "stage.warm-up.checkpoint_every=0", "--set", "stage.rl.checkpoint_every=10", "--set", "checkpoint.keep=1000"], capture_output=True, text=True)
    if done.returncode != 0:
        broken(f"countdown-tiny was not trained: {done.stderr[-400:]}")
    return folder


def machine():
    name = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"2 of {os.cpu_count()} processors, {name}"


def rows():
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as f:
        return list(csv.DictReader(f, delimiter="\t"))


def write(table):
    with TABLE.open("w", newline="") as f:
        out = csv.DictWriter(f, COLUMNS, delimiter="\t", lineterminator="\n")
        out.writeheader()
        out.writerows(table)
    PAGE.write_text(page(table))


def page(table):
    lines = ["# Benchmarks", "",
             "The same work by rlzero and by others, in turns on one machine, each a process of its own on two processors. A ratio is the",
             "time of rlzero to that of the other: below 1, rlzero takes less. `low` and `high` are the least and the greatest ratio of a",
             "round. Memory is the ratio of the most resident bytes of the two processes; its bar is 0.7. `make peers`, then `peers/bench --write`, measure",
             "it and write this page from [benchmarks.tsv](benchmarks.tsv). What each case is stands in `peers/bench --help`.", "",
             "| case | against | rlzero | other | unit | ratio | low to high | rounds | bar | memory |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in table:
        missed = row["bar"] and float(row["ratio"]) > float(row["bar"])
        bar = f"{row['bar']}{', missed' if missed else ''}" if row["bar"] else "–"
        memory = f"{row['memory']}{', missed' if float(row['memory']) > MEMORY_BAR else ''}"
        lines.append(f"| {row['case']} | {row['against']} | {row['ours']} | {row['theirs']} | {row['unit']} | {row['ratio']} | {row['low']} to {row['high']} | {row['rounds']} | {bar} | {memory} |")
    made = {(row["machine"], row["device"], row["versions"], row["release"], row["date"]) for row in table}
    lines += [""] + [f"- {day}, {where}{', ' + device if device else ''}; rlzero {release}; {versions}" for where, device, versions, release, day in sorted(made)]
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(prog="peers/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["step", "decode", "prefill", "train", "groups", "start"]
    p.add_argument("--case", action="append", choices=names, dest="cases", help="of these alone (all)")
    p.add_argument("--rounds", type=int, default=5, help="of A B B A (5)")
    p.add_argument("--run", type=Path, help="a run of countdown-tiny with checkpoints from the start to the end of its RL stage")
    p.add_argument("--write", action="store_true", help="puts what was measured into docs/benchmarks.tsv and docs/benchmarks.md")
    args = p.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as scratch:
        rlzero = Path(scratch) / "rlzero"
        built = subprocess.run(["go", "build", "-o", rlzero, "."], cwd=ROOT, capture_output=True, text=True)
        if built.returncode != 0:
            broken(f"rlzero does not build: {built.stderr[-400:]}")
        release = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        known = []
        run = lambda: args.run or (known or known.append(trained(rlzero, scratch)) or known)[0]
        for case in cases(rlzero, run, lambda name: name in (args.cases or names), scratch):
            row = case.measure(args.rounds) | {"machine": machine(), "release": release, "date": datetime.date.today().isoformat()}
            print(f"{row['case']}: {row['ratio']} ({row['low']} to {row['high']}) times {row['against']}, memory {row['memory']}", flush=True)
            if args.write:
                order = [r["case"] for r in rows()]
                table = [r for r in rows() if r["case"] != row["case"]]
                table.insert(order.index(row["case"]) if row["case"] in order else len(table), {k: row.get(k, "") for k in COLUMNS})
                write(table)


if __name__ == "__main__":
    main()
