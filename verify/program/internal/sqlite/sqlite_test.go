package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/libc"
)

func people(t testing.TB) *DB {
	t.Helper()
	image, err := Build(func(b Builder) error {
		if err := b.Exec(`CREATE TABLE person (name TEXT, age INTEGER, size REAL); CREATE VIEW adult AS SELECT name FROM person WHERE age >= 18;`); err != nil {
			return err
		}
		return b.Insert("person", [][]any{{"Ann", int64(30), 1.5}, {"Bob", int64(17), nil}, {"Ann", int64(30), 1.5}})
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := OpenImage(image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// bounded are the limits of these tests; the time is a backstop that none reaches.
var bounded = Limits{Steps: 2_000_000, Rows: 1000, Bytes: 1 << 20}

func TestQuery(t *testing.T) {
	db := people(t)
	for _, c := range []struct {
		sql    string
		rows   [][]any
		tables []string
	}{
		{"SELECT name, age, size FROM person", [][]any{{"Ann", int64(30), 1.5}, {"Bob", int64(17), nil}, {"Ann", int64(30), 1.5}}, []string{"person"}},
		{"SELECT * FROM adult;", [][]any{{"Ann"}, {"Ann"}}, []string{"person", "adult"}},
		{"select count(*) from person -- that many", [][]any{{int64(3)}}, []string{"person"}},
		{"SELECT x'00ff', 'a' || char(0) || 'b'; -- bytes\n/* done */ ; ", [][]any{{Blob("\x00\xff"), "a\x00b"}}, nil},
		{"VALUES (1), (2)", [][]any{{int64(1)}, {int64(2)}}, nil},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n", [][]any{{int64(1)}, {int64(2)}, {int64(3)}}, nil},
		{"SELECT date('now'), CURRENT_TIMESTAMP, strftime('%Y', 'now')", [][]any{{"2025-01-01", "2025-01-01 12:00:00", "2025"}}, nil},
		{"SELECT name FROM person WHERE age > 100", nil, []string{"person"}},
	} {
		got, err := db.Query(context.Background(), c.sql, bounded)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if !reflect.DeepEqual(got.Rows, c.rows) || !reflect.DeepEqual(got.Tables, c.tables) {
			t.Errorf("%s: rows %v of %v; want %v of %v", c.sql, got.Rows, got.Tables, c.rows, c.tables)
		}
	}
}

func TestRefused(t *testing.T) {
	db := people(t)
	outside := filepath.ToSlash(filepath.Join(t.TempDir(), "outside.db"))
	for _, c := range []struct {
		sql  string
		kind Kind
		text string
	}{
		{"", Statement, "no statement"},
		{" -- nothing", Statement, "no statement"},
		{"SELECT 1; SELECT 2", Statement, "more than one"},
		{"SELECT 1; DROP TABLE person", Statement, "more than one"},
		{"SELECT 1; nonsense", Statement, "more than one"},
		{"SELECT 1\x00; DROP TABLE person", Statement, "NUL"},
		{"SELECT height FROM person", Statement, "no such column"},
		{"INSERT INTO person VALUES ('Eve', 1, 1)", Statement, "that reads"},
		{"WITH x AS (SELECT 1) DELETE FROM person", Statement, "that reads"},
		{"DROP TABLE person", Statement, "that reads"},
		{"CREATE TEMP TABLE t AS SELECT 1", Statement, "that reads"},
		{"BEGIN", Statement, "that reads"},
		{"VACUUM INTO '" + outside + "'", Statement, ""},
		{"ATTACH '" + outside + "' AS o", Statement, "that reads"},
		{"PRAGMA query_only=0", Statement, "that reads"},
		{"SELECT * FROM pragma_database_list", Statement, ""},
		{"EXPLAIN SELECT 1", Statement, "that reads"},
		{"SELECT load_extension('x')", Statement, ""},
		{"SELECT random()", Statement, "not authorized"},
		{"SELECT name FROM person ORDER BY RANDOM()", Statement, "not authorized"},
		{"SELECT randomblob(8)", Statement, "not authorized"},
		{"SELECT writefile('" + outside + "', 'x')", Statement, "no such function"},
		{"SELECT readfile('/etc/passwd')", Statement, "no such function"},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", Budget, "steps"},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", Budget, "1000 rows"},
		{"SELECT count(*) FROM person a, person b, person c, person d, person e, person f, person g, person h, person i, person j, person k, person l, person m, person n", Budget, "steps"},
		{"SELECT length(zeroblob(1000000000))", Budget, "too big"},
		{"SELECT length(printf('%.*c', 1000000000, 'x'))", Budget, ""},
		{"SELECT hex(hex(hex(zeroblob(100000))))", Budget, "too big"},
		{"SELECT replace(hex(zeroblob(50000)), '0', hex(zeroblob(50000)))", Budget, "too big"},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10) SELECT hex(zeroblob(100000)) FROM n", Budget, "bytes"},
		{"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), Statement, ""},
		{"SELECT 1" + strings.Repeat(" + 1", 5000), Statement, ""},
		{"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 1000), Statement, ""},
		{"SELECT '" + strings.Repeat("x", 100_000) + "'", Budget, "too big"},
		{"SELECT " + strings.Repeat("*,", 300) + "* FROM person", Statement, ""},
	} {
		_, err := db.Query(context.Background(), c.sql, bounded)
		var e *Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Text, c.text) {
			t.Errorf("%.80s: %v, want kind %d with %q", c.sql, err, c.kind, c.text)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a query wrote a file")
	}
	if got, err := db.Query(context.Background(), "SELECT count(*) FROM person", bounded); err != nil || got.Rows[0][0] != int64(3) {
		t.Errorf("after all this: %v, %v", got, err)
	}
}

// A chain of common tables, each joined with itself, grows as a power of two while
// it is compiled.
func TestCompilationIsBounded(t *testing.T) {
	db := people(t)
	sql := "WITH t0 AS (SELECT 1 AS x)"
	for i := range 40 {
		sql += strings.NewReplacer("$n", string(rune('A'+i%26))+string(rune('a'+i/26)), "$p", prior(i)).Replace(", $n AS (SELECT a.x FROM $p a, $p b)")
	}
	sql += " SELECT * FROM " + prior(40)
	_, err := db.Query(context.Background(), sql, bounded)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Budget && e.Kind != Memory && e.Kind != Statement {
		t.Errorf("%v", err)
	}
}

func prior(i int) string {
	if i == 0 {
		return "t0"
	}
	return string(rune('A'+(i-1)%26)) + string(rune('a'+(i-1)/26))
}

// Rows that are sorted are held in memory, and the heap has a limit.
const hog = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(z) FROM (SELECT i, hex(zeroblob(100000 + i % 2)) AS z FROM n ORDER BY z, i)"

func TestMemoryIsBounded(t *testing.T) {
	db := people(t)
	_, err := db.Query(context.Background(), hog, Limits{Steps: 100_000_000})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Memory {
		t.Fatalf("%v", err)
	}
}

// A query that is beside one that takes all memory has the outcome that it has
// alone.
func TestMemoryOfOthers(t *testing.T) {
	var wait sync.WaitGroup
	for range 2 {
		db := people(t)
		wait.Go(func() {
			if _, err := db.Query(context.Background(), hog, Limits{Steps: 100_000_000}); err == nil {
				t.Error("no error")
			}
		})
	}
	db := people(t)
	for range 200 {
		got, err := db.Query(context.Background(), "SELECT sum(length(z)) FROM (SELECT hex(zeroblob(100000)) AS z FROM person ORDER BY z)", bounded)
		if err != nil || got.Rows[0][0] != int64(600000) {
			t.Fatalf("%v, %v", got, err)
		}
	}
	wait.Wait()
}

func TestTimeIsTheBackstop(t *testing.T) {
	db := people(t)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := db.Query(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", Limits{})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Budget || e.Text != "out of time" {
		t.Errorf("%v", err)
	}
}

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	image, err := Build(func(b Builder) error { return b.Exec("CREATE TABLE t AS SELECT 5 AS x") })
	if err != nil {
		t.Fatal(err)
	}
	data := libc.GoBytes(image.data, int(image.size))
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good 100%?#.db", data)
	db, err := OpenFile(good)
	if err != nil {
		t.Fatal(err)
	}
	got, err := db.Query(context.Background(), "SELECT x FROM t", bounded)
	db.Close()
	if err != nil || !reflect.DeepEqual(got.Rows, [][]any{{int64(5)}}) {
		t.Errorf("%v, %v", got, err)
	}
	spoilt := append([]byte{}, data...)
	copy(spoilt[100:], strings.Repeat("\xa5", 200))
	write("wal.db-wal", []byte("rows"))
	for _, path := range []string{
		filepath.Join(dir, "absent.db"), dir, write("text.db", []byte(strings.Repeat("not a database\n", 100))),
		write("spoilt.db", spoilt), write("wal.db", data),
	} {
		var e *Error
		if _, err := OpenFile(path); !errors.As(err, &e) || e.Kind != Database {
			t.Errorf("%s: %v", path, err)
		}
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 5 {
		t.Errorf("files appeared: %v", files)
	}
}

func BenchmarkOpenAndQuery(b *testing.B) {
	image, err := Build(func(b Builder) error { return b.Exec("CREATE TABLE t AS SELECT 5 AS x") })
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		db, err := OpenImage(image)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := db.Query(context.Background(), "SELECT x FROM t", bounded); err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

// The trims of trim.go trim as SQLite's own of one argument do, and its documentation
// says; and take no time over long texts.
func TestTrim(t *testing.T) {
	db := people(t)
	for sql, want := range map[string]any{
		"SELECT trim('  a b ', ' ') = trim('  a b ')": int64(1), "SELECT trim('xyaxbyx', 'xy')": "axb", "SELECT ltrim('xxa', 'x')": "a",
		"SELECT rtrim('axx', 'x')": "a", "SELECT trim('aaa', 'a')": "", "SELECT trim('éaé', 'é')": "a", "SELECT trim('a', '')": "a",
		"SELECT trim(NULL, 'a')": nil, "SELECT trim('a', NULL)": nil, "SELECT trim(1001, 1)": "00", "SELECT typeof(trim(5, ''))": "text",
		"SELECT trim('a' || char(0), char(0))": "a", "SELECT trim(x'6162', 'a')": "b",
		"SELECT length(trim(printf('%.*c', 250000, 'a'), printf('%.*c', 20000, 'b') || 'a'))": int64(0),
	} {
		got, err := db.Query(context.Background(), sql, bounded)
		if err != nil || !reflect.DeepEqual(got.Rows, [][]any{{want}}) {
			t.Errorf("%s: %v (%v), want %v", sql, got, err, want)
		}
	}
}
