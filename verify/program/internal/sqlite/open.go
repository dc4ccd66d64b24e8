package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// limits of a connection that runs a stranger's query. A value of lengthBytes
// holds any honest text and keeps functions over two long texts, whose work is the
// product of the lengths, within a second.
var limits = []struct {
	id    int32
	value int32
}{
	{lib.SQLITE_LIMIT_LENGTH, lengthBytes},
	{lib.SQLITE_LIMIT_SQL_LENGTH, 64 << 10},
	{lib.SQLITE_LIMIT_COLUMN, 500},
	{lib.SQLITE_LIMIT_EXPR_DEPTH, 200},
	{lib.SQLITE_LIMIT_COMPOUND_SELECT, 100},
	{lib.SQLITE_LIMIT_VDBE_OP, 250_000},
	{lib.SQLITE_LIMIT_FUNCTION_ARG, 100},
	{lib.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200},
	{lib.SQLITE_LIMIT_ATTACHED, 0},
	{lib.SQLITE_LIMIT_WORKER_THREADS, 0},
}

const lengthBytes = 256 << 10

// settings of every connection that runs a query. Scans that nothing orders run
// backwards on demand, see [DB.Reverse].
const settings = `PRAGMA query_only=1; PRAGMA trusted_schema=0; PRAGMA temp_store=memory; PRAGMA cell_size_check=1;`

// Image is a database in memory, immutable.
type Image struct {
	data uintptr // C memory, freed by the collector
	size int64   // bytes
}

// DB is a connection that queries can be run on. It belongs to one goroutine at a
// time.
type DB struct {
	tls    *libc.TLS
	db     uintptr           // sqlite3*
	image  *Image            // kept alive: its memory is that of the database
	tables map[string]string // names of the tables and views of the schema, by folded name
	run    *run              // of the query under way
}

// Builder fills a new database with what a task gives. Nothing is limited but the
// heap.
type Builder struct{ db *DB }

// Build makes an image of what fill puts into an empty database. The error is
// that of fill, or an *[Error].
func Build(fill func(Builder) error) (*Image, error) {
	db, err := open(":memory:", lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE|lib.SQLITE_OPEN_MEMORY)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := fill(Builder{db}); err != nil {
		return nil, err
	}
	main, free := cString("main", db.tls)
	defer free()
	size := db.tls.Alloc(8)
	defer db.tls.Free(8)
	p := lib.Xsqlite3_serialize(db.tls, db.db, main, size, 0)
	if p == 0 {
		return nil, &Error{Memory, "the database does not fit in memory"}
	}
	defer lib.Xsqlite3_free(db.tls, p)
	image := &Image{size: *(*int64)(pointer(size))}
	// CString copies into memory that does not count as SQLite's heap.
	if image.data, err = libc.CString(string(libc.GoBytes(p, int(image.size)))); err != nil {
		return nil, &Error{Memory, "the database does not fit in memory"}
	}
	runtime.AddCleanup(image, func(data uintptr) {
		tls := libc.NewTLS()
		libc.Xfree(tls, data)
		tls.Close()
	}, image.data)
	return image, nil
}

// Emptied is the database without a row: its tables and views, made anew. The error is an *[Error];
// it may be about a table of a kind that this SQLite cannot make.
func (db *DB) Emptied() (*Image, error) {
	made := Result{Columns: []string{"sql"}}
	s, err := db.prepare(`SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid`)
	if err == nil {
		err = s.rows(&made, Limits{})
		s.close()
	}
	if err != nil {
		return nil, err
	}
	return Build(func(b Builder) error {
		for _, row := range made.Rows {
			text, _ := row[0].(string)
			if err := b.Exec(text); err != nil {
				return err
			}
		}
		return nil
	})
}

// OpenImage opens a database in memory for reading.
func OpenImage(image *Image) (*DB, error) {
	db, err := open(":memory:", lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_MEMORY)
	if err != nil {
		return nil, err
	}
	db.image = image
	main, free := cString("main", db.tls)
	defer free()
	if rc := lib.Xsqlite3_deserialize(db.tls, db.db, main, image.data, image.size, image.size, lib.SQLITE_DESERIALIZE_READONLY); rc != lib.SQLITE_OK {
		return nil, db.fail(rc)
	}
	return db, db.settle()
}

// OpenFile opens the SQLite file at path for reading, as one that nobody changes.
// It refuses a file beside which a write-ahead log lies: its rows would be missing.
func OpenFile(path string) (*DB, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, &Error{Database, err.Error()}
	} else if !info.Mode().IsRegular() {
		return nil, &Error{Database, fmt.Sprintf("%s is not a file", path)}
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return nil, &Error{Database, fmt.Sprintf("%s-wal holds rows that are not in the file: run PRAGMA wal_checkpoint(TRUNCATE) once", path)}
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, &Error{Database, err.Error()}
	}
	if full = filepath.ToSlash(full); !strings.HasPrefix(full, "/") { // C:/data of Windows
		full = "/" + full
	}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(full)
	db, err := open("file:"+escaped+"?mode=ro&immutable=1", lib.SQLITE_OPEN_READONLY|lib.SQLITE_OPEN_URI)
	if err != nil {
		return nil, err
	}
	return db, db.settle()
}

