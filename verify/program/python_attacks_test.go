//go:build linux && (amd64 || arm64)

package program

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// These are what a model might write to be paid without an answer, to escape being
// scored, or to be left alone for long; and what honest models write that looks odd.

// forged are frames in the place of the program's answers.
func forged(frames ...string) string {
	list, _ := json.Marshal(frames)
	return fmt.Sprintf("import os, struct\nfor m in %s:\n  for fd in range(3, 32):\n    try: os.write(fd, struct.pack('<I', len(m)) + m.encode())\n    except OSError: pass\ndef f(*a): return 1", list)
}

// hurried is for tests of what waits until its limit by the clock.
func hurried(t *testing.T) {
	t.Helper()
	longer := patience
	patience = usual
	t.Cleanup(func() { patience = longer })
}

// TestPythonAttacks: each of these is wrong on each kind of test.
func TestPythonAttacks(t *testing.T) {
	rows := map[string]string{
		"stdin":  `{"tests":[{"stdin":"3\n","stdout":"9\n"}]}`,
		"call":   `{"tests":[{"call":"f","args":[3],"expected":9}]}`,
		"assert": `{"tests":[{"assert":"assert f(3) == 9\nassert f(4) == 16"}]}`,
		"caught": `{"tests":[{"assert":"try:\n    x = f(3)\nexcept Exception:\n    x = None\nassert x == 9"}]}`,
		"all":    `{"tests":[{"assert":"assert all(map(f, [1, 2]))\nassert list(map(f, [1, 2])) == [1, 4]"}]}`,
		"script": `{"tests":[{"assert":"if __name__ == '__main__':\n    assert f(3) == 9"}]}`,
		"unit":   `{"tests":[{"assert":"import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(3), 9)\nunittest.main()"}]}`,
	}
	for name, program := range map[string]string{
		"stop iteration":      "def f(x): raise StopIteration",
		"exits":               "import sys\ndef f(x): sys.exit(0)",
		"interrupts":          "def f(x): raise KeyboardInterrupt",
		"asserts":             "def f(x): raise AssertionError('ok')",
		"names of exceptions": "class SystemExit(Exception): pass\ndef f(x): raise type('BaseException', (BaseException,), {})",
		"leaves":              "import os\ndef f(x): os._exit(0)",
		"forks":               "import os\nos.fork()\ndef f(x):\n  os.fork()\n  return 1",
		"threads that answer": "import threading, os, struct\ndef spam():\n  m = b'{\"value\": {\"i\": \"9\"}}'\n  while True: os.write(4, struct.pack('<I', len(m)) + m)\nthreading.Thread(target=spam, daemon=True).start()\ndef f(x):\n  while True: pass",
		"passes":              forged(`{"passed": true}`, `{"passed":true}`, `F{"exit":0,"passed":true,"stdout":"9\n","result":"9"}`),
		"out of order":        forged(`{"value":null}`, `{"value":true}`, `{"value":{"l":[]}}`, `{"value":{"h":0}}`, `{"value":{"h":"__class__"}}`),
		"no frames":           forged(`[]`, `{}`, `"`, `{"back":0,"args":[],"kwargs":{}}`, `{"value":{"n":"exec"}}`, `{"raised":"SystemExit"}`, `{"raised":["x"]}`, strings.Repeat(`[`, 100000)),
		"absurd length":       "import os\nos.write(4, b'\\xff' * 8)\nos.write(3, b'\\xff' * 8)\ndef f(x): return 1",
		"a frame too few":     "import os, struct\nos.write(4, struct.pack('<I', 1 << 20) + b'{')\ndef f(x): return 1",
		"closes its files":    "import os\nos.closerange(0, 32)\ndef f(x): return 1",
		"looks at its frames": "import sys\ndef f(x):\n  for d in range(9):\n    try:\n      for v in sys._getframe(d).f_locals.values():\n        if isinstance(v, dict) and 'expected' in v: return 9\n    except ValueError: break\n  return 1",
		"looks at all":        "import gc\ndef f(x): return 9 if any('f(3) == 9' in o for o in gc.get_objects() if isinstance(o, str)) else 1",
		"reads its memory":    "def f(x): return 9 if b'f(3) == 9' in open('/proc/self/mem', 'rb').read() else 1",
		"reads its parent":    "import os\ndef f(x): return open('/proc/%d/cmdline' % os.getppid()).read()",
		"str that lies":       "class S(str):\n  def __eq__(self, o): return True\n  __hash__ = str.__hash__\ndef f(x): return S('1')\nprint(S('1'))",
		"int that lies":       "class I(int):\n  def __eq__(self, o): return True\n  def __str__(self): return '9'\n  __repr__ = __int__ = __index__ = __str__\n  __hash__ = int.__hash__\ndef f(x): return I(1)",
		"class that lies":     "class A:\n  __class__ = int\n  def __eq__(self, o): return True\n  def __sub__(self, o): return 0\n  __rsub__ = __sub__\n  def __hash__(self): return hash(9)\n  def __index__(self): return 8\ndef f(x): return A()",
		"list that lies":      "class L(list):\n  def __eq__(self, o): return True\n  def __iter__(self): return iter([9])\ndef f(x): return L([1])",
		"recursive":           "def f(x):\n  a = []\n  a.append(a)\n  return a",
		"infinite":            "import itertools\ndef f(x): return itertools.count()",
		"nan":                 "def f(x): return float('nan')\nprint('nan')",
		"true":                "def f(x): return True\nprint(True)",
		"many digits":         "import sys\nsys.set_int_max_str_digits(0)\ndef f(x): return 10 ** 100000",
		"patches":             "import json, struct, os, builtins\njson.dumps = lambda *a: '{\"i\":\"9\"}'\njson.loads = lambda *a: {'op': 'name', 'name': 'f'}\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda x: 1 << 40\ndef f(x): return 1",
		"big answers":         "def f(x): return 'x' * (40 << 20)",
		"many answers":        "def f(x): return [None] * 5000000",
		"ends at exit":        "import atexit, os\natexit.register(lambda: os._exit(0))\ndef f(x): return 1",
		"writes at exit":      "import atexit\natexit.register(print, 8)\ndef f(x): return 1",
		"own filter":          "import ctypes\nprint(ctypes.CDLL(None).prctl(22, 2, None, 0, 0))\ndef f(x): return 1",
	} {
		t.Run(name, func(t *testing.T) {
			waits := name == "threads that answer" || name == "a frame too few"
			if waits { // until the limit by the clock
				hurried(t)
			} else {
				t.Parallel()
			}
			for kind, row := range rows {
				if waits && kind != "caught" {
					continue
				}
				if got := pythonVerdict(t, row, program, `{"extract":"none","timeout":0.2}`); got.Verdict != verify.Wrong {
					t.Errorf("%s: %s (%s)", kind, got.Verdict, got.Reason)
				}
			}
		})
	}
}

