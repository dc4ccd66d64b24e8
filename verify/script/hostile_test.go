package script

import (
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/verify"
)

// hostile are bodies of reward functions that take all the memory, all the time or all
// the stack that they are given. None of them may reach the process that trains.
var hostile = []struct{ name, body string }{
	// Texts that grow by a factor in each round.
	{"join", "x = 'a' * 1000\nfor i in range(100):\n    x = ''.join([x, x])\nreturn 1"},
	{"join with a long separator", "x = 'a' * 4000000\nreturn len(x.join([''] * 4000000))"},
	{"format", "x = 'a' * 1000\nfor i in range(100):\n    x = '{0}{0}'.format(x)\nreturn 1"},
	{"replace", "x = 'a' * 1000\nfor i in range(100):\n    x = x.replace('a', 'aa')\nreturn 1"},
	{"replace, a square", "x = 'a' * 8000000\nreturn len(x.replace('a', x))"},
	{"replace of nothing", "x = 'a' * 8000000\nreturn len(x.replace('', x))"},
	{"percent", "x = ['a' * 1000]\nfor i in range(100):\n    x = ['%s%s' % (x, x)]\nreturn 1"},
	{"str of nested lists", "x = ['a']\nfor i in range(60):\n    x = [x, x]\nreturn len(str(x))"},
	{"repr of nested lists", "x = ['a']\nfor i in range(60):\n    x = [x, x]\nreturn len(repr(x))"},
	{"str of nested dicts", "x = {}\nfor i in range(60):\n    x = {1: x, 2: x}\nreturn len(str(x))"},
	{"print of nested lists", "x = ['a']\nfor i in range(60):\n    x = [x, x]\nprint(x)\nreturn 1"},
	{"fail with nested lists", "x = ['a']\nfor i in range(60):\n    x = [x, x]\nfail(x)"},
	{"a key error with nested lists", "x = ('a',)\nfor i in range(60):\n    x = (x, x)\nreturn {}[x]"},
	{"repr of a repr", "x = '\\\\' * 1000\nfor i in range(100):\n    x = repr(x)\nreturn 1"},
	{"upper of letters that grow", "x = '\u0250' * 1000\nfor i in range(100):\n    x = ''.join([x.upper(), x.title(), x.capitalize()])\nreturn 1"},

	// Lists, dicts and sets.
	{"extend", "x = [1] * 1000\nfor i in range(100):\n    x.extend(x)\nreturn 1"},
	{"add", "x = [1] * 1000\nfor i in range(100):\n    x = x + x\nreturn 1"},
	{"times", "x = [1] * 1000\nfor i in range(100):\n    x *= 10\nreturn 1"},
	{"lists of ranges", "x = []\nfor i in range(100000):\n    x.append(list(range(1000000)))\nreturn 1"},
	{"sorted", "x = []\ny = list(range(1000000))\nfor i in range(100000):\n    x.append(sorted(y))\nreturn 1"},
	{"zip", "x = []\ny = list(range(1000000))\nfor i in range(100000):\n    x.append(zip(y, y, y))\nreturn 1"},
	{"enumerate", "x = []\nfor i in range(100000):\n    x.append(enumerate(range(1000000)))\nreturn 1"},
	{"splits", "x = []\ny = 'a ' * 10000000\nfor i in range(100000):\n    x.append(y.split(' '))\nreturn 1"},
	{"slices", "x = []\ny = [0] * 3000000\nfor i in range(100000):\n    x.append(y[1:])\nreturn 1"},
	{"sets", "x = []\nfor i in range(100000):\n    x.append(set(range(1000000)))\nreturn 1"},
	{"unions", "x = set(range(1000000))\ny = []\nfor i in range(100000):\n    y.append(x.union(x) | x)\nreturn 1"},
	{"dicts", "x = []\nfor i in range(100000):\n    x.append(dict(zip(range(1000000), range(1000000))))\nreturn 1"},
	{"bytes", "x = []\nfor i in range(100000):\n    x.append(bytes([1] * 1000))\n    x.append(list(bytes('a' * 60000).elems()))\nreturn 1"},
	{"elems", "x = []\ny = 'a' * 30000000\nfor i in range(100000):\n    x.append(list(y.elems()))\nreturn 1"},
	{"a dict of large keys", "d = {}\nfor i in range(100000):\n    d[str(i).join([str(i)] * 1000000)] = i\nreturn 1"},
	{"many arguments", "def f(*x, **y):\n    return x\ny = list(range(1000000))\nx = []\nfor i in range(100000):\n    x.append(f(*y))\nreturn 1"},

	// Whole numbers.
	{"a shift", "return 1 << 10000000000"},
	{"a shift that is assigned", "x = 1\nx <<= 1000000000\nreturn 1"},
	{"powers", "x = 10\nfor i in range(100):\n    x = x * x\nreturn 1"},
	{"a number read from text", "return int('9' * 60000000) == 1"},
	{"a number in base 36", "return int('z' * 60000000, 36) == 1"},
	{"numbers to text", "x = int('9' * 3000000)\nreturn len(str(x))"},
	{"division", "x = int('f' * 30000000, 16)\ny = int('e' * 15000000, 16)\nfor i in range(100000):\n    z = x // y\nreturn 1"},

	// Time that steps do not count.
	{"comprehension", "return len([1 for a in range(1000000) for b in range(1000000) if False])"},
	{"hashes of nested tuples", "x = (1,)\nfor i in range(60):\n    x = (x, x)\nreturn {x: 1} == 0"},
	{"comparisons of nested lists", "x = [1]\ny = [1]\nfor i in range(8):\n    x = [x] * 1000\n    y = [y] * 1000\nreturn x == y"},
	{"order of nested lists", "x = [1]\ny = [1]\nfor i in range(8):\n    x = [x] * 1000\n    y = [y] * 1000\nreturn x < y"},
	{"count", "x = 'a' * 30000000\nn = 0\nfor i in range(300000):\n    n = x.count('b')\nreturn n"},
	{"find", "x = 'a' * 20000000\ny = 'a' * 10000000 + 'b'\nfor i in range(300000):\n    x.find(y)\nreturn 1"},
	{"in", "x = list(range(1000000))\nfor i in range(300000):\n    y = -1 in x\nreturn 1"},
	{"sums", "x = list(range(1000000))\nfor i in range(300000):\n    y = max(x)\nreturn 1"},
	{"a sort with a key", "def key(x):\n    return -x\nfor i in range(1000000):\n    sorted(range(1000000), key=key)\nreturn 1"},
	{"a reversed list", "x = list(range(1000000))\nfor i in range(100000):\n    reversed(x)\nreturn 1"},
	{"removal at the front", "x = list(range(1000000))\nfor i in range(300000):\n    x.pop(0)\n    x.insert(0, 1)\nreturn 1"},
	{"keys with the same hash", "x = {}\nfor i in range(200000):\n    x[i << 32] = i\nfor i in range(1000000):\n    y = x.get(-1)\nreturn 1"},

	// Depth.
	{"str of a deep list", "x = []\nfor i in range(100000):\n    x = [x]\nreturn len(str(x))"},
	{"hash of a deep tuple", "x = ()\nfor i in range(100000):\n    x = (x,)\nfor i in range(100000):\n    y = {x: 1}\nreturn 1"},
	{"recursion", "def f(g):\n    return g(g)\nreturn f(f)"},
	{"recursion of lambdas", "f = [None]\nf[0] = lambda: f[0]()\nreturn f[0]()"},
}

