package program

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

const (
	squares = `{"tests":[{"stdin":"3\n","stdout":"9\n"},{"stdin":"5\n","stdout":"25"}]}`
	adds    = `{"tests":[{"call":"add","args":[1,2],"expected":3},{"call":"add","args":["a","b"],"expected":"ab"}]}`
	one     = `{"tests":[{"call":"f","expected":1}]}`
)

func returns(expected string) string { return `{"tests":[{"call":"f","expected":` + expected + `}]}` }

func asserts(code string) string {
	text, _ := json.Marshal(code)
	return `{"tests":[{"assert":` + string(text) + `}]}`
}

func TestJavaScript(t *testing.T) {
	fraction := map[string]any{"score": "fraction"}
	run(t, "code:javascript", "javascript", []check{
		// Input in the ways that programs read it.
		{nil, squares, `const n = +require('fs').readFileSync(0, 'utf8'); console.log(n * n)`, "right", 1, "2 tests"},
		{nil, squares, `const n = +require('node:fs').readFileSync('/dev/stdin').toString().trim(); process.stdout.write(n * n + '\n')`, "right", 1, ""},
		{nil, squares, `require('readline').createInterface({input: process.stdin}).on('line', l => console.log(l * l))`, "right", 1, ""},
		{nil, squares, `const rl = require('readline').createInterface({input: process.stdin}); const all = []; rl.on('line', l => all.push(l)); rl.on('close', () => console.log(all[0] ** 2))`, "right", 1, ""},
		{nil, squares, `let s = ''; process.stdin.setEncoding('utf8'); process.stdin.on('data', c => s += c); process.stdin.on('end', () => console.log(s * s))`, "right", 1, ""},
		{nil, squares, `async function main() { for await (const line of require('readline').createInterface({input: process.stdin})) console.log(line * line) } main()`, "right", 1, ""},
		{nil, squares, `require('readline').createInterface({input: process.stdin}).question('', a => { console.log(a * a); process.exit(0); console.log('no') })`, "right", 1, ""},
		{nil, squares, `(async () => { const a = await require('readline/promises').createInterface({}).question(''); setTimeout(() => console.log(a * a), 10) })()`, "right", 1, ""},
		{nil, squares, `console.log(9)`, "wrong", 0, "test 2 of 2"},
		{fraction, squares, `console.log(9)`, "graded", 0.5, ""},
		{nil, squares, `console.log(9); throw new TypeError('x')`, "wrong", 0, "TypeError"},
		{nil, squares, `console.log(require('fs').readFileSync(0) ** 2); process.exit(1)`, "wrong", 0, "exits with code 1"},
		{nil, squares, `console.log(`, "wrong", 0, "SyntaxError"},

		// Calls.
		{nil, adds, `function add(a, b) { return a + b }`, "right", 1, ""},
		{nil, adds, `const add = (a, b) => a + b`, "right", 1, ""},
		{nil, adds, `export default function add(a, b) { return a + b }`, "right", 1, ""},
		{nil, adds, `module.exports = async (a, b) => a + b`, "right", 1, ""},
		{nil, adds, `module.exports.add = (a, b) => new Promise(r => setTimeout(() => r(a + b), 5))`, "right", 1, ""},
		{nil, adds, `function sub(a, b) { return a - b }`, "wrong", 0, "ReferenceError"},
		{nil, adds, `const add = (a, b) => { throw 5 }`, "wrong", 0, "throws 5"},
		{nil, adds, `const add = () => new Promise(() => {})`, "wrong", 0, "never comes"},
		{nil, returns(`[1,{"a":null,"b":[true,"x"]},0.1]`), `const f = () => [1, {b: [true, 'x'], a: null}, 0.1]`, "right", 1, ""},
		{nil, returns(`{"a":1}`), `const f = () => ({a: 1, b: undefined})`, "right", 1, ""},
		{nil, returns(`null`), `const f = () => {}`, "right", 1, ""},
		{nil, returns(`1000000000000000000001`), `const f = () => 10n ** 21n + 1n`, "right", 1, ""},
		{nil, returns(`0`), `const f = () => -0`, "right", 1, ""},
		{nil, returns(`0`), `const f = () => NaN`, "wrong", 0, "NaN"},
		{nil, returns(`0.3`), `const f = () => 0.1 + 0.2`, "wrong", 0, ""},
		{map[string]any{"tolerance": 0.01}, returns(`0.3`), `const f = () => 0.1 + 0.2`, "right", 1, ""},
		{nil, returns(`1`), `const f = () => '1'`, "wrong", 0, ""},
		{nil, returns(`[1,2]`), `const f = () => new Set([1, 2])`, "wrong", 0, "Map or Set"},
		{nil, returns(`[1,2]`), `const f = () => Uint8Array.of(1, 2)`, "right", 1, ""},
		{nil, returns(`"é\u0000😀"`), `const f = () => 'é\0😀'`, "right", 1, ""},

		// Asserts.
		{nil, asserts(`assert(f(2) === 4); assert.deepStrictEqual(f([1]), NaN)`), `const f = x => x * 2 || NaN`, "wrong", 0, ""},
		{nil, asserts(`assert.strictEqual(f(2), 4); assert.deepEqual([{a: [1]}], [{a: [1]}]); assert.throws(() => f(null.x))`), `function f(x) { return x * 2 }`, "right", 1, ""},
		{nil, asserts(`assert.strictEqual(await f(2), 5)`), `async function f(x) { return x * 2 }`, "wrong", 0, "4 is not 5"},
		{nil, `{"setup":"const k = 3;","tests":[{"call":"f","args":[2],"expected":6}]}`, `const f = x => k * x`, "right", 1, ""},

		{nil, adds, `class Solution { add(a, b) { return this.plus(a, b) } plus(a, b) { return a + b } }`, "right", 1, ""},
		{nil, adds, `class Solution { sub(a, b) { return a - b } }`, "wrong", 0, "not a function"},

		// The same in every run.
		{nil, returns(`[1735732800000,1735732800001,"2025-01-01T12:00:00.002Z"]`), `const f = () => [Date.now(), +new Date(), new Date().toISOString()]`, "right", 1, ""},
		{nil, returns(`true`), `const a = Math.random(), f = () => a > 0 && a < 1 && a !== Math.random()`, "right", 1, ""},
		{nil, `{"tests":[{"stdout":"[ 1, [ 'a' ], { x: -0, 'y z': null } ] Map(1) { 1 => 2 } 3n a%\nundefined true\n"}]}`,
			`console.log([1, ['a'], {x: -0, 'y z': null}], new Map([[1, 2]]), 3n, 'a%'); console.log(undefined, true)`, "right", 1, ""},
		{nil, `{"tests":[{"stdout":"1.5 kg: {\"a\":1} 5%\n"}]}`, `console.log('%s kg: %j %d%%', 1.5, {a: 1}, 5)`, "right", 1, ""},

		// Rows and completions that lack something.
		{nil, `{"answer":"x"}`, `1`, "not_scored", 0, "no tests"},
		{nil, `{"tests":[{"call":"f","kwargs":{"a":1},"expected":1}]}`, `1`, "not_scored", 0, "keyword"},
		{nil, one, "raw:no block", "wrong", 0, "no fenced block of javascript"},
		{nil, one, "raw:" + block("js", "const f = () => 1"), "right", 1, ""},
	})
}

