package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

func row(t testing.TB, text string) verify.Problem {
	t.Helper()
	var r verify.Problem
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

func verifier(t testing.TB, name string, options map[string]any) verify.Verifier {
	t.Helper()
	v, err := verify.New(name, options)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func block(language, program string) string {
	return "So:\n```" + language + "\n" + program + "\n```\n"
}

// check is a case of one of the verifiers of this package.
type check struct {
	options map[string]any
	row     string
	program string // in a block, unless it begins with "raw:"
	verdict string
	score   float64
	reason  string // a part of it
}

func run(t *testing.T, name, language string, checks []check) {
	t.Helper()
	for _, c := range checks {
		completion, raw := strings.CutPrefix(c.program, "raw:")
		if !raw {
			completion = block(language, c.program)
		}
		got := verifier(t, name, c.options).Verify(row(t, c.row), completion)
		score := got.Score
		if got.Verdict == verify.NotScored {
			score = 0
		}
		if got.Verdict != c.verdict || score != c.score || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s %v on %.300s\n got %s %v %q\nwant %s %v %q", name, c.options, c.program, got.Verdict, got.Score, got.Reason, c.verdict, c.score, c.reason)
		}
	}
}

const shop = `"schema":"CREATE TABLE item (name TEXT, price REAL, stock INTEGER)","rows":{"item":[["pen",1.5,10],["ink",4,3],["cup",4,7],["cup",4,7],["hat",null,0]]}`

func reference(query string) string {
	text, _ := json.Marshal(query)
	return `{` + shop + `,"answer":` + string(text) + `}`
}

func TestSQL(t *testing.T) {
	run(t, "sql", "sql", []check{
		{nil, reference("SELECT name FROM item WHERE stock > 5"), "SELECT i.name AS n FROM item i WHERE NOT stock <= 5;", "right", 1, "3 rows"},
		{nil, reference("SELECT name FROM item WHERE stock > 5"), "SELECT name FROM item WHERE stock > 7", "wrong", 0, "1 row, but the reference has 3"},
		{nil, reference("SELECT count(*) FROM item"), "SELECT sum(1.0) FROM item", "right", 1, ""},
		{nil, reference("SELECT stock FROM item"), "SELECT CAST(stock AS TEXT) FROM item", "wrong", 0, "the rows differ"},
		{nil, reference("SELECT price FROM item WHERE name = 'hat'"), "SELECT NULL FROM item WHERE name = 'hat'", "right", 1, ""},
		{nil, reference("SELECT price FROM item WHERE name = 'hat'"), "SELECT 0 FROM item WHERE name = 'hat'", "wrong", 0, ""},
		{nil, reference("SELECT price FROM item WHERE name = 'hat'"), "SELECT '' FROM item WHERE name = 'hat'", "wrong", 0, ""},
		{nil, reference("SELECT name FROM item WHERE stock = 3"), `SELECT name FROM item WHERE name = "ink"`, "right", 1, ""},
		{nil, reference("SELECT x'41' FROM item"), "SELECT 'A' FROM item", "wrong", 0, ""},
		{nil, reference("SELECT date('now') FROM item"), "SELECT '2025-01-01' FROM item", "right", 1, ""},
		{nil, `{` + shop + `,"result":[["ink"]]}`, "SELECT name FROM item WHERE stock = 3", "right", 1, ""},
		{nil, `{` + shop + `,"result":[]}`, "SELECT name FROM item WHERE stock = 99", "right", 1, ""},
		{nil, `{"schema":"CREATE TABLE t (a, b)","inserts":"INSERT INTO t VALUES (1, 'x'); INSERT INTO t VALUES (2, 'y')","answer":"SELECT b FROM t WHERE a = 2"}`, "SELECT max(b) FROM t", "right", 1, ""},
		{nil, `{"schema":"CREATE TABLE t (a)","rows":[{"t":[[1]]},{"t":[[1],[2]]}],"answer":"SELECT max(a) FROM t"}`, "SELECT min(a) FROM t", "wrong", 0, "database 2 of 2"},
		{nil, `{"schema":"CREATE TABLE t (a)","rows":[{"t":[[1]]},{"t":[[1],[2]]}],"answer":"SELECT max(a) FROM t"}`, "SELECT a FROM t ORDER BY a DESC LIMIT 1", "right", 1, "database 1 of 2"},
		{map[string]any{"digits": 12}, reference("SELECT 0.3 FROM item"), "SELECT 0.1 + 0.2 FROM item", "right", 1, ""},
		{nil, reference("SELECT 0.3 FROM item"), "SELECT 0.1 + 0.2 FROM item", "wrong", 0, ""},
		{map[string]any{"digits": 12}, reference("SELECT 4 FROM item"), "SELECT 4.00000000000001 FROM item", "right", 1, ""},
		{map[string]any{"digits": 12}, reference("SELECT 9007199254740993 FROM item"), "SELECT 9007199254740992 FROM item", "wrong", 0, ""},
		{map[string]any{"columns": "any"}, reference("SELECT name, stock, price FROM item"), "SELECT price, name, stock FROM item", "right", 1, ""},
		{map[string]any{"columns": "any"}, reference("SELECT name, name, stock FROM item"), "SELECT stock, name, name FROM item", "right", 1, ""},
		{map[string]any{"columns": "any"}, reference("SELECT name, stock FROM item"), "SELECT stock, (SELECT name FROM item j WHERE j.rowid = 6 - i.rowid) FROM item i", "wrong", 0, ""},
		{nil, reference("SELECT name, stock FROM item"), "SELECT stock, name FROM item", "wrong", 0, ""},
	})
}

// Comparing results as sets of rows accepts each of these.
func TestSQLFalsePositivesOfSets(t *testing.T) {
	run(t, "sql", "sql", []check{
		{nil, reference("SELECT name FROM item"), "SELECT DISTINCT name FROM item", "wrong", 0, "4 rows, but the reference has 5"},
		{nil, reference("SELECT DISTINCT name FROM item"), "SELECT name FROM item", "wrong", 0, ""},
		{nil, reference("SELECT name, price FROM item"), "SELECT a.name, a.price FROM item a, item b", "wrong", 0, ""},
		{nil, reference("SELECT name FROM item ORDER BY stock"), "SELECT name FROM item ORDER BY stock DESC", "wrong", 0, "another order"},
		{nil, reference("SELECT name FROM item ORDER BY stock"), "SELECT name FROM item", "wrong", 0, ""},
		{map[string]any{"nonempty": true}, reference("SELECT name FROM item WHERE stock > 99"), "SELECT name FROM item WHERE 0", "not_scored", 0, "no rows"},
		{nil, reference("SELECT name FROM item WHERE stock > 99"), "SELECT name, price FROM item WHERE 0", "wrong", 0, "2 columns, but the reference has 1"},
		{nil, reference("SELECT name FROM item WHERE stock > 99"), "SELECT name FROM item", "wrong", 0, ""},
		{nil, reference("SELECT count(*) FROM item"), "SELECT 5", "wrong", 0, "reads no table"},
		{nil, reference("SELECT count(*) FROM item"), "SELECT count(*) + 2 FROM sqlite_schema, json_each('[1,2,3]')", "wrong", 0, "reads no table"},
		{nil, reference("SELECT count(*) FROM item"), "SELECT count(*) FROM item WHERE 0 HAVING 0 UNION ALL VALUES (5)", "wrong", 0, "the same rows when all tables are empty"},
		{nil, reference("SELECT name FROM item WHERE stock = 3"), "SELECT name FROM item WHERE 0 UNION ALL VALUES ('ink')", "wrong", 0, "the same rows when all tables are empty"},
		{nil, reference("SELECT count(*) FROM item"), "SELECT 5 + 0 * count(*) FROM item", "wrong", 0, "the same rows when all tables are empty"},
		{map[string]any{"partial": "cells"}, reference("SELECT name FROM item WHERE stock > 5"), "SELECT name FROM item WHERE 0 UNION ALL VALUES ('pen')", "wrong", 0, "the same rows when all tables are empty"},
		{nil, reference("SELECT count(*) FROM item WHERE stock > 99"), "SELECT sum(stock > 99) + 0 FROM item", "right", 1, ""}, // on empty tables the reference says the same, and the query another
		{nil, reference("SELECT count(*) FROM item WHERE stock > 99"), "SELECT count(*) FROM item WHERE stock > 50", "right", 1, ""},
		{map[string]any{"must_read": false}, reference("SELECT count(*) FROM item"), "SELECT count(*) FROM item WHERE 0 HAVING 0 UNION ALL VALUES (5)", "right", 1, ""},
		{map[string]any{"must_read": false}, reference("SELECT count(*) FROM item"), "SELECT 5", "right", 1, ""},
		{nil, reference("SELECT 2 + 3"), "SELECT 5", "right", 1, ""},
	})
}

func TestSQLOrder(t *testing.T) {
	tied := reference("SELECT name, stock FROM item ORDER BY price")
	run(t, "sql", "sql", []check{
		// ink and the cups tie, and nothing says which comes first.
		{nil, tied, "SELECT name, stock FROM item ORDER BY price, name", "right", 1, ""},
		{nil, tied, "SELECT name, stock FROM item ORDER BY price, name DESC", "right", 1, ""},
		{nil, tied, "SELECT name, stock FROM item ORDER BY price DESC", "wrong", 0, "another order"},
		{map[string]any{"order": "never"}, tied, "SELECT name, stock FROM item", "right", 1, ""},
		{map[string]any{"order": "always"}, `{` + shop + `,"result":[["ink"],["pen"]]}`, "SELECT name FROM item WHERE name IN ('ink', 'pen') ORDER BY 1", "right", 1, ""},
		{map[string]any{"order": "always"}, `{` + shop + `,"result":[["ink"],["pen"]]}`, "SELECT name FROM item WHERE name IN ('ink', 'pen') ORDER BY 1 DESC", "wrong", 0, "another order"},
		{nil, `{` + shop + `,"result":[["ink"],["pen"]]}`, "SELECT name FROM item WHERE name IN ('ink', 'pen') ORDER BY 1 DESC", "right", 1, ""},
		// The order of a part of the query is none of the result's.
		{nil, reference("SELECT name FROM item WHERE stock IN (SELECT stock FROM item ORDER BY stock)"), "SELECT name FROM item ORDER BY name", "right", 1, ""},
		// LIMIT cuts between ink and the cups.
		{nil, reference("SELECT name FROM item ORDER BY price DESC LIMIT 1"), "SELECT 'cup' FROM item LIMIT 1", "not_scored", 0, "are not settled"},
		{map[string]any{"settled": false}, reference("SELECT name FROM item ORDER BY price DESC LIMIT 1"), "SELECT 'ink' FROM item LIMIT 1", "right", 1, ""},
	})
	for query, want := range map[string]bool{
		"SELECT a FROM t ORDER BY a":                             true,
		"select a from t order\n-- so\n/* it is */ by a":         true,
		"SELECT rank() OVER (ORDER BY a) FROM t":                 false,
		"SELECT 'ORDER BY' FROM t":                               false,
		"SELECT a FROM t -- ORDER BY a":                          false,
		"SELECT [order by], \"order by\", `order by` FROM t":     false,
		"WITH x AS (SELECT a FROM t ORDER BY a) SELECT * FROM x": false,
		"SELECT order_by FROM t":                                 false,
		"SELECT 'it''s' FROM t ORDER BY 1":                       true,
		"SELECT 1 UNION SELECT 2 ORDER BY 1":                     true,
		"SELECT '":                                               false,
		"/*":                                                     false,
	} {
		if _, ordered := topOrder(query); ordered != want {
			t.Errorf("%s: %v", query, !want)
		}
	}
	end, _ := topOrder("SELECT a, b FROM t ORDER BY a -- so\n LIMIT 1; -- end")
	if got, want := refined("SELECT a, b FROM t ORDER BY a -- so\n LIMIT 1; -- end", end, 2, true), "SELECT a, b FROM t ORDER BY a, 1 COLLATE BINARY DESC, 2 COLLATE BINARY DESC -- so\n LIMIT 1; -- end"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSQLPartial(t *testing.T) {
	cells := map[string]any{"partial": "cells"}
	two := `{"schema":"CREATE TABLE t (a, b)","rows":{"t":[[1,"x"],[2,"y"]]},"answer":"SELECT a, b FROM t"}`
	run(t, "sql", "sql", []check{
		{cells, two, "SELECT a, b FROM t", "right", 1, ""},
		{cells, two, "SELECT a, b FROM t LIMIT 1", "graded", 4.0 / 6, "F1"},
		{cells, two, "SELECT a, 'z' FROM t", "graded", 4.0 / 8, ""},
		{cells, two, "SELECT a FROM t", "graded", 4.0 / 6, ""},
		// A row is paired once: listing candidates costs precision.
		{cells, two, "SELECT s.a, t.b FROM t s, t", "graded", 8.0 / 12, ""},
		// The right values in the wrong rows are not right.
		{cells, two, "SELECT a, CASE b WHEN 'x' THEN 'y' ELSE 'x' END FROM t", "graded", 4.0 / 8, ""},
		{cells, two, "SELECT a + 10, b || '?' FROM t", "wrong", 0, ""},
		{cells, two, "SELECT a, b FROM t WHERE 0", "wrong", 0, ""},
		{map[string]any{"partial": "cells", "columns": "any"}, two, "SELECT b, 7, a FROM t", "graded", 8.0 / 10, ""},
		{cells, strings.Replace(two, "FROM t", "FROM t ORDER BY a", 1), "SELECT a, b FROM t ORDER BY a DESC", "wrong", 0, "another order"},
	})
}

func TestSQLExtraction(t *testing.T) {
	ref := reference("SELECT count(*) FROM item")
	lenient, none := map[string]any{"extract": "lenient"}, map[string]any{"extract": "none"}
	run(t, "sql", "sql", []check{
		{nil, ref, "raw:" + block("sql", "SELECT 1 FROM item") + block("sql", "SELECT count(*) FROM item"), "right", 1, ""},
		{nil, ref, "raw:" + block("sql", "SELECT count(*) FROM item") + block("python", "print(1)"), "right", 1, ""},
		{nil, ref, "raw:SELECT count(*) FROM item", "wrong", 0, "no fenced block of sql"},
		{lenient, ref, "raw:<think>hm</think>\nSELECT count(*) FROM item", "right", 1, ""},
		{lenient, ref, "raw:The answer is SELECT count(*) FROM item", "wrong", 0, ""},
		{none, ref, "raw:SELECT count(*) FROM item", "right", 1, ""},
		{nil, ref, "raw:", "wrong", 0, ""},
		{nil, ref, "raw:<think>" + block("sql", "SELECT count(*) FROM item"), "wrong", 0, "never closed"},
		{nil, ref, " ", "wrong", 0, "empty"},
	})
}

func TestSQLHostile(t *testing.T) {
	ref := reference("SELECT count(*) FROM item")
	for _, query := range []string{
		"DELETE FROM item", "SELECT 5; SELECT 5", "PRAGMA table_info(item)", "ATTACH 'x.db' AS x", "EXPLAIN SELECT 5",
		"CREATE TABLE x (y)", "SELECT count(*) FROM item ORDER BY random()", "SELEKT", "SELECT count(*) FROM items",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n, item",
		"SELECT zeroblob(1000000000) FROM item", "SELECT count(*) FROM item\x00",
		"SELECT * FROM sqlite_dbpage", "SELECT rtreecheck('item') FROM item", "SELECT rtreenode(2, x'0102') FROM item",
		"SELECT fts5_source_id() FROM item", "SELECT json_extract('[[[[', '$') FROM item", strings.Repeat("(", 100000),
	} {
		if got := verifier(t, "sql", map[string]any{"steps": 1_000_000}).Verify(row(t, ref), block("sql", query)); got.Verdict != verify.Wrong {
			t.Errorf("%.100s: %+v", query, got)
		}
	}
}

func TestSQLNotScored(t *testing.T) {
	run(t, "sql", "sql", []check{
		{nil, `{"answer":"SELECT 1"}`, "SELECT 1", "not_scored", 0, "no database"},
		{nil, `{` + shop + `}`, "SELECT 1", "not_scored", 0, "no reference"},
		{nil, reference("SELECT nome FROM item"), "SELECT 1", "not_scored", 0, "the reference query: no such column"},
		{nil, reference("DELETE FROM item"), "SELECT 1", "not_scored", 0, "the reference query"},
		{nil, reference("SELECT random() FROM item"), "SELECT 1", "not_scored", 0, "the reference query"},
		{nil, reference("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"), "SELECT 1", "not_scored", 0, "steps"},
		{nil, `{"schema":"CREATE TABLES t (a)","answer":"SELECT 1"}`, "SELECT 1", "not_scored", 0, "the database"},
		{nil, `{"schema":"CREATE TABLE t (a)","rows":{"t":[[1,2]]},"answer":"SELECT 1"}`, "SELECT 1", "not_scored", 0, "the database"},
		{nil, `{"schema":"CREATE TABLE t (a)","rows":{"t":[[[]]]},"answer":"SELECT 1"}`, "SELECT 1", "not_scored", 0, "rows"},
		{nil, `{"database":"absent.db","answer":"SELECT 1"}`, "SELECT 1", "not_scored", 0, "absent.db"},
		{nil, `{"schema":["CREATE TABLE t (a)"],"answer":"SELECT 1"}`, "SELECT 1", "not_scored", 0, `"schema" of the row has a list where a text should be`},
		{nil, `{"schema":"CREATE TABLE t (a)","rows":{"t":[1]},"answer":"SELECT 1"}`, "SELECT 1", "not_scored", 0, "it has a number where a list should be"},
		{nil, `{"schema":"CREATE TABLE t (a)","result":{"a":1}}`, "SELECT 1", "not_scored", 0, `"result" of the row has an object where a list should be`},
		{nil, `{"database":5,"answer":"SELECT 1"}`, "raw:", "not_scored", 0, "database"},
	})
	for _, options := range []map[string]any{{"order": "sometimes"}, {"digits": 18}, {"steps": 1}, {"colour": 1}} {
		if _, err := verify.New("sql", options); err == nil {
			t.Errorf("%v is accepted", options)
		}
	}
}

func TestSQLFile(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("testdata", "pair.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	spoilt := append([]byte{}, data...)
	copy(spoilt[4096:], strings.Repeat("\xa5", 4096)) // the page of the table
	for name, data := range map[string][]byte{"pair.sqlite": data, "spoilt.sqlite": spoilt} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "pair"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pair", "pair.sqlite"), data, 0o400); err != nil {
		t.Fatal(err)
	}
	folder := map[string]any{"folder": dir}
	run(t, "sql", "sql", []check{
		{folder, `{"database":"pair.sqlite","answer":"SELECT b FROM pair WHERE a = 1"}`, "SELECT 'one' FROM pair WHERE a = 1", "right", 1, ""},
		{folder, `{"db_id":"pair","answer":"SELECT b FROM pair WHERE a = 1"}`, "SELECT b FROM pair WHERE a < 2", "right", 1, ""},
		{folder, `{"database":"pair.sqlite","answer":"SELECT b FROM pair"}`, "DROP TABLE pair", "wrong", 0, ""},
		{folder, `{"database":"spoilt.sqlite","answer":"SELECT b FROM pair"}`, "SELECT 1", "not_scored", 0, "malformed"},
		{folder, `{"database":"spoilt.sqlite","result":[["one"]]}`, "SELECT b FROM pair", "not_scored", 0, "malformed"},
	})
	after, err := os.ReadFile(filepath.Join(dir, "pair.sqlite"))
	if err != nil || string(after) != string(data) {
		t.Errorf("the database has changed (%v)", err)
	}
}

func TestSQLConcurrent(t *testing.T) {
	v := verifier(t, "sql", nil)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 50 {
				r := row(t, reference(fmt.Sprintf("SELECT stock + %d FROM item", j)))
				if got := v.Verify(r, block("sql", fmt.Sprintf("SELECT %d + stock FROM item", j))); got.Verdict != verify.Right {
					t.Errorf("%d, %d: %+v", i, j, got)
				}
			}
		})
	}
	wait.Wait()
}

// Nothing that stands in a completion makes it not scored.
func FuzzSQL(f *testing.F) {
	for _, query := range []string{"SELECT count(*) FROM item", "SELECT 1; SELECT 2", "SELECT json_each('[') FROM item ORDER BY 1", "WITH x AS (VALUES (1)) SELECT * FROM x -- '", "SELECT printf('%s', 1e999)"} {
		f.Add(query)
	}
	v := verifier(f, "sql", map[string]any{"extract": "none", "steps": 100_000, "partial": "cells", "columns": "any"})
	task := row(f, reference("SELECT name, stock FROM item ORDER BY stock"))
	f.Fuzz(func(t *testing.T, query string) {
		got := v.Verify(task, query)
		if got.Verdict == verify.NotScored || !(got.Score >= 0 && got.Score <= 1) {
			t.Errorf("%q: %+v", query, got)
		}
		topOrder(query)
	})
}

func BenchmarkSQL(b *testing.B) {
	v, task := verifier(b, "sql", nil), row(b, reference("SELECT name, stock FROM item ORDER BY stock"))
	for b.Loop() {
		if got := v.Verify(task, block("sql", "SELECT name, stock FROM item ORDER BY stock")); got.Score != 1 {
			b.Fatal(got)
		}
	}
}
