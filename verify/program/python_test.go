//go:build linux && (amd64 || arm64)

package program

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// pythonVerdict judges a program given as it is.
func pythonVerdict(t testing.TB, row, program, options string) verify.Verdict {
	t.Helper()
	var r verify.Problem
	if err := json.Unmarshal([]byte(row), &r); err != nil {
		t.Fatal(err)
	}
	entry, err := verify.Lookup("code:python")
	if err != nil {
		t.Fatal(err)
	}
	v, err := entry.New(json.RawMessage(options))
	if err != nil {
		t.Fatal(err)
	}
	return v.Verify(r, program)
}

const bare = `{"extract":"none"}`

// pythonCase is a program and what becomes of it. reason is a part of the verdict's.
type pythonCase struct{ row, program, options, verdict, reason string }

func runPython(t *testing.T, cases []pythonCase) {
	t.Helper()
	for _, c := range cases {
		got := pythonVerdict(t, c.row, c.program, c.options)
		if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%q on %s:\n %s, %q; expected %s, %q", c.program, c.row, got.Verdict, got.Reason, c.verdict, c.reason)
		}
		if math.IsNaN(got.Score) != (got.Verdict == verify.NotScored) {
			t.Errorf("%q: score %v of a verdict %s", c.program, got.Score, got.Verdict)
		}
	}
}

