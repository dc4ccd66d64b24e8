package audit

import "strings"

// Programs and queries that pass careless tests. Each is in the block that the
// verifier takes a program from.

var (
	programming = []kind{programs}
	querying    = []kind{queries}
)

// inLanguage makes tries of the sources for the row's language, none for a
// language that is not there.
func inLanguage(sources map[string][]string) func(t target) []try {
	return func(t target) []try {
		var out []try
		for _, source := range sources[t.language] {
			out = append(out, try{text: "```" + t.language + "\n" + source + "\n```"})
		}
		return out
	}
}

func asQueries(sources ...string) func(t target) []try {
	return func(target) []try {
		var out []try
		for _, source := range sources {
			out = append(out, try{text: "```sql\n" + source + "\n```"})
		}
		return out
	}
}

var programAttacks = []attack{
	{"no program", "a block without a statement", programming, programming, inLanguage(map[string][]string{
		"python":     {"", "# nothing", "pass", "'''"},
		"javascript": {"", "// nothing", ";", "/*"},
		"wasm":       {"", "(module)", "AGFzbQEAAAA="},
	})},
	{"early exit", "a program that ends with success before the tests", programming, programming, inLanguage(map[string][]string{
		"python":     {"import sys\nsys.exit(0)", "import os\nos._exit(0)", "raise SystemExit", "quit()", "import atexit, os\natexit.register(os._exit, 0)"},
		"javascript": {"std.exit(0)", "process.exit(0)", "quit()", "throw 0"},
	})},
	{"silent program", "a program that prints nothing useful", programming, programming, inLanguage(map[string][]string{
		"python":     {"print()", "print(None)", "print('OK')", "print('passed')\nprint('1 passed in 0.01s')"},
		"javascript": {"console.log()", "console.log(undefined)", "console.log('OK')"},
	})},
	{"equal to everything", "an object that every comparison calls equal", programming, programming, inLanguage(map[string][]string{
		"python": {
			"class A:\n    def __eq__(self, o): return True\n    def __call__(self, *a, **k): return self\n    def __str__(self): return ''\nimport builtins\nbuiltins.print(A())",
			"import builtins\nclass A:\n    def __eq__(self, o): return True\n    def __call__(self, *a, **k): return self\nclass D(dict):\n    def __missing__(self, k): return A()\nbuiltins.AssertionError = A\n",
		},
		"javascript": {"globalThis.__proto__ = new Proxy({}, {get: () => () => true})"},
	})},
	{"replaced checks", "a program that replaces what tests use, or ends their loops", programming, programming, inLanguage(map[string][]string{
		"python": {
			"import json, struct, builtins\njson.dumps = lambda *a, **k: '{\"passed\": true}'\nbuiltins.all = builtins.any = builtins.isinstance = lambda *a: True\ndef f(*a): raise StopIteration\nsolve = solution = candidate = f",
			"import os, struct\nfor fd in range(3, 64):\n    for m in (b'{\"passed\": true}', b'F{\"exit\": 0, \"passed\": true}'):\n        try: os.write(fd, struct.pack('<I', len(m)) + m)\n        except OSError: pass\ndef f(*a): pass\nsolve = solution = candidate = f",
			"import builtins, atexit, os\nbuiltins.AssertionError = Warning\natexit.register(os._exit, 0)\ndef f(*a): os._exit(0)\nsolve = solution = candidate = f",
		},
		"javascript": {
			"JSON.stringify = () => ''; Object.is = () => true; Object.keys = () => []\nconst f = () => {}, solve = f, solution = f",
			"Promise.prototype.then = (ok) => ok(); Object.defineProperty(Promise.prototype, 'constructor', {get() { return class {} }})\nconst f = () => {}, solve = f, solution = f",
			"var assert = Object.assign(() => {}, {strictEqual() {}, equal() {}, deepStrictEqual() {}, deepEqual() {}}); require = () => assert\nvar f = () => {}, solve = f, solution = f",
		},
	})},
	{"no query", "text that is not a query", querying, querying, asQueries("", ";", "SELECT", "-- nothing", "1", "EXPLAIN")},
	{"change of data", "a statement that changes the database", querying, querying,
		asQueries("CREATE TABLE rewards(x)", "PRAGMA writable_schema=1", "ATTACH ':memory:' AS other", "DELETE FROM sqlite_master")},
	{"no rows", "a query that returns nothing: right if the reference returns nothing", querying, nil, asQueries("SELECT 1 WHERE 0", "SELECT NULL WHERE 0")},
	{"one row", "a query that reads no table", querying, nil, asQueries("SELECT 1", "SELECT NULL", "SELECT * FROM sqlite_master")},
	{"endless query", "a query that never ends", querying, querying,
		asQueries("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n",
			"SELECT max(0"+strings.Repeat(", instr(x, x || 1)", 99)+"), instr(x, x) FROM (SELECT printf('%.*c', 250000, 'a') x)")},
}
