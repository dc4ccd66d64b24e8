package sqlite

import (
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Ends of a text that trim takes from.
const (
	leftEnd  = 1
	rightEnd = 2
)

// addTrims replaces trim(text, characters) and its one-sided forms, whose work in
// SQLite is the product of the lengths, up to a minute a call, by ones whose work is
// the sum. They trim the same (https://www.sqlite.org/lang_corefunc.html#trim).
func (db *DB) addTrims() int32 {
	for _, f := range []struct {
		name string
		ends uintptr
	}{{"ltrim", leftEnd}, {"rtrim", rightEnd}, {"trim", leftEnd | rightEnd}} {
		name, free := cString(f.name, db.tls)
		rc := lib.Xsqlite3_create_function(db.tls, db.db, name, 2, lib.SQLITE_UTF8|lib.SQLITE_DETERMINISTIC|lib.SQLITE_INNOCUOUS, f.ends, address(trimText), 0, 0)
		free()
		if rc != lib.SQLITE_OK {
			return rc
		}
	}
	return lib.SQLITE_OK
}

// trimText is the xFunc of the trims; an argument that is NULL gives NULL.
func trimText(tls *libc.TLS, context uintptr, _ int32, arguments uintptr) {
	values := (*[2]uintptr)(pointer(arguments))
	var texts [2]string
	for i, v := range values {
		p := lib.Xsqlite3_value_text(tls, v)
		if p == 0 {
			return
		}
		texts[i] = string(libc.GoBytes(p, int(lib.Xsqlite3_value_bytes(tls, v))))
	}
	characters := map[rune]bool{}
	for _, r := range texts[1] {
		characters[r] = true
	}
	within := func(r rune) bool { return characters[r] }
	text, ends := texts[0], lib.Xsqlite3_user_data(tls, context)
	if ends&leftEnd != 0 {
		text = strings.TrimLeftFunc(text, within)
	}
	if ends&rightEnd != 0 {
		text = strings.TrimRightFunc(text, within)
	}
	result, free := cString(text, tls)
	defer free()
	lib.Xsqlite3_result_text(tls, context, result, int32(len(text)), ^uintptr(0)) // SQLITE_TRANSIENT: copied
}