func TestPythonVerdicts(t *testing.T) {
	const square = `{"tests":[{"stdin":"3\n","stdout":"9\n"},{"stdin":"4","stdout":"16"}]}`
	const double = `{"tests":[{"call":"f","args":[2],"expected":4},{"call":"f","args":[1.5],"expected":3}]}`
	const humanEval = `{"question":"from typing import List\n\n\ndef poly(xs: list, x: float):\n    return sum(c * x**i for i, c in enumerate(xs))\n\n\ndef f(xs: list):\n    \"\"\" The value at 2.\nIt is poly's.\n    \"\"\"\n",` +
		`"test":"def check(candidate):\n    assert candidate([1, 2]) == 5\n    assert poly([1], 7) == 1","entry_point":"f"}`
	const listed = `{"test_list":["assert f(2) == 4","assert f([1]) == [1, 1]"]}`
	runPython(t, []pythonCase{
		{square, "print(int(input())**2)", bare, verify.Right, ""},
		{square, "import sys\nprint(int(sys.stdin.read())**2)", bare, verify.Right, ""},
		{square, "import os\nprint(int(os.read(0, 100))**2)", bare, verify.Right, ""},
		{square, "print(int(open(0).read())**2, end='  \\n\\n')", bare, verify.Right, ""},
		{square, "print(9)", bare, verify.Wrong, `test 2 of 2: it prints "9\n", not "16"`},
		{square, "print(9)", `{"extract":"none","score":"fraction"}`, verify.Graded, "passes 1 of 2 tests"},
		{square, "print(int(input())**2); raise SystemExit(1)", bare, verify.Wrong, "exits with code 1"},
		{square, "print(", bare, verify.Wrong, "SyntaxError"},
		{square, "1/0", bare, verify.Wrong, "ZeroDivisionError"},
		{square, "while True: pass", `{"extract":"none","timeout":0.5}`, verify.Wrong, "processor time"},
		{square, "a = 'x' * (1 << 32)", bare, verify.Wrong, "MemoryError"},
		{square, "print('x' * 10**7)", bare, verify.Wrong, "prints more than is read"},
		{square, "def f(): f()\nf()", bare, verify.Wrong, "RecursionError"},
		{square, "if __name__ == '__main__': print(int(input())**2)", bare, verify.Right, ""},
		{square, "Here:\n```python\nprint(int(input())**2)\n```\nDone.", `{}`, verify.Right, ""},
		{square, "```python\nprint(1)\n```\n```\nx\n```\n```py\nprint(int(input())**2)\n```", `{}`, verify.Right, ""},
		{square, "print(int(input())**2)", `{}`, verify.Wrong, "no fenced block"},
		{square, "", bare, verify.Wrong, "empty"},

		{double, "def f(x): return 2*x", bare, verify.Right, ""},
		{double, "class Solution:\n  def f(self, x): return 2*x", bare, verify.Right, ""},
		{double, "def f(x): return str(2*x)", bare, verify.Wrong, "it returns"},
		{double, "def g(x): return 2*x", bare, verify.Wrong, "NameError"},
		{`{"tests":[{"call":"f","expected":[1,[2,3]]}]}`, "def f(): return 1, (2, 3)", bare, verify.Right, ""},
		{`{"tests":[{"call":"f","expected":{"1":[2],"a":null}}]}`, "def f(): return {1: [2], 'a': None}", bare, verify.Right, ""},
		{`{"tests":[{"call":"f","expected":[3,1,2]}]}`, "def f(): return {1, 2, 3}", bare, verify.Right, ""},
		{`{"tests":[{"call":"f","expected":[3,1,2]}]}`, "def f(): return [1, 2, 3]", bare, verify.Wrong, "it returns"},
		{`{"tests":[{"call":"f","expected":0.3}]}`, "def f(): return 0.1+0.2", bare, verify.Wrong, "it returns"},
		{`{"tests":[{"call":"f","expected":0.3}]}`, "def f(): return 0.1+0.2", `{"extract":"none","tolerance":1e-9}`, verify.Right, ""},
		{`{"tests":[{"call":"f","expected":true}]}`, "def f(): return 1", bare, verify.Wrong, "it returns"},
		{`{"tests":[{"call":"f","kwargs":{"a":2},"args":[1],"expected":3}]}`, "def f(b, a): return a+b", bare, verify.Right, ""},
		{`{"input_output":"{\"fn_name\":\"f\",\"inputs\":[[1,2]],\"outputs\":[[3]]}"}`, "def f(a, b): return a+b", bare, verify.Right, ""},
		{`{"input_output":{"inputs":["1 2\n"],"outputs":["3\n"]}}`, "print(sum(map(int, input().split())))", bare, verify.Right, ""},

		{listed, "def f(x): return x + x", bare, verify.Right, ""},
		{listed, "def f(x): return x * 3", bare, verify.Wrong, "AssertionError"},
		{listed, "x = 1", bare, verify.Wrong, "NameError"},
		{`{"test":"def check(candidate):\n    assert candidate(1) == 2\n    for i in range(9): assert candidate(i) == i + 1","entry_point":"inc"}`, "def inc(x): return x + 1", bare, verify.Right, ""},
		{`{"test":"def check(c):\n    try:\n        c(-1)\n        assert False\n    except ValueError: pass","entry_point":"f"}`, "def f(x): raise ValueError('no')", bare, verify.Right, ""},
		{humanEval, "from __future__ import annotations\n\ndef f(xs: list):\n    return poly(xs, 2)", bare, verify.Right, ""},
		{humanEval, "    return poly(xs, 2)", bare, verify.Right, ""},
		{humanEval, "    return poly(xs, 3)", bare, verify.Wrong, "AssertionError"},
		{humanEval, "def f(xs: list):\n    return poly(xs, 2)", bare, verify.Right, ""},
		{humanEval, "I go on:\n```python\n    return poly(xs, 2)\n```", `{}`, verify.Right, ""},
		{`{"question":"\ndef f(x):\n","test":"def check(g):\n    assert g(1) == 2","entry_point":"f"}`, "    return x + 1", bare, verify.Right, ""},
		{`{"question":"\ndef f(x):\n","test":"def check(g):\n    assert g(1) == 2","entry_point":"f"}`, "def f(x): return x + 1", bare, verify.Right, ""},
		{`{"question":"Write\ndef f(x):\n","test":"def check(g):\n    assert g(1) == 2","entry_point":"f"}`, "def f(x): return x + 1", bare, verify.Right, ""},
		{`{"question":"Write\ndef f(x):\n","test":"def check(g):\n    assert g(1) == 2","entry_point":"f"}`, "    return x + 1", bare, verify.Wrong, "IndentationError"},
		{`{"tests":[{"assert":"s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2 and len(s.items) == 1"}]}`,
			"class Stack:\n  def __init__(self): self.items = []\n  def push(self, x): self.items.append(x)\n  def pop(self): return self.items.pop()", bare, verify.Right, ""},
		{`{"setup":"import math","tests":[{"assert":"assert math.isclose(f(4), 2)"}]}`, "def f(x): return math.sqrt(x)", bare, verify.Right, ""},
		{`{"tests":[]}`, "print(1)", bare, verify.NotScored, "empty"},
		{`{}`, "print(1)", bare, verify.NotScored, "no tests"},
		{square, "print(1)", `{"extract":"none","python":"/nowhere/python"}`, verify.NotScored, "/nowhere/python"},
	})
}

