// Package box runs a program that a stranger wrote, under limits.
//
//	Start(Spec) ── this binary again ── namespaces ─ scratch ─ rlimits ─ no capabilities ─ landlock ─ seccomp ─ exec ──> program
//	     Box.Stdin, Box.Stdout  <────────────────── pipes ──────────────────>
//	     Box.Close: every process in it is killed
//
// # Layers
//
// On Linux each of these holds for itself:
//
//	namespaces    user, process, network, mount, IPC and host name of its own: it sees no
//	              other process, no network, and a /tmp in memory of bounded size.
//	              The user outside is the caller, or 65534 where the caller is root.
//	rlimits       memory of a process, size of a file, open files, processes
//	capabilities  none, and none to be had: no_new_privs, an empty bounding set
//	landlock      reads and runs the C library, the interpreter and what Spec.Read
//	              names; writes /tmp alone; no TCP; no signals to outside
//	              (https://docs.kernel.org/userspace-api/landlock.html)
//	seccomp       a list of the system calls that an interpreter needs; no sockets, no
//	              signals to others, no ptrace, no new namespaces; anything unknown is
//	              refused (seccomp_linux.go). A program that forks itself for each of
//	              several strangers can take processes from them too: [OneProcess]
//
// Some systems allow a user no namespaces. The other layers are enough to hold a
// program there: it cannot be given a /tmp, and processes are counted together with
// all others of the user. Without landlock or seccomp Start fails with
// [ErrUnsupported], as it does on other systems, unless Spec.Unsafe accepts that a
// program runs with the caller's rights and rlimits alone.
//
// Processor time is not limited here, as a program may serve many requests: what it
// runs for each should set RLIMIT_CPU, and the caller a limit by the clock.
//
// # What it does not hold against
//
// Faults of the kernel, and what can be learned from caches and timing: a program
// sees which files exist, by name. Landlock holds neither the rights nor the times of
// files, before version 3 (Linux 6.2) not their length, before 4 (6.7) not TCP, before
// 6 (6.12) not signals and abstract sockets; seccomp refuses the calls that those would
// need. Memory is limited
// process by process: at most Processes times Memory, and Scratch.
//
// # How a binary starts itself
//
// The program that calls Start is run again with a variable in its environment; the
// init function of this package sees it and does not return. So importing the
// package is enough, in tests too.
//
// # Threads
//
// Start is safe for concurrent use; a Box belongs to one goroutine, but for Close.
package box
