// Package box runs a program that a stranger wrote, under limits.
//
//	Start(Spec) ── this binary again ── namespaces ─ scratch ─ rlimits ─ no capabilities ─ landlock ─ seccomp ─ exec ──> program
//	     Box.Stdin, Box.Stdout  <────────────────── pipes ──────────────────>
//	     Box.Close: every process in it is killed
//
// # Layers
//
// On Linux each of these layers holds without the others:
//
//	namespaces    user, process, network, mount, IPC and host name of its own: it sees no
//	              other process, no network, and a /tmp in memory of bounded size.
//	              The user outside is the caller, or 65534 where the caller is root.
//	rlimits       memory of a process, size of a file, open files, processes
//	capabilities  none, and none to be had: no_new_privs, an empty bounding set
//	landlock      reads and runs the C library, the interpreter and what Spec.Read
//	              names; writes only /tmp; no TCP; no signals to outside
//	              (https://docs.kernel.org/userspace-api/landlock.html)
//	seccomp       a list of the system calls that an interpreter needs; no sockets, no
//	              signals to others, no ptrace, no new namespaces; anything unknown is
//	              refused (seccomp_linux.go). A program that forks itself for each of
//	              several strangers can take processes from them too: [OneProcess]
//
// Some systems allow a user no namespaces. The other layers are enough to hold a program there, but
// it has no /tmp, and its processes are counted together with all others of the user. Without
// landlock or seccomp, and on other systems, Start fails with [ErrUnsupported], unless Spec.Unsafe
// accepts that a program runs with the caller's rights and only rlimits.
//
// Processor time is not limited here, since a program may serve many requests. A program should set
// RLIMIT_CPU for each request, and the caller a limit by the clock.
//
// # What it does not hold against
//
// The box does not protect against faults of the kernel, or against leaks through caches and
// timing. A program sees which files exist, by name. Landlock does not protect the rights and times
// of files; before version 3 (Linux 6.2) it does not protect their length, before version 4 (6.7)
// TCP, before version 6 (6.12) signals and abstract sockets. seccomp refuses the calls that those
// would need. Memory is limited for each process, so all of them together may take Processes times
// Memory, and Scratch.
//
// # How a binary starts itself
//
// Start runs its own program again, with a variable in the environment. The init function of this
// package sees the variable and does not return. So importing the package is enough, in tests too.
//
// # Threads
//
// Start is safe for concurrent use; a Box belongs to one goroutine, but for Close.
package box
