package box

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// archCalls are the calls whose names only this architecture has.
var archCalls = []uint32{unix.SYS_FSTATAT, unix.SYS_RENAMEAT, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT}

// forkCalls start processes, beside clone.
var forkCalls []uint32

// openCalls open files; flags is where theirs lie.
var openCalls = []struct{ call, flags uint32 }{{unix.SYS_OPENAT, dataArg2}}
