package box

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archCalls are the calls that only this architecture has. Those of the x32 ABI
// have numbers of their own and are refused as all others.
var archCalls = []uint32{
	unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_NEWFSTATAT, unix.SYS_GETDENTS,
	unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_SYMLINK, unix.SYS_LINK, unix.SYS_CREAT,
	unix.SYS_DUP2, unix.SYS_PIPE, unix.SYS_SELECT, unix.SYS_POLL, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD,
	unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_ARCH_PRCTL, unix.SYS_ALARM, unix.SYS_PAUSE, unix.SYS_TIME, unix.SYS_GETPGRP, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT,
}

// forkCalls start processes, beside clone.
var forkCalls = []uint32{unix.SYS_FORK, unix.SYS_VFORK}

// openCalls open files; flags is where theirs lie.
var openCalls = []struct{ call, flags uint32 }{{unix.SYS_OPENAT, dataArg2}, {unix.SYS_OPEN, dataArg1}}
