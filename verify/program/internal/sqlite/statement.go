package sqlite

import (
	"fmt"
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// statement is a compiled statement of a connection.
type statement struct {
	*DB
	stmt uintptr // sqlite3_stmt*
	free []func()
}

// prepare compiles a text that holds one statement and nothing else.
func (db *DB) prepare(sql string) (*statement, error) {
	stmt, rest, err := db.compile(sql)
	if err != nil {
		return nil, err
	}
	s := &statement{DB: db, stmt: stmt}
	if stmt == 0 {
		return nil, &Error{Statement, "there is no statement"}
	}
	for rest = trim(rest); rest != ""; rest = trim(rest) { // comments, or a second statement
		var second uintptr
		second, rest, err = db.compile(rest)
		lib.Xsqlite3_finalize(db.tls, second)
		if err != nil || second != 0 {
			s.close()
			return nil, &Error{Statement, "more than one statement"}
		}
	}
	return s, nil
}

func trim(text string) string { return strings.Trim(text, "; \t\r\n\f") }

// compile compiles the first statement of a text and returns what follows it. The
// statement is 0 when the text holds none.
func (db *DB) compile(sql string) (stmt uintptr, rest string, err error) {
	text, free := cString(sql, db.tls)
	defer free()            // SQLite keeps a copy
	out := db.tls.Alloc(16) // the statement, and where it ends in the text
	defer db.tls.Free(16)
	tail := out + 8
	if rc := lib.Xsqlite3_prepare_v2(db.tls, db.db, text, -1, out, tail); rc != lib.SQLITE_OK {
		return 0, "", db.err(rc)
	}
	return *(*uintptr)(pointer(out)), sql[*(*uintptr)(pointer(tail))-text:], nil
}

func (s *statement) close() {
	lib.Xsqlite3_finalize(s.tls, s.stmt)
	for _, free := range s.free {
		free()
	}
}

// bind sets parameter i, counted from 1.
func (s *statement) bind(i int32, value any) int32 {
	switch v := value.(type) {
	case nil:
		return lib.Xsqlite3_bind_null(s.tls, s.stmt, i)
	case int64:
		return lib.Xsqlite3_bind_int64(s.tls, s.stmt, i, v)
	case float64:
		return lib.Xsqlite3_bind_double(s.tls, s.stmt, i, v)
	case string:
		text, free := cString(v, s.tls)
		s.free = append(s.free, free)
		return lib.Xsqlite3_bind_text(s.tls, s.stmt, i, text, int32(len(v)), 0) // SQLITE_STATIC: freed by close
	}
	panic(fmt.Sprintf("a value of type %T", value))
}

// rows steps through the result.
func (s *statement) rows(result *Result, limits Limits) error {
	bytes := 0
	for {
		switch rc := lib.Xsqlite3_step(s.tls, s.stmt); rc {
		case lib.SQLITE_DONE:
			return nil
		case lib.SQLITE_ROW:
		default:
			return s.err(rc)
		}
		if limits.Rows > 0 && len(result.Rows) == limits.Rows {
			return &Error{Budget, fmt.Sprintf("more than %d rows", limits.Rows)}
		}
		row := make([]any, len(result.Columns))
		for i := range row {
			row[i] = s.value(int32(i))
			bytes += 8
			switch v := row[i].(type) {
			case string:
				bytes += len(v)
			case Blob:
				bytes += len(v)
			}
		}
		if limits.Bytes > 0 && bytes > limits.Bytes {
			return &Error{Budget, fmt.Sprintf("a result of more than %d bytes", limits.Bytes)}
		}
		result.Rows = append(result.Rows, row)
	}
}

// value is column i of the current row.
func (s *statement) value(i int32) any {
	switch lib.Xsqlite3_column_type(s.tls, s.stmt, i) {
	case lib.SQLITE_INTEGER:
		return lib.Xsqlite3_column_int64(s.tls, s.stmt, i)
	case lib.SQLITE_FLOAT:
		return lib.Xsqlite3_column_double(s.tls, s.stmt, i)
	case lib.SQLITE_TEXT:
		p := lib.Xsqlite3_column_text(s.tls, s.stmt, i)
		return string(libc.GoBytes(p, int(lib.Xsqlite3_column_bytes(s.tls, s.stmt, i))))
	case lib.SQLITE_BLOB:
		p := lib.Xsqlite3_column_blob(s.tls, s.stmt, i)
		return Blob(libc.GoBytes(p, int(lib.Xsqlite3_column_bytes(s.tls, s.stmt, i))))
	}
	return nil
}
