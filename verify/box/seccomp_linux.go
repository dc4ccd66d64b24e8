//go:build amd64 || arm64

package box

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// commonCalls are the system calls that an interpreter and the C library need on
// every architecture. What is missing here is refused with EPERM: sockets, signals
// to processes (a program may still set timers for itself), leaving the process
// group, ptrace and the memory of others, keys, mounts, modules, BPF, io_uring,
// userfaultfd, perf, what landlock does not see (rights, owners, times and, in its
// first versions, the length of files by name), and all that a later kernel may add.
var commonCalls = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV, unix.SYS_PWRITEV,
	unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_STATX, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
	unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_READLINKAT, unix.SYS_STATFS, unix.SYS_FSTATFS,
	unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_SYMLINKAT, unix.SYS_LINKAT, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE,
	unix.SYS_UMASK, unix.SYS_FLOCK, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
	unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2, unix.SYS_IOCTL, unix.SYS_PSELECT6, unix.SYS_PPOLL, unix.SYS_SENDFILE, unix.SYS_COPY_FILE_RANGE,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_MEMFD_CREATE,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MSYNC, unix.SYS_MEMBARRIER,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPENDING, unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_SIGALTSTACK,
	unix.SYS_SETITIMER, unix.SYS_GETITIMER, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_TIMES,
	unix.SYS_EXECVE, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_GET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_SET_TID_ADDRESS, unix.SYS_RESTART_SYSCALL, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER,
	unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETPGID, unix.SYS_GETSID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	unix.SYS_GETGROUPS, unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_UNAME, unix.SYS_SYSINFO, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE, unix.SYS_GETPRIORITY,
	unix.SYS_GETCPU,
}

// Offsets in struct seccomp_data (linux/seccomp.h): the call's number, the
// architecture, and the low words of the arguments.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16
	dataArg1   = 24
	dataArg2   = 32
)

// newNamespaces are the flags of clone(2) that make a namespace.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// Commands of fcntl(2) that make the kernel send a signal of the caller's choice to
// another process.
var signalCommands = []uint32{unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// when skips the next instruction unless the loaded word is k.
func when(k uint32) unix.SockFilter { return jump(unix.BPF_JEQ, k, 0, 1) }

// jump skips so many instructions where the loaded word meets the test, and where not.
func jump(test uint16, k uint32, met, otherwise int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: uint8(met), Jf: uint8(otherwise), K: k}
}

func end(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

func refuse(errno unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

// OneProcess is a further filter, as instructions of struct sock_filter, that a program
// in a box can put on itself with prctl(2): it may then have threads, but neither start
// a process, become another program, nor put on a filter.
func OneProcess() []byte {
	filter := []unix.SockFilter{
		load(dataNumber),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(dataArg0),
		jump(unix.BPF_JSET, unix.CLONE_THREAD, 1, 0),
		refuse(unix.EPERM),
		end(unix.SECCOMP_RET_ALLOW),
	}
	for _, call := range slices.Concat(forkCalls, []uint32{unix.SYS_EXECVE, unix.SYS_PRCTL}) {
		filter = append(filter, when(call), refuse(unix.EPERM))
	}
	filter = append(filter, end(unix.SECCOMP_RET_ALLOW))
	return unsafe.Slice((*byte)(unsafe.Pointer(&filter[0])), len(filter)*int(unsafe.Sizeof(filter[0])))
}

// callFilter is the filter program: another architecture's calls end the process,
// clone may make no namespace, prlimit64 is for the caller alone, prctl is for a
// further filter alone, fcntl may name no process to be signalled, a file opened to be
// cut must be opened to be written too, which landlock sees, and clone3, whose flags
// cannot be seen, is said not to exist, so that the C library falls back to clone.
func callFilter() []unix.SockFilter {
	filter := []unix.SockFilter{
		load(dataArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		end(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataNumber),
		jump(unix.BPF_JEQ, unix.SYS_PRLIMIT64, 0, 4),
		load(dataArg0), // the process, an int
		when(0), end(unix.SECCOMP_RET_ALLOW),
		refuse(unix.EPERM),
		jump(unix.BPF_JEQ, unix.SYS_PRCTL, 0, 4),
		load(dataArg0),
		when(unix.PR_SET_SECCOMP), end(unix.SECCOMP_RET_ALLOW),
		refuse(unix.EPERM),
		when(unix.SYS_CLONE3), refuse(unix.ENOSYS),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(dataArg0),
		jump(unix.BPF_JSET, newNamespaces, 0, 1),
		refuse(unix.EPERM),
		end(unix.SECCOMP_RET_ALLOW),
		jump(unix.BPF_JEQ, unix.SYS_FCNTL, 0, 2+2*len(signalCommands)),
		load(dataArg1),
	}
	for _, command := range signalCommands {
		filter = append(filter, when(command), refuse(unix.EPERM))
	}
	filter = append(filter, end(unix.SECCOMP_RET_ALLOW))
	for _, open := range openCalls {
		filter = append(filter,
			jump(unix.BPF_JEQ, open.call, 0, 5),
			load(open.flags),
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: unix.O_TRUNC | unix.O_ACCMODE},
			when(unix.O_TRUNC|unix.O_RDONLY), refuse(unix.EPERM),
			end(unix.SECCOMP_RET_ALLOW))
	}
	for _, call := range slices.Concat(commonCalls, archCalls) {
		filter = append(filter, when(call), end(unix.SECCOMP_RET_ALLOW))
	}
	return append(filter, refuse(unix.EPERM))
}
