package store

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Mem is a file system in memory, for tests. It knows what has been fsynced and
// what a crash would lose, and lets a test fail any operation.
//
// A crash keeps of each folder the names as they were at some moment since its
// last fsync (changes of one folder reach the disk in order, as in a journalling
// file system), and of each file its content at its last fsync and any part of
// what was written since, whether or not its name survives.
type Mem struct {
	// Before, if set, is called before each operation that changes something;
	// its error fails the operation. n counts these operations from 1. A failed
	// write has written half.
	Before func(n int, op, path string) error

	root  *memNode
	count int
	locks map[string]bool
}

// memNode is a folder or a file.
type memNode struct {
	folder bool

	names   map[string]*memNode   // folder: as a process sees it
	history []map[string]*memNode // folder: states since the last fsync, that one first

	data   []byte // file: as a process sees it
	synced []byte // file: at the last fsync
}

func newFolder() *memNode {
	return &memNode{folder: true, names: map[string]*memNode{}, history: []map[string]*memNode{{}}}
}

// changed notes a state of the folder that a crash may leave.
func (d *memNode) changed() { d.history = append(d.history, maps.Clone(d.names)) }

// NewMem makes an empty file system.
func NewMem() *Mem { return &Mem{root: newFolder(), locks: map[string]bool{}} }

// CrashClone is what a machine would find after losing power now: what was
// fsynced, and with r, a random part of the rest. No lock is held on it.
func (m *Mem) CrashClone(r *rand.Rand) *Mem {
	c := NewMem()
	c.root = m.root.survivor(r)
	return c
}

func (d *memNode) survivor(r *rand.Rand) *memNode {
	if !d.folder {
		data := d.synced
		if r != nil && !bytes.Equal(d.data, d.synced) {
			// Of what was written since, any part; what was fsynced only if it was
			// not truncated since.
			least := min(len(d.synced), len(d.data))
			data = d.data[:least+r.IntN(len(d.data)-least+1)]
		}
		return &memNode{data: bytes.Clone(data), synced: bytes.Clone(data)}
	}
	names := d.history[0]
	if r != nil {
		names = d.history[r.IntN(len(d.history))]
	}
	out := newFolder()
	for _, name := range slices.Sorted(maps.Keys(names)) { // sorted: r's numbers go to the same nodes each time
		out.names[name] = names[name].survivor(r)
	}
	out.history = []map[string]*memNode{maps.Clone(out.names)}
	return out
}

// before counts an operation and lets the test fail it.
func (m *Mem) before(op, p string) error {
	m.count++
	if m.Before == nil {
		return nil
	}
	if err := m.Before(m.count, op, filepath.ToSlash(p)); err != nil {
		return &fs.PathError{Op: op, Path: p, Err: err}
	}
	return nil
}

// find walks to a node and the folder that holds it. parent is nil if that
// folder is absent, node if the last part is.
func (m *Mem) find(p string) (parent, node *memNode, base string) {
	clean := path.Clean("/" + filepath.ToSlash(p))
	if clean == "/" {
		return nil, m.root, ""
	}
	dir, base := path.Split(clean)
	_, parent, _ = m.find(dir)
	if parent == nil || !parent.folder {
		return nil, nil, base
	}
	return parent, parent.names[base], base
}

func absent(op, p string) error { return &fs.PathError{Op: op, Path: p, Err: fs.ErrNotExist} }

// Mkdir is as FS says, as are the other methods.
func (m *Mem) Mkdir(p string) error {
	parent, node, base := m.find(p)
	switch {
	case node != nil:
		return &fs.PathError{Op: "mkdir", Path: p, Err: fs.ErrExist}
	case parent == nil:
		return absent("mkdir", p)
	}
	if err := m.before("mkdir", p); err != nil {
		return err
	}
	parent.names[base] = newFolder()
	parent.changed()
	return nil
}

func (m *Mem) Create(p string) (File, error) { return m.openFile("create", p, true) }

func (m *Mem) Append(p string) (File, error) { return m.openFile("open", p, false) }

