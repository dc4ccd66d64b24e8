//go:build amd64 || arm64

package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Layers, as the child names them when one fails.
const (
	layerNamespaces = "namespaces"
	layerLimits     = "rlimits"
	layerRights     = "capabilities"
	layerLandlock   = "landlock"
	layerSeccomp    = "seccomp"
	layerProgram    = "program"
)

const statusFile = 3 // closes when the program takes over

// ready is what the child writes when all layers are on but the last limits, which it puts on without
// a call that may wait, right before it becomes the program. A
// child that ends without it, or writes more than it, has not become the program.
const ready = "\x00"

// init takes the process over in a child of Start.
func init() {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	runtime.LockOSThread() // what follows binds this thread, and it becomes the program
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.become()
	}
	unix.Write(statusFile, []byte(err.Error()))
	os.Exit(1)
}

// become puts the layers on, from the outermost, and becomes the program. It
// returns only to say what failed.
func (o order) become() error {
	for _, layer := range []struct {
		name string
		set  func() error
	}{
		{layerNamespaces, o.settle},
		{layerLimits, o.limit},
		{layerRights, o.dropRights},
		{layerLandlock, o.landlock},
		{layerSeccomp, filterCalls},
		{layerProgram, sayReady},
	} {
		err := layer.set()
		if err != nil && o.Unsafe && (layer.name == layerLandlock || layer.name == layerSeccomp) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", layer.name, err)
		}
	}
	path, err := syscall.BytePtrFromString(o.Path)
	if err != nil {
		return fmt.Errorf("%s: %q: %w", layerProgram, o.Path, err)
	}
	args, err := syscall.SlicePtrFromStrings(append([]string{o.Path}, o.Args...))
	if err != nil {
		return fmt.Errorf("%s: arguments: %w", layerProgram, err)
	}
	env, err := syscall.SlicePtrFromStrings(o.Env)
	if err != nil {
		return fmt.Errorf("%s: environment: %w", layerProgram, err)
	}
	// The layers before need more processes and more memory than a program may have.
	last := [...]unix.Rlimit{{Cur: uint64(o.Processes), Max: uint64(o.Processes)}, {Cur: uint64(o.Memory), Max: uint64(o.Memory)}}
	failed, errno := takeOver(&last, path, &args[0], &env[0])
	if failed == layerLimits {
		return fmt.Errorf("%s: %w", failed, errno)
	}
	return fmt.Errorf("%s: %s: %w", failed, o.Path, errno)
}

// takeOver puts the last limits on, of processes and of memory, and becomes the program. It returns only to
// say what failed. Go has no occasion to start a thread in it, which would kill the process where there is
// no room for one: it cannot be preempted at the beginning of a function, as none that it calls has a check
// for it, nor by a signal (GODEBUG in Start), and its calls do not give their processor up.
//
//go:nosplit
func takeOver(last *[2]unix.Rlimit, path *byte, args, env **byte) (failed string, errno syscall.Errno) {
	for i, resource := range [...]uintptr{unix.RLIMIT_NPROC, unix.RLIMIT_AS} {
		if _, _, errno = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, resource, uintptr(unsafe.Pointer(&last[i])), 0, 0, 0); errno != 0 {
			return layerLimits, errno
		}
	}
	_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(args)), uintptr(unsafe.Pointer(env)))
	return layerProgram, errno
}

// sayReady tells the parent, and gives a thread that Go has begun to start the time to be there before the
// limit on processes is. Both calls are raw: during them Go starts no thread, and no collection does.
func sayReady() error {
	debug.SetGCPercent(-1)
	text, pause := []byte(ready), unix.Timespec{Nsec: 1e6}
	_, _, errno := unix.RawSyscall(unix.SYS_WRITE, statusFile, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
	if errno != 0 {
		return errno
	}
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0) // a signal may end it early
	return nil
}

// settle makes /tmp and leaves nothing open of the parent.
func (o order) settle() error {
	unix.Umask(0o077)
	if err := unix.CloseRange(statusFile, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		if err := closeOnExec(); err != nil {
			return err
		}
	}
	if !o.Namespaces {
		return unix.Chdir("/")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	size := fmt.Sprintf("size=%d,nr_inodes=1000,mode=0700", o.Scratch)
	if err := unix.Mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, size); err != nil {
		return fmt.Errorf("a /tmp of its own: %w", err)
	}
	return unix.Chdir("/tmp")
}

// closeOnExec is for kernels before 5.11.
func closeOnExec() error {
	open, err := os.ReadDir("/proc/self/fd")
	for _, file := range open {
		var fd int
		if _, err := fmt.Sscan(file.Name(), &fd); err == nil && fd >= statusFile {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

func (o order) limit() error {
	return errors.Join(
		limit(unix.RLIMIT_CORE, 0),
		limit(unix.RLIMIT_MEMLOCK, 0),
		limit(unix.RLIMIT_FSIZE, uint64(o.FileSize)),
		limit(unix.RLIMIT_NOFILE, uint64(o.Files)),
	)
}

func limit(resource int, value uint64) error {
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}

// dropRights gives up all capabilities for good: of the user 0 that one is in
// namespaces, and of programs that would give some.
func (o order) dropRights() error {
	const (
		noRoot        = 1 << 0 // SECBIT_NOROOT: 0 is a user as others are
		noRootLocked  = 1 << 1
		noFixup       = 1 << 2
		noFixupLocked = 1 << 3
		noAmbient     = 1 << 6
		ambientLocked = 1 << 7
	)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	// Orphans come to the program, which can tell that something is left.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if !o.Namespaces {
		return nil // an ordinary user has none
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL { // EINVAL: one that this kernel does not know
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|noRootLocked|noFixup|noFixupLocked|noAmbient|ambientLocked, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

func filterCalls() error {
	filter := callFilter()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