// TestPythonIsNeverTooBusyByItself: a program cannot make its own threads wait for the
// processor until it counts as one that the machine had no time for.
func TestPythonIsNeverTooBusyByItself(t *testing.T) {
	hurried(t)
	programs := []string{
		"import time\ntime.sleep(1000)",
		"import os, time\ntry:\n  while True:\n    if os.fork() == 0:\n      while True: pass\nexcept OSError: time.sleep(1000)",
		"import hashlib, threading, time\nb = bytes(1 << 24)\ndef spin():\n  while True: hashlib.sha256(b)\nfor i in range(6): threading.Thread(target=spin, daemon=True).start()\ntime.sleep(1000)",
		"import signal, time\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
		"import signal\nsignal.signal(signal.SIGXCPU, lambda *a: exec('import os; print(9); os._exit(0)'))\nwhile True: pass",
	}
	if testing.Short() { // the others keep every processor busy for seconds
		programs = programs[:1]
	}
	for _, program := range programs {
		got := pythonVerdict(t, `{"tests":[{"stdin":"","stdout":"8"}]}`, program, `{"extract":"none","timeout":0.1}`)
		if got.Verdict != verify.Wrong {
			t.Errorf("%s: %s (%s)", program, got.Verdict, got.Reason)
		}
	}
}

// TestPythonOverTime: the right answer after the limit is wrong, though the program
// survives the signal.
func TestPythonOverTime(t *testing.T) {
	const program = "import signal, time\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile time.process_time() < 1.5: pass\nprint(9)"
	got := pythonVerdict(t, `{"tests":[{"stdin":"","stdout":"9"}]}`, program, `{"extract":"none","timeout":1}`)
	if got.Verdict != verify.Wrong || !strings.Contains(got.Reason, "processor time") {
		t.Errorf("%s (%s)", got.Verdict, got.Reason)
	}
}

