//go:build linux && (amd64 || arm64)

package box

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	interpreter = "/usr/bin/python3"
	asUser      = "RLZERO_TEST_BOX_USER" // set where the tests run once more as another user
	marker      = "RLZERO_TEST_BOX_MARK" // in the environment of every program here
	someone     = 65533                  // that other user
)

// hostile is a program and what becomes of it.
type hostile struct {
	name, source string
	want         string // of what it prints, standard error after it: a regular expression
	bare         string // the same, without namespaces, where it differs
	kill         bool   // it does not end by itself
}

// refused is how Python shows that a system call or a file was refused.
const refused = `PermissionError|FileNotFoundError`

var hostiles = []hostile{
	{name: "sum", source: "print(sum(range(10)))", want: `^45$`},
	{name: "endless loop", source: "while True: pass", kill: true},
	{name: "4 GiB of text", source: "a = 'x' * (1 << 32)", want: "MemoryError"},
	{name: "socket", source: "import socket; socket.socket()", want: "PermissionError"},
	{name: "shadow", source: "open('/etc/shadow').read()", want: refused},
	{name: "file of another", source: "print(open('{DIR}/secret').read())", want: refused},
	{name: "allowed write", source: "open('/tmp/ok', 'w').write('hi'); print(open('/tmp/ok').read())", want: `^hi$`, bare: refused},
	{name: "write outside", source: "open('{DIR}/evil', 'w')", want: refused},
	{name: "fork bomb", source: "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(1000)\n    n += 1\nexcept OSError as e: print('errno', e.errno, n < {MOST}, flush=True)\ntime.sleep(1000)", want: `^errno 11 True$`, kill: true},
	{name: "fork bomb that grows", source: "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", kill: true},
	{name: "kill 1", source: "import os; os.kill(1, 9)", want: "PermissionError"},
	{name: "4 MiB file", source: "open('/tmp/big', 'w').write('x' * (1 << 22))", want: "errno 27|Errno 27", bare: refused},
	{name: "getpid", source: "import os; print(os.getpid())", want: `^1$`, bare: `^[0-9]+$`},
	{name: "10 MB of output", source: "print('x' * 10**7)", want: `^x+$`},
	{name: "subprocess", source: "import subprocess; subprocess.run(['/bin/ls', '/home'])", want: refused},

	{name: "symlink out", source: "import os; os.symlink('/etc/shadow', '/tmp/link'); open('/tmp/link')", want: refused},
	{name: "link in", source: "import os; os.link('{DIR}/secret', '/tmp/link')", want: refused + "|OSError"},
	{name: "list outside", source: "import os; os.listdir('{DIR}')", want: refused},
	{name: "list the root", source: "import os; os.listdir('/')", want: refused},
	{name: "own memory", source: "open('/proc/self/mem', 'r+b')", want: refused},
	{name: "parent's environment", source: "open('/proc/{PID}/environ', 'rb').read()", want: refused},
	{name: "parent's files", source: "import os; os.open('/proc/{PID}/fd/1', os.O_WRONLY)", want: refused},
	{name: "signal to the parent", source: "import os; os.kill({PID}, 9)", want: "PermissionError|ProcessLookupError"},
	{name: "signal to all", source: "import os; os.kill(-1, 9)", want: "PermissionError"},
	{name: "forbidden calls", source: "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nfor n in {CALLS}:\n  r = libc.syscall(n, 0, 0, 0, 0, 0); print(n, r, ctypes.get_errno())", want: `^(\d+ -1 1\n?)+$`},
	{name: "raised limit", source: "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999))", want: "not allowed|PermissionError"},
	{name: "program in memory", source: "import os, shutil\nfd = os.memfd_create('x'); os.write(fd, b'\\x7fELF'); os.execve(fd, ['x'], {})", want: "PermissionError"},
	{name: "large file in memory", source: "import os\nfd = os.memfd_create('x'); os.ftruncate(fd, 1 << 30)", want: "Errno 27"},
	{name: "deep recursion", source: "def f(): f()\nf()", want: "RecursionError"},
	{name: "threads", source: "import threading, time\nn = 0\ntry:\n  while True:\n    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start(); n += 1\nexcept RuntimeError: print('stopped', n < {MOST}, flush=True)", want: `^stopped True$`},
	{name: "session of its own", source: "import os\nif os.fork() == 0: os.setsid()\nelse: os.wait()", want: "PermissionError"},
	{name: "orphan", source: "import os, time\nif os.fork() == 0:\n  if os.fork() == 0:\n    os.close(1); os.close(2); time.sleep(1000)\n  os._exit(0)\nos.wait(); print('left')", want: `^left$`},
	{name: "open files", source: "import os\ndef is_open(fd):\n  try: os.fstat(fd); return True\n  except OSError: return False\nprint([fd for fd in range(4096) if is_open(fd)])", want: `^\[0, 1, 2\]$`},
	{name: "abstract socket", source: "import socket; socket.socket(socket.AF_UNIX).bind('\\0x')", want: "PermissionError"},
	{name: "become root", source: "import os; os.setuid(0)", want: "PermissionError"},
	{name: "change rights", source: "import os; os.chmod('{DIR}/secret', 0o777)", want: refused},
	{name: "cut a file", source: "import os; os.truncate('{DIR}/secret', 0)", want: refused},
	{name: "cut a file that it may read", source: "import os; os.open('/dev/urandom', os.O_RDONLY | os.O_TRUNC)", want: "Errno 1]"},
	{name: "change times", source: "import os; os.utime('{DIR}/secret', (0, 0))", want: refused},
	{name: "remove a file", source: "import os; os.unlink('{DIR}/secret')", want: refused},
	{name: "many files", source: "for i in range(10**6): open('/tmp/%d' % i, 'w').close()", want: "Errno 28", bare: refused},
	{name: "full disk", source: "for i in range(10**6): open('/tmp/%d' % i, 'w').write('x' * 10**6)", want: "Errno 28", bare: refused},
	{name: "sleep", source: "import time; time.sleep(10**6)", kill: true},
	{name: "closed output", source: "import os; os.close(1); os.close(2); os.write(1, b'x')", want: `^$`},
	{name: "flood of errors", source: "import os\nfor i in range(1000): os.write(2, b'e' * 10**4)", want: `^e+$`},
	{name: "large power", source: "-9**9**9", kill: true},
	{name: "environment", source: "import os; print(sorted(os.environ))", want: `^\['LC_CTYPE', '` + marker + `'\]$`},
	{name: "signal by a file", source: "import fcntl, os\nr, w = os.pipe()\nfor command in (8, 10, 15):\n  try: print(fcntl.fcntl(r, command, os.getppid() if command < 15 else bytes(8)))\n  except PermissionError: print('refused')\nprint(fcntl.fcntl(r, 3))", want: `^(refused\s){3}0$`},
	{name: "one process", source: oneProcess, want: `^(refused\s){6}9$`},
	{name: "old calls", source: "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(libc.syscall(0x40000000 + 39), ctypes.get_errno())", want: `^-1 1$`},
}

