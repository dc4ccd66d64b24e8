package program

import (
	"strings"
	"testing"
	"time"
)

// These are what a model might write to be paid without an answer, to escape being
// scored, or to be left alone for long; and what honest models write that looks odd.

// usual is the patience outside of tests.
var usual = patience

func init() { patience = time.Hour }

// TestJavaScriptAsserts: asserts share the program's world, and it cannot change what
// they are made of.
func TestJavaScriptAsserts(t *testing.T) {
	texts := asserts(`assert(JSON.stringify(f()) === JSON.stringify([1, 2])); assert.deepStrictEqual(f(), [1, 2])`)
	waits := asserts(`const assert = require('assert'); assert.strictEqual(await f(), 5)`)
	every := asserts(`const got = f(); assert([1, 2].every((x, i) => got[i] === x) && String(got) === '1,2' && 'a,b'.split(',').length === 2)`)
	helped := `{"setup":"function same(a, b) { return a === b }\nconst close = (a, b) => Math.abs(a - b) < 1e-9;","tests":[{"assert":"assert(same(f(), 5) && close(f(), 5))"}]}`
	for _, attack := range []string{
		`Promise.prototype.then = function (ok) { ok(1) }; Object.defineProperty(Promise.prototype, 'constructor', {get() { return class {} }})`,
		`try { Promise.prototype.then = (ok) => ok(1) } catch {}; try { Promise.prototype.constructor = 5 } catch {}; Object.prototype.then = (ok) => ok(5)`,
		`JSON.stringify = () => 'x'; globalThis.JSON = {stringify: () => 'x'}`,
		`const JSON = {stringify: () => 'x'}, String = () => '1,2', Math = {abs: () => 0}, assert = Object.assign(() => {}, {strictEqual() {}, deepStrictEqual() {}})`,
		`function assert() {}; assert.strictEqual = assert.deepStrictEqual = assert; require = () => assert`,
		`Object.prototype.toJSON = Array.prototype.toJSON = () => 1; Object.prototype[Symbol.toPrimitive] = () => 1`,
		`Array.prototype.every = () => true; String.prototype[Symbol.split] = () => [1, 2]; Array.prototype.toString = Array.prototype.join = () => '1,2'`,
		`Object.keys = () => []; Object.is = () => true; Object.getPrototypeOf = () => null; Reflect.ownKeys = () => []`,
		`function same() { return true }; globalThis.same = same; var g = Math; g.abs = () => 0`,
		`let s; String.prototype.replaceAll = function () { s = this; return this }`,
		`Object.setPrototypeOf(Array.prototype, new Proxy({}, {get: () => () => true}))`,
		`process.exit = () => {}; process.exit(0)`,
	} {
		run(t, "code:javascript", "js", []check{
			{nil, texts, attack + "\nvar f = () => 2", "wrong", 0, ""},
			{nil, waits, attack + "\nvar f = async () => 2", "wrong", 0, ""},
			{nil, every, attack + "\nvar f = () => [0]", "wrong", 0, ""},
			{nil, helped, attack + "\nvar f = () => 2", "wrong", 0, ""},
		})
	}
	run(t, "code:javascript", "js", []check{
		{nil, texts, `const f = () => [1, 2]`, "right", 1, ""},
		{nil, waits, `const assert = require('assert'); async function f() { return 5 }; assert(true)`, "right", 1, ""},
		{nil, every, `const f = () => Array.from({length: 2}, (_, i) => i + 1)`, "right", 1, ""},
		{nil, helped, `function same(a, b) { return false }; const f = () => 5`, "right", 1, ""},
		{nil, asserts(`assert.strictEqual([1, 2].last(), 2)`), `Array.prototype.last = function () { return this[this.length - 1] }`, "right", 1, ""},
		{nil, asserts(`assert.strictEqual(String(new P(1)) + JSON.stringify(new P(2)), 'P1"2"')`),
			`function P(x) { this.x = x }; P.prototype = Object.create({}); P.prototype.constructor = P; P.prototype.toString = function () { return 'P' + this.x }; P.prototype.toJSON = function () { return '' + this.x }`, "right", 1, ""},
		{nil, asserts(`assert.throws(() => f(-1)); try { f(-1) } catch (e) { assert.strictEqual(e.name + e.message + (e instanceof Error), 'MyErrorlowtrue') }`),
			`class MyError extends Error { constructor(m) { super(m); this.name = 'MyError' } }; const f = (x) => { if (x < 0) throw new MyError('low') }`, "right", 1, ""},
		{nil, one, `const f = () => '\0'.repeat(1 << 22)`, "wrong", 0, "longer than"},
	})
}

// TestSQLAttacks: queries that take long in one instruction, and names in other letters.
func TestSQLAttacks(t *testing.T) {
	ref := reference("SELECT count(*) FROM item")
	slow := "SELECT max(0" + strings.Repeat(", instr(x, y || 1)", 99) + "), instr(x, y) FROM (SELECT printf('%.*c', 250000, 'a') x, printf('%.*c', 120000, 'a') y FROM item)"
	run(t, "sql", "sql", []check{
		{nil, ref, "SELECT COUNT(*) FROM ITEM", "right", 1, ""},
		{nil, ref, `SELECT COUNT(*) FROM "Item" AS i`, "right", 1, ""},
		{nil, ref, slow, "wrong", 0, "more than 100 functions"},
		{map[string]any{"timeout": 0.2}, ref, strings.Replace(slow, ", instr(x, y || 1)", "", 9), "wrong", 0, "out of time"},
		{map[string]any{"timeout": 0.2}, ref, "SELECT count(*) FROM item", "right", 1, ""},
		{map[string]any{"timeout": 0.2}, reference(strings.Replace(slow, ", instr(x, y || 1)", "", 9)), "SELECT count(*) FROM item", "not_scored", 0, "out of time"},
		{nil, ref, "SELECT json_patch('{}', '{}') FROM item", "wrong", 0, "not authorized"},
		{nil, ref, "SELECT 'a' LIKE '" + strings.Repeat("%a", 101) + "' FROM item", "wrong", 0, "too complex"},
		{nil, ref, "SELECT count(*) FROM pragma_table_info('item')", "wrong", 0, ""},
		{nil, ref, "SELECT readfile('/etc/passwd') FROM item", "wrong", 0, ""},
		{nil, ref, "SELECT count(*) FROM item, dbstat", "wrong", 0, ""},
	})
}