// TestPythonHonest: what models write that is right.
func TestPythonHonest(t *testing.T) {
	const square = `{"tests":[{"stdin":"3\n","stdout":"9\n"},{"stdin":"4","stdout":"16"}]}`
	const f = `{"tests":[{"call":"f","args":[3],"expected":9}]}`
	long := strings.Repeat("123456\n", 60_000)
	lines, _ := json.Marshal(long)
	for _, c := range []struct{ row, program string }{
		{square, "import sys, os\nfrom io import BytesIO\nfrom atexit import register\nsys.stdin = BytesIO(os.read(0, os.fstat(0).st_size))\nsys.stdout = BytesIO()\nregister(lambda: os.write(1, sys.stdout.getvalue()))\nn = int(sys.stdin.readline())\nsys.stdout.write(str(n * n).encode())"},
		{square, "import threading, sys\nsys.setrecursionlimit(10**7)\nthreading.stack_size(512 << 20)\ndef main(): print(int(input())**2)\nthreading.Thread(target=main).start()"},
		{square, "import sys\nfrom functools import lru_cache\nsys.setrecursionlimit(10**6)\n@lru_cache(None)\ndef g(n): return 0 if n == 0 else 1 + g(n - 1)\nprint(int(input())**2 if g(20000) == 20000 else 0)"},
		{square, "out = open(1, 'w')\nout.write(str(int(input())**2))"},
		{square, "import sys\nprint(int(open('/dev/stdin').read())**2)\nsys.stdout.close()"},
		{square, "n = int(input())\r\nif n:\r\n\tprint(n*n)\r\n"},
		{square, "import sys\nprint(int(input())**2)\nsys.exit()"},
		{square, "exec('print(int(input())**2)')"},
		{f, "from __future__ import annotations\nfrom dataclasses import dataclass, field\n@dataclass(order=True)\nclass A:\n  x: int = 0\n  y: list = field(default_factory=list)\ndef f(x): return A(x).x ** 2"},
		{f, "class Solution:\n  def f(self, x: int) -> Optional[List[int]]:\n    d = defaultdict(int)\n    return x * x if inf > heappop([1]) else None"},
		{f, "import sys\ndef f(x):\n  print('debugging', x)\n  return x * x\nif __name__ == '__main__': f(int(input()))"},
		{f, "import threading\ndef f(x):\n  got = []\n  t = threading.Thread(target=lambda: got.append(x * x)); t.start(); t.join()\n  return got[0]"},
		{`{"tests":[{"call":"f","expected":[0.5,{"a":[1,null]}]}]}`, "from decimal import Decimal\nfrom collections import OrderedDict, namedtuple\ndef f(): return Decimal('0.50'), OrderedDict(a=(1, None))"},
		{`{"tests":[{"stdout":` + string(lines) + `}]}`, "for i in range(60000): print(123456)"},
		{`{"input_output":{"fn_name":"f","inputs":[[5],[6]],"outputs":[[5],[6]]}}`, "def f(n): return n"},
		{`{"input_output":{"fn_name":"f","inputs":[[5],[6]],"outputs":[[5],[6]]}}`, "def f(n): return [n]"},
		{`{"tests":[{"assert":"a = [3, [1], 2]\nf(a)\nassert a == [2, [1], 3]\nd = {}\ng(d)\nassert d == {1: {2}}"}]}`, "def f(a): a.reverse()\ndef g(d): d[1] = {2}"},
		{`{"tests":[{"assert":"assert f(lambda x: x + k, [1, 2]) == [2, 3]\nassert f(str, [1]) == ['1']\nassert f(f, []) == []"}],"setup":"k = 1"}`, "def f(g, x): return [g(y) for y in x]"},
		{`{"tests":[{"assert":"def boom(x): raise ValueError('no')\nassert f(boom) == 'no'\ncalls = []\nassert f(calls.append) is None and calls == [1]"}]}`, "def f(g):\n  try: return g(1)\n  except ValueError as e: return str(e)"},
		{`{"tests":[{"assert":"def even(n): return n == 0 or odd(n - 1, even)\nassert even(4) and not even(3)"}]}`, "def odd(n, even): return n != 0 and even(n - 1)"},
		{`{"tests":[{"assert":"import datetime\nfrom decimal import Decimal\nassert f() == (datetime.date(2020, 1, 2), Decimal('0.1'), b'x', 1 + 2j, frozenset({1}))"}]}`, "import datetime\nfrom decimal import Decimal\ndef f(): return datetime.date(2020, 1, 2), Decimal('0.1'), b'x', 1 + 2j, frozenset({1})"},
		{`{"tests":[{"assert":"n = Node(1)\nn.next = Node(2)\nn.next.value = 5\nassert total([n, n]) == 12 and str(n) == 'N1'"}]}`, "class Node:\n  def __init__(self, value): self.value, self.next = value, None\n  def __str__(self): return f'N{self.value}'\ndef total(ns): return sum(n.value + n.next.value for n in ns)"},
		{`{"tests":[{"assert":"import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(f(3), 9)\n        with self.assertRaises(TypeError): f('x')\nif __name__ == '__main__': unittest.main()"}]}`, "def f(x): return x ** 2"},
		{`{"tests":[{"assert":"assert sorted(f(9)) == [1, 3, 9]\nassert max(f(9)) == 9 and 3 in f(9) and len(list(g(3))) == 3"}]}`, "def f(n): return {i for i in range(1, n + 1) if n % i == 0}\ndef g(n):\n  yield from range(n)"},
	} {
		if got := pythonVerdict(t, c.row, c.program, bare); got.Verdict != verify.Right {
			t.Errorf("%s on %.300s: %s (%s)", c.program, c.row, got.Verdict, got.Reason)
		}
	}
	indented := "1. First:\n\n   ```python\n   n = int(input())\n   if n:\n       print(n * n)\n   ```\n2. Done.\n```\n9\n```"
	if got := pythonVerdict(t, square, indented, `{}`); got.Verdict != verify.Right {
		t.Errorf("an indented block: %s (%s)", got.Verdict, got.Reason)
	}
}