// TestJavaScriptRowFaults: tests that check nothing, and those that are broken themselves.
func TestJavaScriptRowFaults(t *testing.T) {
	run(t, "code:javascript", "javascript", []check{
		{nil, asserts(`f(3) === 9`), `const f = () => 1`, "not_scored", 0, "is an expression and checks nothing: write assert(...)"},
		{nil, asserts(`true`), `const f = () => 1`, "not_scored", 0, "checks nothing"},
		{nil, asserts(`f(3) == 9 && f(4) == 16;`), `const f = () => 1`, "not_scored", 0, "checks nothing"},
		{nil, asserts(`assert(f(3) === 9`), `const f = () => 9`, "not_scored", 0, "cannot be compiled: SyntaxError"},
		{nil, asserts(`assert(f(3) === 9`), `module.exports = () => 9`, "not_scored", 0, "SyntaxError"},
		{nil, `{"setup":"const k = nothing;","tests":[{"call":"f","expected":1}]}`, `const f = () => 1`, "not_scored", 0, "setup: ReferenceError"},
		{nil, `{"setup":"for (;;);","tests":[{"call":"f","expected":1}]}`, `const f = () => 1`, "not_scored", 0, "setup"},
		{nil, `{"test_list":["assert(f(3) === k)"],"test_setup_code":"const k = 9;"}`, `const f = (x) => x * x`, "right", 1, ""},
		{nil, `{"test":"function check(candidate) { assert.strictEqual(candidate(3), 9) }","entry_point":"f"}`, `const f = (x) => x * x`, "right", 1, ""},
		{nil, `{"test":"function check(candidate) { assert.strictEqual(candidate(3), 9) }","entry_point":"f"}`, `const f = (x) => x + x`, "wrong", 0, "6 is not 9"},

		// Fields of another kind.
		{nil, `{"tests":["assert(f() === 1)"]}`, `1`, "not_scored", 0, `test 1 of the row is a text: write {"assert":"..."}, or use test_list`},
		{nil, `{"tests":[{"stdin":3,"stdout":"9"}]}`, `1`, "not_scored", 0, "test 1 of the row has a number where a text should be, in its stdin"},
		{nil, `{"tests":[null]}`, `1`, "not_scored", 0, "test 1 of the row is not one of"},
		{nil, `{"tests":{"call":"f"}}`, `1`, "not_scored", 0, `"tests" of the row has an object where a list should be`},
		{nil, `{"setup":["const k = 1"],"tests":[{"call":"f","expected":1}]}`, `1`, "not_scored", 0, `"setup" of the row has a list where a text should be`},
		{nil, `{"input_output":{"fn_name":"f","inputs":[5],"outputs":[5]}}`, `1`, "not_scored", 0, `"input_output" of the row, test 1: has a number where a list should be`},
	})
}