// TestHostileScripts: whatever a script does, it is not scored, and the next one is.
// The limits are lower than those of a run, so that the test is quick.
func TestHostileScripts(t *testing.T) {
	limitTime, limitMemory := maxTime, maxMemory
	t.Cleanup(func() { maxTime, maxMemory = limitTime, limitMemory })
	for _, c := range hostile {
		v := scripted(t, c.body, 0, 1)
		maxTime, maxMemory = 50*time.Millisecond, 200<<20
		got := v.Verify(scriptRow, "")
		maxTime, maxMemory = limitTime, limitMemory
		if got.Verdict != verify.NotScored || !strings.HasPrefix(got.Reason, "mine.star") {
			t.Errorf("%s: %+v; a script like this is not scored", c.name, got)
		}
	}
	if v := scripted(t, "return 1", 0, 1).Verify(scriptRow, ""); v.Verdict != verify.Right {
		t.Errorf("after them: %+v", v)
	}
}

// TestHostileTopLevel: neither does a script harm the process that checks it.
func TestHostileTopLevel(t *testing.T) {
	limitTime := maxTime
	t.Cleanup(func() { maxTime = limitTime })
	maxTime = 50 * time.Millisecond
	for source, want := range map[string]string{
		"x = [1]\nfor i in range(100):\n    x.extend(x)\n":                      "mine.star: more than 50ms",
		"x = [()]\nfor i in range(60):\n    x[0] = (x[0], x[0])\n":              "mine.star: more than 50ms", // frozen twice each
		"x = " + strings.Repeat("(", 30000) + strings.Repeat(")", 30000) + "\n": "excessive nesting",
		"x = " + strings.Repeat("-", 60000) + "1\n":                             "excessive nesting",
	} {
		_, err := New(Script{"mine.star", source + "def reward(row, completion):\n    return 1\n", 0, 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", source, err, want)
		}
	}
}