func (m *Mem) openFile(op, p string, empty bool) (File, error) {
	if err := m.before(op, p); err != nil {
		return nil, err
	}
	parent, node, base := m.find(p)
	switch {
	case parent == nil:
		return nil, absent(op, p)
	case node != nil && node.folder:
		return nil, &fs.PathError{Op: op, Path: p, Err: syscall.EISDIR}
	case node == nil:
		node = &memNode{}
		parent.names[base] = node
		parent.changed()
	case empty:
		node.data = nil
	}
	return &memFile{m, node, p}, nil
}

func (m *Mem) Open(p string) (io.ReadCloser, error) {
	_, node, _ := m.find(p)
	if node == nil || node.folder {
		return nil, absent("open", p)
	}
	return io.NopCloser(bytes.NewReader(node.data)), nil
}

func (m *Mem) ReadDir(p string) ([]fs.FileInfo, error) {
	_, node, _ := m.find(p)
	if node == nil || !node.folder {
		return nil, absent("open", p)
	}
	var out []fs.FileInfo
	for _, name := range slices.Sorted(maps.Keys(node.names)) {
		out = append(out, memInfo{name, node.names[name]})
	}
	return out, nil
}

func (m *Mem) Rename(from, to string) error {
	if err := m.before("rename", from); err != nil {
		return err
	}
	parent, node, base := m.find(from)
	newParent, there, newBase := m.find(to)
	switch {
	case node == nil || newParent == nil:
		return absent("rename", from)
	case parent != newParent:
		return fmt.Errorf("rename %s to %s: only within a folder", from, to)
	case there != nil && (there.folder || node.folder):
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	delete(parent.names, base)
	parent.names[newBase] = node
	parent.changed()
	return nil
}

func (m *Mem) Remove(p string) error {
	parent, node, base := m.find(p)
	if node == nil {
		return nil
	}
	if node.folder { // file by file, as an operating system does
		for _, name := range slices.Sorted(maps.Keys(node.names)) {
			if err := m.Remove(filepath.Join(p, name)); err != nil {
				return err
			}
		}
	}
	if err := m.before("remove", p); err != nil {
		return err
	}
	delete(parent.names, base)
	parent.changed()
	return nil
}

func (m *Mem) SyncDir(p string) error {
	if err := m.before("fsync folder", p); err != nil {
		return err
	}
	_, node, _ := m.find(p)
	if node == nil || !node.folder {
		return absent("open", p)
	}
	node.history = []map[string]*memNode{maps.Clone(node.names)}
	return nil
}

func (m *Mem) Lock(p string) (io.Closer, error) {
	if m.locks[p] {
		return nil, ErrLocked
	}
	f, err := m.Append(p)
	if err != nil {
		return nil, err
	}
	m.locks[p] = true
	return memLock{f, m, p}, nil
}

type memLock struct {
	File
	m *Mem
	p string
}

func (l memLock) Close() error {
	delete(l.m.locks, l.p)
	return l.m.Remove(l.p)
}

type memFile struct {
	m    *Mem
	node *memNode
	path string
}

func (f *memFile) Write(p []byte) (int, error) {
	if err := f.m.before("write", f.path); err != nil {
		n := len(p) / 2
		f.node.data = append(f.node.data, p[:n]...)
		return n, err
	}
	f.node.data = append(f.node.data, p...)
	return len(p), nil
}

func (f *memFile) Sync() error {
	if err := f.m.before("fsync", f.path); err != nil {
		return err
	}
	f.node.synced = bytes.Clone(f.node.data)
	return nil
}

func (f *memFile) Truncate(size int64) error {
	if err := f.m.before("truncate", f.path); err != nil {
		return err
	}
	f.node.data = f.node.data[:size:size]
	return nil
}

func (f *memFile) Size() (int64, error) { return int64(len(f.node.data)), nil }

func (f *memFile) Close() error { return nil }

type memInfo struct {
	name string
	node *memNode
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return int64(len(i.node.data)) }
func (i memInfo) IsDir() bool        { return i.node.folder }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) ModTime() time.Time { return time.Time{} }

func (i memInfo) Mode() fs.FileMode {
	if i.node.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