func open(name string, flags int32) (*DB, error) {
	if err := start(); err != nil {
		return nil, err
	}
	db := &DB{tls: libc.NewTLS()}
	path, free := cString(name, db.tls)
	defer free()
	handle := db.tls.Alloc(8)
	defer db.tls.Free(8)
	rc := lib.Xsqlite3_open_v2(db.tls, path, handle, flags|lib.SQLITE_OPEN_NOMUTEX, 0)
	if db.db = *(*uintptr)(pointer(handle)); rc != lib.SQLITE_OK {
		return nil, db.fail(rc)
	}
	return db, nil
}

// settle makes the connection one for queries. On an error it is closed.
func (db *DB) settle() error {
	for _, l := range limits {
		lib.Xsqlite3_limit(db.tls, db.db, l.id, l.value)
	}
	if rc := db.addTrims(); rc != lib.SQLITE_OK {
		return db.fail(rc)
	}
	if err := (Builder{db}).Exec(settings); err != nil {
		db.Close()
		return err
	}
	// The first read of the file: it tells whether it is a database at all.
	result := Result{Columns: []string{"name"}}
	s, err := db.prepare(`SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'`)
	if err == nil {
		err = s.rows(&result, Limits{})
		s.close()
	}
	if err != nil {
		db.Close()
		return err
	}
	db.tables = map[string]string{}
	for _, row := range result.Rows {
		name, _ := row[0].(string)
		db.tables[folded(name)] = name
	}
	return nil
}

// folded is a name as SQLite compares names: without the case of the letters of ASCII.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, name)
}

// Close frees the connection.
func (db *DB) Close() {
	if db.tls == nil {
		return
	}
	lib.Xsqlite3_close_v2(db.tls, db.db)
	db.tls.Close()
	runtime.KeepAlive(db.image)
	db.tls = nil
}

// fail is the error of the last call, after which the connection is closed.
func (db *DB) fail(rc int32) error {
	err := db.err(rc)
	db.Close()
	return err
}

// Exec runs the statements of a script.
func (b Builder) Exec(script string) error {
	text, free := cString(script, b.db.tls)
	defer free()
	if rc := lib.Xsqlite3_exec(b.db.tls, b.db.db, text, 0, 0, 0); rc != lib.SQLITE_OK {
		return b.db.err(rc)
	}
	return nil
}

// Insert adds rows to a table. Their values are nil, int64, float64 or string.
func (b Builder) Insert(table string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	width := len(rows[0])
	marks := strings.TrimSuffix(strings.Repeat("?,", width), ",")
	s, err := b.db.prepare(fmt.Sprintf(`INSERT INTO "%s" VALUES (%s)`, strings.ReplaceAll(table, `"`, `""`), marks))
	if err != nil {
		return err
	}
	defer s.close()
	for i, row := range rows {
		if len(row) != width {
			return fmt.Errorf("row %d of table %s has %d values, but the first has %d", i+1, table, len(row), width)
		}
		for j, value := range row {
			if rc := s.bind(int32(j+1), value); rc != lib.SQLITE_OK {
				return b.db.err(rc)
			}
		}
		if rc := lib.Xsqlite3_step(s.tls, s.stmt); rc != lib.SQLITE_DONE {
			return b.db.err(rc)
		}
		lib.Xsqlite3_reset(s.tls, s.stmt)
	}
	return nil
}

// cString is text in C memory; free releases it.
func cString(text string, tls *libc.TLS) (p uintptr, free func()) {
	p, err := libc.CString(text)
	if err != nil {
		panic(err) // out of memory
	}
	return p, func() { libc.Xfree(tls, p) }
}

// ReverseScans makes the scans of tables that nothing orders run backwards from now
// on: what it changes in a result is what the query leaves open.
func (db *DB) ReverseScans() error {
	return (Builder{db}).Exec("PRAGMA reverse_unordered_selects=1")
}

// Damaged says whether the database is malformed, when a query said so: a query can
// get that error by what it makes itself.
func (db *DB) Damaged() bool {
	s, err := db.prepare("PRAGMA quick_check(1)")
	if err != nil {
		return true
	}
	defer s.close()
	result := Result{Columns: []string{"quick_check"}}
	return s.rows(&result, Limits{}) != nil || len(result.Rows) != 1 || result.Rows[0][0] != "ok"
}
