package sqlite

import (
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// heapBytes is what SQLite may allocate, all connections of the process together.
const heapBytes = 256 << 20

// Now is the time that date('now') and CURRENT_TIMESTAMP have in every query.
var Now = time.Date(2025, time.January, 1, 12, 0, 0, 0, time.UTC)

// julianUnixEpoch is 1970-01-01 in the milliseconds of julian days that SQLite
// counts in: julian day 2440587.5.
const julianUnixEpoch = 24405875 * 8640000

// heap is read-locked by whoever runs a query, and locked by a query that runs
// alone because the memory was not enough for all.
var heap sync.RWMutex

// start sets SQLite up once for the process.
var start = sync.OnceValue(func() error {
	lib.PatchIssue199()
	tls := libc.NewTLS()
	defer tls.Close()
	args := tls.Alloc(8)
	defer tls.Free(8)
	// This build of SQLite counts no memory unless told to, and without it the
	// limit of the heap does nothing.
	if rc := lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MEMSTATUS, libc.VaList(args, int32(1))); rc != lib.SQLITE_OK {
		return &Error{Engine, "sqlite3_config: " + resultText(tls, rc)}
	}
	if rc := lib.Xsqlite3_initialize(tls); rc != lib.SQLITE_OK {
		return &Error{Engine, "sqlite3_initialize: " + resultText(tls, rc)}
	}
	lib.Xsqlite3_hard_heap_limit64(tls, heapBytes)
	vfs := (*lib.Tsqlite3_vfs)(pointer(lib.Xsqlite3_vfs_find(tls, 0)))
	vfs.FxCurrentTimeInt64 = address(standingClock)
	return nil
})

// standingClock is xCurrentTimeInt64 of the VFS.
func standingClock(_ *libc.TLS, _, result uintptr) int32 {
	*(*int64)(pointer(result)) = julianUnixEpoch + Now.UnixMilli()
	return lib.SQLITE_OK
}

// address is what transpiled C takes for the address of a function that is
// declared at top level: the word that a func value is.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// pointer views an address of C memory, which Go's collector neither moves nor
// frees.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func resultText(tls *libc.TLS, rc int32) string { return libc.GoString(lib.Xsqlite3_errstr(tls, rc)) }