// hanging is how many of the scripts use up their time, memory or output.
const hanging = 20

// hostileScripts each try to hang, to grow, to get out, or to be paid for nothing.
var hostileScripts = []string{
	`while (true);`,
	`for (;;) { try { while (true); } catch {} finally { for (;;); } }`,
	`const f = () => f() + 1; f()`,
	`Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`,
	`'x'.repeat(500000).indexOf('x'.repeat(200000) + 'y')`,
	`(2n ** 1000000n).toString().length; (2n ** 1000000n).toString()`,
	`/^(a+)+$/.test('a'.repeat(60) + 'b')`,
	`const a = []; for (;;) a.push(new Array(1000).fill(1))`,
	`let s = 'a'; for (;;) s += s`,
	`new Uint8Array(1e10)`,
	`Array.from({length: 1e9})`,
	`const p = () => Promise.resolve().then(p); p()`,
	`setInterval(() => {}, 1)`,
	`const g = () => setTimeout(g, 0); g()`,
	`for (;;) console.log('x'.repeat(1000))`,
	`const f = () => new Proxy({}, {ownKeys() { for (;;); }})`,
	`const f = () => { const a = []; a.push(a); return a }`,
	`const f = () => { let o = {}; for (let i = 0; i < 200000; i++) o = {o}; return o }`,
	`Object.defineProperty(Object.prototype, 'toJSON', {get() { for (;;); }}); JSON.stringify({})`,
	`Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9)`,
	`import('os').then(os => os.exec(['touch', 'x'])); require('child_process')`,
	`require('fs').readFileSync('/etc/passwd')`,
	`require('fs').writeFileSync('x', 'y')`,
	`process.exit(0)`,
	`print('1'); std.exit(0)`,
	`const f = eval('('.repeat(200000))`,
	// Replacing what the checking uses.
	`JSON.parse = JSON.stringify = () => '1'; const f = () => 2`,
	`Reflect.apply = () => 1; Array.prototype.push = () => 1; Array.prototype.join = () => '1'; Object.keys = () => []; const f = () => 2`,
	`globalThis.assert = () => {}; assert.strictEqual = () => {}; const f = () => 2`,
	`Promise.prototype.then = function (g) { g(1); return this }; Promise.resolve = () => 1; const f = async () => 2`,
	`const f = () => ({toJSON: () => 1, valueOf: () => 1, [Symbol.toPrimitive]: () => 1})`,
	`const f = () => ({then(g) { for (;;); }})`,
	`const f = () => ({get a() { throw 1 }})`,
	`Object.prototype.expected = 1; const f = () => Object.prototype`,
	`String.prototype.split = () => { throw 1 }; Function.prototype.call = Function.prototype.apply = () => 1; const f = () => 2`,
}