// oneProcess puts the filter of that name on, tries to get round it, and starts a thread.
var oneProcess = `import ctypes, os, threading
code = ctypes.create_string_buffer(bytes.fromhex("` + hex.EncodeToString(OneProcess()) + `"))
class Program(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(22, 2, ctypes.byref(Program((len(code) - 1) // 8, ctypes.addressof(code))), 0, 0) == 0
def attempt(f, *args):
  try:
    if f(*args) != -1: print("done")
    else: print("refused" if ctypes.get_errno() == 1 else ctypes.get_errno())
  except PermissionError: print("refused")
attempt(os.fork)
attempt(os.posix_spawn, "/usr/bin/python3", ["python3"], {})
attempt(os.execv, "/usr/bin/python3", ["python3"])
attempt(libc.vfork)
attempt(libc.prctl, 22, 2, None, 0, 0)
attempt(libc.syscall, ` + fmt.Sprint(unix.SYS_CLONE) + `, 0x100, 0, 0, 0, 0)
t = threading.Thread(target=print, args=(9,))
t.start(); t.join()`

// TestHostile runs every program as this user with and without namespaces, and, but for -short, as an
// ordinary user where this one is root.
func TestHostile(t *testing.T) {
	if _, err := os.Stat(interpreter); err != nil {
		t.Fatalf("the programs need %s (package python3): %v", interpreter, err)
	}
	t.Run("namespaces", func(t *testing.T) {
		noNamespaces.Store(false)
		for _, h := range hostiles {
			t.Run(h.name, func(t *testing.T) { h.run(t) })
		}
	})
	t.Run("bare", func(t *testing.T) {
		noNamespaces.Store(true)
		defer noNamespaces.Store(false)
		for _, h := range hostiles {
			t.Run(h.name, func(t *testing.T) { h.run(t) })
		}
	})
	if os.Getuid() != 0 {
		t.Logf("run as user %d alone", os.Getuid())
		return
	}
	t.Run("user", func(t *testing.T) {
		if testing.Short() {
			t.Skip("-short: every program once more, as an ordinary user")
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestHostile$")
		cmd.Env = []string{asUser + "=1"}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: someone, Gid: someone}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("as user %d: %v\n%s", someone, err, out)
		}
	})
}

