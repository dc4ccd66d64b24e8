package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// directory is the flag for what must be a folder. It is no flag of package os.
const directory = 1 << 30

// openFlags are the flags of open by the names that Go's js port looks them up by.
var openFlags = map[string]int{
	"O_DIRECTORY": directory, "O_WRONLY": os.O_WRONLY, "O_RDWR": os.O_RDWR, "O_CREAT": os.O_CREATE, "O_TRUNC": os.O_TRUNC, "O_APPEND": os.O_APPEND, "O_EXCL": os.O_EXCL,
}

// disk answers the calls of node's module fs that Go's js port makes
// (https://nodejs.org/api/fs.html), by this machine's files.
type disk struct {
	mu    sync.Mutex
	files map[int]*os.File
	next  int
}

func newDisk() *disk {
	return &disk{files: map[int]*os.File{0: os.Stdin, 1: os.Stdout, 2: os.Stderr}, next: 3}
}

// arguments are those of all calls, each by its name; data is what write writes.
type arguments struct {
	Path, To          string
	File, Flags, Mode int
	Length            int64
	Position          *int64 // absent: where the file is
	Accessed, Changed float64
	data              []byte
}

// ServeHTTP answers a call: POST NAME?args=JSON with the data of write as its body. The
// answer is JSON, of read the data; what went wrong is status 400 with node's code.
func (d *disk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var a arguments
	err := json.Unmarshal([]byte(r.URL.Query().Get("args")), &a)
	if err == nil {
		a.data, err = io.ReadAll(r.Body)
	}
	var answer any
	if err == nil {
		answer, err = d.call(r.URL.Path, a)
	}
	if err != nil {
		http.Error(w, codeOf(err), http.StatusBadRequest)
		return
	}
	if data, ok := answer.([]byte); ok {
		w.Write(data)
		return
	}
	json.NewEncoder(w).Encode(answer)
}

// call does what the call of that name does.
func (d *disk) call(name string, a arguments) (any, error) {
	switch name {
	case "open":
		return d.open(a)
	case "stat":
		return described(os.Stat(a.Path))
	case "lstat":
		return described(os.Lstat(a.Path))
	case "readdir":
		return names(a.Path)
	case "readlink":
		return os.Readlink(a.Path)
	case "mkdir":
		return nil, os.Mkdir(a.Path, fs.FileMode(a.Mode))
	case "rmdir", "unlink":
		return nil, os.Remove(a.Path)
	case "rename":
		return nil, os.Rename(a.Path, a.To)
	case "link":
		return nil, os.Link(a.Path, a.To)
	case "symlink":
		return nil, os.Symlink(a.Path, a.To)
	case "truncate":
		return nil, os.Truncate(a.Path, a.Length)
	case "chmod":
		return nil, os.Chmod(a.Path, fs.FileMode(a.Mode))
	case "utimes":
		return nil, os.Chtimes(a.Path, moment(a.Accessed), moment(a.Changed))
	}
	d.mu.Lock()
	f := d.files[a.File]
	d.mu.Unlock()
	if f == nil {
		return nil, syscall.EBADF
	}
	return d.callFile(name, f, a)
}

// callFile is call for open files.
func (d *disk) callFile(name string, f *os.File, a arguments) (any, error) {
	switch name {
	case "close":
		d.mu.Lock()
		delete(d.files, a.File)
		d.mu.Unlock()
		return nil, f.Close()
	case "fstat":
		return described(f.Stat())
	case "fsync":
		return nil, f.Sync()
	case "ftruncate":
		return nil, f.Truncate(a.Length)
	case "fchmod":
		return nil, f.Chmod(fs.FileMode(a.Mode))
	case "write":
		if a.Position != nil {
			return f.WriteAt(a.data, *a.Position)
		}
		return f.Write(a.data)
	case "read":
		data := make([]byte, a.Length)
		var n int
		var err error
		if a.Position != nil {
			n, err = f.ReadAt(data, *a.Position)
		} else {
			n, err = f.Read(data)
		}
		if err == io.EOF { // as nothing read
			err = nil
		}
		return data[:n], err
	}
	return nil, fmt.Errorf("%w %q", errCall, name)
}

func (d *disk) open(a arguments) (any, error) {
	f, err := os.OpenFile(a.Path, a.Flags&^directory, fs.FileMode(a.Mode))
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); a.Flags&directory != 0 && (err != nil || !info.IsDir()) {
		f.Close()
		return nil, syscall.ENOTDIR
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	number := d.next
	d.next++
	d.files[number] = f
	return number, nil
}

func names(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list, err
}

func moment(seconds float64) time.Time { return time.UnixMilli(int64(1000 * seconds)) }

// described is what the worker makes node's fs.Stats of.
func described(info fs.FileInfo, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	mode := int(info.Mode().Perm())
	switch info.Mode().Type() { // bits of stat(2)
	case fs.ModeDir:
		mode |= 0o040000
	case fs.ModeSymlink:
		mode |= 0o120000
	case 0:
		mode |= 0o100000
	default:
		mode |= 0o020000
	}
	return map[string]any{"mode": mode, "size": info.Size(), "changed": info.ModTime().UnixMilli()}, nil
}

// codes are node's names of errors.
var codes = map[syscall.Errno]string{
	syscall.ENOENT: "ENOENT", syscall.EEXIST: "EEXIST", syscall.ENOTDIR: "ENOTDIR", syscall.EISDIR: "EISDIR", syscall.ENOTEMPTY: "ENOTEMPTY",
	syscall.EACCES: "EACCES", syscall.EPERM: "EPERM", syscall.EINVAL: "EINVAL", syscall.EBADF: "EBADF", syscall.ENAMETOOLONG: "ENAMETOOLONG",
}

func codeOf(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) && codes[number] != "" {
		return codes[number]
	}
	if errors.Is(err, errCall) {
		return "ENOSYS"
	}
	return "EIO"
}
