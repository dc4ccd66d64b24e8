package blackbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sockets runs a command and tells on standard error how many calls of socket(2) for
// AF_INET or AF_INET6 it has made, those of the processes that it starts too. Each call
// fails. The exit code is the command's.
func sockets(command []string) int {
	// The filter is put on this thread, and inherited by what it starts. The calls are
	// answered by another thread.
	runtime.LockOSThread()
	listener, err := watchSockets()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the calls of socket cannot be watched:", err)
		return 99
	}
	var calls atomic.Int64
	go refuseSockets(listener, &calls)
	c := exec.Command(command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.Run()
	fmt.Fprintf(os.Stderr, "%d calls of socket(AF_INET|AF_INET6)\n", calls.Load())
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return 0
}

// watchSockets puts a filter on the calling thread that holds up each such call until it
// is answered at the file descriptor that is returned (seccomp_unotify(2)).
func watchSockets() (int, error) {
	const callNumber, firstArgument = 0, 16 // offsets in struct seccomp_data (linux/seccomp.h)
	load := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: k}
	}
	equal := func(k uint32, met, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: met, Jf: otherwise, K: k}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	filter := []unix.SockFilter{
		load(callNumber), equal(unix.SYS_SOCKET, 0, 3),
		load(firstArgument), equal(unix.AF_INET, 2, 0), equal(unix.AF_INET6, 1, 0),
		end(unix.SECCOMP_RET_ALLOW), end(unix.SECCOMP_RET_USER_NOTIF),
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// refuseSockets counts the calls that are held up, and lets them fail.
func refuseSockets(listener int, calls *atomic.Int64) {
	for {
		var call struct { // struct seccomp_notif
			id         uint64
			pid, flags uint32
			data       [64]byte
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&call))); errno != 0 {
			continue // a process that was killed in its call, or a signal to this one
		}
		calls.Add(1)
		answer := struct { // struct seccomp_notif_resp
			id    uint64
			value int64
			errno int32
			flags uint32
		}{id: call.id, errno: -int32(unix.EACCES)}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	}
}