// TestPythonRowFaults: tests that check nothing, and those that are broken themselves.
func TestPythonRowFaults(t *testing.T) {
	runPython(t, []pythonCase{
		{asserts("f(3) == 9"), "def f(x): return 1", bare, verify.NotScored, "is an expression and checks nothing: write assert"},
		{asserts("f(3) == 9 and not f(4)\nTrue"), "1/0", bare, verify.NotScored, "is an expression"},
		{asserts("all(f(x) == x for x in [1, 2])"), "def f(x): return 1", bare, verify.NotScored, "is an expression"},
		{asserts("x = f(3)\nx == 9"), "def f(x): return 1", bare, verify.NotScored, "checks nothing"},
		{asserts("assert True"), "def f(x): return 1", bare, verify.NotScored, "checks nothing"},
		{asserts("assert (f(3) == 9, 'nine')"), "def f(x): return 1", bare, verify.NotScored, "checks nothing"},
		{asserts("if f(3) != 9: assert False"), "def f(x): return 1", bare, verify.Wrong, "AssertionError"},
		{asserts("assert max(1, 2) == 2"), "def max(a, b): return a", bare, verify.NotScored, "names nothing of the program"},
		{asserts("assert f(3 == 9"), "def f(x): return 9", bare, verify.NotScored, "cannot be compiled: SyntaxError"},
		{asserts("def test_f():\n  assert f(3) == 9"), "def f(x): return 1", bare, verify.NotScored, "calls none of its functions"},
		{asserts("def test_f():\n  assert f(3) == 9\nok = test_f()"), "def f(x): return 1", bare, verify.Wrong, "AssertionError"},
		{asserts("return f(3)"), "def f(x): return 9", bare, verify.NotScored, "SyntaxError"},
		{`{"test_list":["f(3)"],"test_setup_code":"import math"}`, "def f(x): return 1", bare, verify.Right, ""},
		{asserts("check(f)"), "def f(x): return 1\ndef check(f): assert f(3) == 9", bare, verify.Wrong, "AssertionError"},
		{asserts("def check(f):\n  return [g(f) for g in [run]]\ndef run(f): assert f(3) == 9\ncheck(f)"), "def f(x): return 9", bare, verify.Right, ""},
		{asserts("if f(3) != 9: raise ValueError"), "def f(x): return 1", bare, verify.Wrong, "ValueError"},
		{`{"setup":"from nowhere import x","tests":[{"call":"f","expected":1}]}`, "def f(): return 1", bare, verify.NotScored, "setup: it fails: \"ModuleNotFoundError"},
		{`{"setup":"from nowhere import x","tests":[{"assert":"assert f() == x"}]}`, "def f(): return 1", bare, verify.NotScored, "setup"},
		{`{"setup":"def g(:","tests":[{"assert":"assert f() == g()"}]}`, "def f(): return 1", bare, verify.NotScored, "has a setup that cannot be compiled"},
		{`{"setup":"x = 1/0","tests":[{"stdin":"","stdout":"1"}]}`, "print(1)", bare, verify.NotScored, "setup"},
		{`{"setup":"x: List[int] = [1]","tests":[{"call":"f","expected":1}]}`, "def f(): return x[1]", bare, verify.Wrong, "IndexError"},
		{asserts("assert f(3) == 9"), "def f(x):\n  while True: pass", `{"extract":"none","timeout":0.5}`, verify.Wrong, "needs more than 0.5 s of processor time"},
		{asserts("assert f(3) == 9"), "import os\ndef f(x): os._exit(0)", bare, verify.Wrong, "it ends while it is tested"},
	})
}

