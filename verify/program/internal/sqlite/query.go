package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Kind says whose fault an error is.
type Kind int

// The kinds of errors.
const (
	Statement Kind = iota // the statement is not one that may run, or it failed
	Budget                // the statement went over a limit
	Memory                // it went over the limit of the heap
	Database              // the database cannot be read
	Engine                // SQLite itself broke
)

// Error is what stops a query.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Limits bound one query. Zero is no limit.
type Limits struct {
	Steps int64 // instructions of the virtual machine
	Rows  int   // of the result
	Bytes int   // of the result: texts and blobs, and 8 for every value
}

// Result is what a query gave.
type Result struct {
	Columns []string
	Rows    [][]any // nil, int64, float64, string or Blob
	// Tables are the tables and views of the database that it read, each once,
	// without those of SQLite itself; in the order in which they are met.
	Tables []string
}

// Blob is a value of bytes that are not text.
type Blob string

const onlyReads = "only a SELECT, WITH or VALUES that reads is run"

// stepsPerCheck is how often limits are looked at, at least. A few steps can take a
// second, as instr over two long texts does.
const stepsPerCheck = 10

// run is a query under way.
type run struct {
	ctx    context.Context
	limits Limits
	steps  int64
	over   string            // which limit stopped it
	known  map[string]string // tables of the database, by folded name

	functions int // that the statement names
	tables    []string
}

// runs finds the run of a connection for SQLite's callbacks.
var runs sync.Map // sqlite3* -> *run

// Query runs one statement that reads. The error is an *[Error].
func (db *DB) Query(ctx context.Context, sql string, limits Limits) (*Result, error) {
	heap.RLock()
	result, err := db.query(ctx, sql, limits)
	heap.RUnlock()
	if over := (*Error)(nil); errors.As(err, &over) && over.Kind == Memory {
		heap.Lock()
		defer heap.Unlock()
		return db.query(ctx, sql, limits)
	}
	return result, err
}

// query is Query beside others. A panic of the transpiled C, a fault of memory
// included, is an error of the engine.
func (db *DB) query(ctx context.Context, sql string, limits Limits) (result *Result, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &Error{Engine, fmt.Sprintf("SQLite broke: %v", p)}
		}
	}()
	if strings.ContainsRune(sql, 0) {
		return nil, &Error{Statement, "a NUL byte in the statement"}
	}
	db.run = &run{ctx: ctx, limits: limits, known: db.tables}
	runs.Store(db.db, db.run)
	defer runs.Delete(db.db)
	lib.Xsqlite3_progress_handler(db.tls, db.db, stepsPerCheck, address(progress), db.db)
	lib.Xsqlite3_set_authorizer(db.tls, db.db, address(authorize), db.db)
	defer lib.Xsqlite3_progress_handler(db.tls, db.db, 0, 0, 0)
	defer lib.Xsqlite3_set_authorizer(db.tls, db.db, 0, 0)

	s, err := db.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if lib.Xsqlite3_stmt_readonly(db.tls, s.stmt) == 0 || lib.Xsqlite3_stmt_isexplain(db.tls, s.stmt) != 0 {
		return nil, &Error{Statement, onlyReads}
	}
	result = &Result{Tables: db.run.tables}
	for i := range lib.Xsqlite3_column_count(db.tls, s.stmt) {
		result.Columns = append(result.Columns, libc.GoString(lib.Xsqlite3_column_name(db.tls, s.stmt, i)))
	}
	return result, s.rows(result, limits)
}

// progress is called every stepsPerCheck steps; a result other than 0 stops the
// statement.
func progress(_ *libc.TLS, db uintptr) int32 {
	found, ok := runs.Load(db)
	if !ok {
		return 0
	}
	r := found.(*run)
	r.steps += stepsPerCheck
	switch {
	case r.limits.Steps > 0 && r.steps > r.limits.Steps:
		r.over = fmt.Sprintf("more than %d steps", r.limits.Steps)
	case r.ctx.Err() != nil:
		r.over = "out of time"
	default:
		return 0
	}
	return 1
}

// maxFunctions are those that a statement may name. Limits are looked at where the
// machine loops: what stands in one expression runs to its end, and one function over
// two long texts (limits of open.go) takes up to half a second.
const maxFunctions = 100

// refusedFunctions give other values in every run, reach outside, or take minutes over
// long texts (json_patch looks for each key of one in all of the other).
var refusedFunctions = map[string]bool{
	"random": true, "randomblob": true, "load_extension": true, "fts3_tokenizer": true,
	"json_patch": true, "jsonb_patch": true,
	"changes": true, "total_changes": true, "last_insert_rowid": true,
}

// authorize decides what a statement may hold, while it is compiled.
func authorize(_ *libc.TLS, db uintptr, action int32, first, second, database, _ uintptr) int32 {
	found, ok := runs.Load(db)
	if !ok {
		return lib.SQLITE_DENY
	}
	r := found.(*run)
	switch action {
	case lib.SQLITE_SELECT, lib.SQLITE_RECURSIVE:
		return lib.SQLITE_OK
	case lib.SQLITE_READ:
		r.read(goString(first))
		return lib.SQLITE_OK
	case lib.SQLITE_FUNCTION:
		if r.functions++; r.functions > maxFunctions {
			r.over = fmt.Sprintf("more than %d functions", maxFunctions)
		} else if !refusedFunctions[strings.ToLower(goString(second))] {
			return lib.SQLITE_OK
		}
	}
	return lib.SQLITE_DENY
}

func (r *run) read(table string) {
	if name, known := r.known[folded(table)]; known && !slices.Contains(r.tables, name) {
		r.tables = append(r.tables, name)
	}
}

func goString(p uintptr) string {
	if p == 0 {
		return ""
	}
	return libc.GoString(p)
}

// err is the error of a call that returned rc.
func (db *DB) err(rc int32) error {
	text := resultText(db.tls, rc)
	if db.run != nil && db.run.over != "" {
		return &Error{Budget, db.run.over}
	}
	if db.db != 0 {
		text = libc.GoString(lib.Xsqlite3_errmsg(db.tls, db.db))
	}
	switch rc & 0xff {
	case lib.SQLITE_TOOBIG:
		return &Error{Budget, fmt.Sprintf("%s (a value has at most %d bytes)", text, lengthBytes)}
	case lib.SQLITE_NOMEM:
		return &Error{Memory, fmt.Sprintf("more than %d MiB of memory", heapBytes>>20)}
	case lib.SQLITE_AUTH:
		return &Error{Statement, onlyReads}
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_FULL, lib.SQLITE_PROTOCOL:
		return &Error{Database, text}
	}
	return &Error{Statement, text}
}