// Each is wrong, whichever kind of test it meets, and what follows it in the same
// process is judged as ever.
func TestJavaScriptHostile(t *testing.T) {
	v := verifier(t, "code:javascript", map[string]any{"timeout": 0.05, "memory_mb": 32, "output_kb": 64})
	var wait sync.WaitGroup
	type job struct {
		string
		hangs bool
	}
	work := make(chan job)
	for range 2 {
		wait.Go(func() {
			for script := range work {
				tasks := []string{one, asserts(`assert.strictEqual(f(), 1)`), `{"tests":[{"stdout":"one"}]}`}
				if script.hangs { // the same in each
					tasks = tasks[:1]
				}
				for _, task := range tasks {
					if got := v.Verify(row(t, task), block("js", script.string)); got.Verdict != verify.Wrong {
						t.Errorf("%s on %s: %+v", script.string, task, got)
					}
				}
				if got := v.Verify(row(t, one), block("js", "const f = () => 1")); got.Verdict != verify.Right {
					t.Errorf("after %s: %+v", script.string, got)
				}
			}
		})
	}
	for i, script := range hostileScripts {
		work <- job{script, i < hanging}
	}
	close(work)
	wait.Wait()
}

func TestJavaScriptOptions(t *testing.T) {
	for _, options := range []map[string]any{{"timeout": -1}, {"score": "some"}, {"colour": 1}, {"memory_mb": 1}} {
		if _, err := verify.New("code:javascript", options); err == nil {
			t.Errorf("%v is accepted", options)
		}
	}
}

// Nothing that stands in a completion makes it not scored.
func FuzzJavaScript(f *testing.F) {
	for _, script := range hostileScripts[hanging:] {
		f.Add(script)
	}
	v := verifier(f, "code:javascript", map[string]any{"extract": "none", "timeout": 0.1, "memory_mb": 32, "output_kb": 64})
	task := row(f, one)
	f.Fuzz(func(t *testing.T, script string) {
		if got := v.Verify(task, script); got.Verdict == verify.NotScored {
			t.Errorf("%q: %+v", script, got)
		}
	})
}

func BenchmarkJavaScript(b *testing.B) {
	v, task := verifier(b, "code:javascript", nil), row(b, one)
	completion := block("js", "const f = () => 1")
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if got := v.Verify(task, completion); got.Score != 1 {
				b.Error(fmt.Sprint(got))
			}
		}
	})
}

func TestBriefCutsLongTexts(t *testing.T) {
	if got := brief(strings.Repeat("é", 100)); len(got) > 80 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestChecksNothing(t *testing.T) {
	for _, code := range []string{
		`f(3) === 9`, `f(3)==9`, `true`, `9`, `f`, `"assert(x)"`, "`a(b)`", `f(3) == 9 && f(4) == 16`, `(f(3) === 9)`, `!f(3)`, `!(f(3))`, `f(3)[0] < 4 // assert(x)`,
		`f(a(1), [2])?.x === 9 ? true : false`, `() => assert(f(3) === 9)`, `await f(3) !== 9;`, `JSON.stringify(f({a: '('})) === "[1]"`, "f(1) === 1\nf(2) === 4\n", `f(3) /* assert(x) */ > 4`,
	} {
		if !checksNothing(code) {
			t.Errorf("%s is taken for a check", code)
		}
	}
	for _, code := range []string{
		`assert(f(3) === 9)`, `assert.strictEqual(f(3), 9)`, `check(f)`, `await check(f)`, `f(3) === 9 || assert.fail()`, `assert(f(3) === 9), assert(f(4) === 16)`,
		`if (f(3) !== 9) throw new Error('no')`, `if (!f) throw 1`, `for (const x of [1, 2]) { assert(f(x) === x) }`, `try { assert(f(3)) } catch { throw 1 }`, `{ assert(f(3) === 9) }`,
		`[1, 2].forEach(x => { assert(f(x) > 1) })`, `assert(/\(/.test(f(3)))`, `const x = f(3); assert(x === 9)`, `cases[0](f)`, `(check)(f)`, `(() => { if (f(3) !== 9) throw 1 })()`, "assert(\n  f(3) === 9\n)", `assert(f("it's") === ')')`,
	} {
		if checksNothing(code) {
			t.Errorf("%s is taken for no check", code)
		}
	}
}