// TestPythonCheats: ways to be paid without the right answer. None is.
func TestPythonCheats(t *testing.T) {
	rows := []string{
		`{"tests":[{"stdin":"","stdout":"42\n"}]}`,
		`{"tests":[{"call":"f","expected":42}]}`,
		`{"test_list":["assert f() == 42"]}`,
		`{"tests":[{"stdin":"","stdout":"  "},{"call":"f","expected":42}]}`,
	}
	for name, program := range map[string]string{
		"leave":           "import sys; sys.exit(0)",
		"leave at once":   "import os; os._exit(0)",
		"leave in f":      "import os\ndef f(): os._exit(0)",
		"equal to all":    "class A:\n  def __eq__(self, o): return True\n  def __ne__(self, o): return False\n  __hash__ = None\ndef f(): return A()\nprint(A())",
		"int equal":       "class A(int):\n  def __eq__(self, o): return True\n  def __repr__(self): return '42'\n  def __int__(self): return 41\ndef f(): return A(1)",
		"patched":         "import builtins\nbuiltins.AssertionError = ValueError\nbuiltins.isinstance = lambda a, b: True\nimport json\njson.dumps = lambda *a, **k: '42'\ndef f(): return 1",
		"atexit":          "import atexit, os\natexit.register(lambda: os._exit(0))\ndef f(): return 1",
		"forged frames":   "import os, struct\nfor fd in range(3, 64):\n  for m in (b'F{\"exit\":0,\"passed\":true,\"stdout\":\"42\\\\n\"}', b'{\"passed\": true}'):\n    try: os.write(fd, struct.pack('<I', len(m)) + m)\n    except OSError: pass\ndef f(): return 1",
		"parent's frames": "import sys\nfor d in range(20):\n  try: sys._getframe(d).f_globals['say'](4, {'passed': True})\n  except Exception: pass\ndef f(): return 1",
		"assertion":       "def f(): raise AssertionError",
		"kill":            "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
		"kill all":        "import os\nos.kill(-1, 9)\ndef f(): return 1",
	} {
		for _, row := range rows {
			if got := pythonVerdict(t, row, program, bare); got.Verdict != verify.Wrong {
				t.Errorf("%s on %s: %s (%s)", name, row, got.Verdict, got.Reason)
			}
		}
	}
}

// TestPythonForgets: what a program leaves does not reach the next one.
func TestPythonForgets(t *testing.T) {
	const row = `{"tests":[{"stdin":"","stdout":"clean\n"}]}`
	const look = "import os, builtins, math\nok = not os.path.exists('/tmp/x') and not hasattr(builtins, 'mark') and math.pi > 3\nprint('clean' if ok else 'dirty')"
	for _, dirt := range []string{
		"open('/tmp/x', 'w').write('hi'); print(open('/tmp/x').read())",
		"import builtins, math\nbuiltins.mark = 1\nmath.pi = 0",
		"import os, time\nif os.fork() == 0:\n  time.sleep(100)",
		"import os, time\nif os.fork() == 0:\n  if os.fork() == 0:\n    time.sleep(100)\n  os._exit(0)",
	} {
		pythonVerdict(t, row, dirt, bare)
		if got := pythonVerdict(t, row, look, bare); got.Verdict != verify.Right {
			t.Errorf("after %q: %s (%s)", dirt, got.Verdict, got.Reason)
		}
	}
}

// TestPythonTogether: many at once come to the verdicts of one at a time.
func TestPythonTogether(t *testing.T) {
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			row := fmt.Sprintf(`{"tests":[{"stdin":"%d","stdout":"%d"},{"assert":"assert f(%d) == %d"}]}`, i, i+1, i, i*i)
			program := "def f(x): return x * x\nif __name__ == '__main__': print(int(input()) + 1)"
			if got := pythonVerdict(t, row, program, bare); got.Verdict != verify.Right {
				t.Errorf("%d: %s (%s)", i, got.Verdict, got.Reason)
			}
		})
	}
	wait.Wait()
}

// BenchmarkPython measures checks of one test, as many at once as there are
// processors.
func BenchmarkPython(b *testing.B) {
	for name, row := range map[string]string{
		"stdin":  `{"tests":[{"stdin":"3","stdout":"9"}]}`,
		"call":   `{"tests":[{"call":"f","args":[3],"expected":9}]}`,
		"assert": `{"tests":[{"assert":"assert f(3) == 9"}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			check := func() {
				program := "def f(x): return x * x\nif __name__ == '__main__': print(f(int(input())))"
				if got := pythonVerdict(b, row, program, bare); got.Verdict != verify.Right {
					b.Error(got.Reason)
				}
			}
			var start sync.WaitGroup // of the boxes, which takes long and happens once
			for range runtime.GOMAXPROCS(0) {
				start.Go(check)
			}
			start.Wait()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					check()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "checks/s")
		})
	}
}