// shared is a folder that everyone may write.
func shared(t *testing.T) string {
	t.Helper()
	// Not below /tmp, which the program sees as a folder of its own.
	dir, err := os.MkdirTemp("/var/tmp", "box")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	processes = 16
	// most is more processes than a program can have: those of other programs of the
	// same user that end meanwhile make room where there are no namespaces.
	most = 200
)

// run runs the program and looks at what it did and left.
func (h hostile) run(t *testing.T) {
	dir := shared(t)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	source := strings.NewReplacer("{DIR}", dir, "{PID}", strconv.Itoa(os.Getpid()), "{MOST}", strconv.Itoa(most), "{CALLS}", forbidden()).Replace(h.source)
	mark := marker + "=" + dir
	b, err := Start(Spec{
		Path: interpreter, Args: []string{"-I", "-S", "-B", "-c", source}, Env: []string{mark}, Read: []string{interpreter},
		Scratch: 8 << 20, Memory: 512 << 20, FileSize: 1 << 20, Files: 64, Processes: processes,
	})
	if err != nil {
		t.Fatal(err)
	}
	var killed atomic.Bool
	limit := time.AfterFunc(time.Minute, func() { killed.Store(true); b.Kill() })
	h.outside(t, b)
	out := bufio.NewReader(b.Stdout)
	var printed []byte
	if h.kill {
		if h.want != "" { // what it does until it says this takes as long as the machine needs
			printed, _ = out.ReadBytes('\n')
		}
		limit.Reset(time.Second)
	}
	rest, _ := io.ReadAll(out)
	limit.Stop()
	b.Close()
	printed = append(printed, rest...)
	if killed.Load() != h.kill {
		t.Errorf("killed: %v, expected %v", killed.Load(), h.kill)
	}
	want := h.want
	if h.bare != "" && !b.Namespaces {
		want = h.bare
	}
	if got := strings.TrimSpace(string(printed) + b.Stderr()); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("it prints %.2000q, expected %s", got, want)
	}
	h.nothingLeft(t, b, dir, mark)
}

// outside looks at the program from here: it is not root, and has no rights.
func (h hostile) outside(t *testing.T, b *Box) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		return // it has ended
	}
	for _, line := range strings.Split(string(status), "\n") {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case (key == "Uid" || key == "Gid") && len(fields) > 0 && fields[0] == "0",
			(key == "CapEff" || key == "CapPrm" || key == "CapBnd" && b.Namespaces) && strings.Trim(fields[0], "0") != "",
			(key == "NoNewPrivs") && fields[0] != "1", key == "Seccomp" && fields[0] != "2":
			t.Errorf("the program has %s", line)
		}
	}
}

// nothingLeft looks for processes and files of the program.
func (h hostile) nothingLeft(t *testing.T, b *Box, dir, mark string) {
	// All are killed, but without namespaces only the first is waited for.
	group := func() error { return syscall.Kill(-b.cmd.Process.Pid, 0) }
	for i := 0; i < 5000 && !b.Namespaces && group() == nil; i++ {
		time.Sleep(time.Millisecond)
	}
	if err := group(); err != syscall.ESRCH {
		t.Errorf("the program's process group is still there: %v", err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		if text, err := os.ReadFile(name); err == nil && strings.Contains("\x00"+string(text), "\x00"+mark+"\x00") {
			t.Errorf("%s is a process of the program", filepath.Dir(name))
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("outside are the files %v (%v)", files, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "secret")); string(text) != "secret" {
		t.Errorf("the file outside holds %q (%v)", text, err)
	}
}

// forbidden are system calls that no program may make, as a list of Python's.
func forbidden() string {
	return strings.ReplaceAll(fmt.Sprint([]int{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_IO_URING_SETUP, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
		unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SETUID, unix.SYS_SETPGID, unix.SYS_SETSID,
		unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_PIDFD_OPEN, unix.SYS_EXECVEAT, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_PRCTL, unix.SYS_MLOCK, unix.SYS_SETPRIORITY,
	}), " ", ", ")
}

// TestOtherArchitecture: a call of another architecture ends the process.
func TestOtherArchitecture(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Log("there is no second way into this kernel")
		return
	}
	// mov eax, 20 (getpid of i386); int 0x80; ret
	const source = "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes.fromhex('b814000000cd80c3'))\n" +
		"print('before', flush=True)\nctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\nprint('after')"
	hostile{name: "int 0x80", source: source, want: "^before$"}.run(t)
}
