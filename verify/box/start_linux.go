//go:build amd64 || arm64

package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

const (
	variable = "RLZERO_BOX" // holds the order of a child
	nobody   = 65534        // the user that root's programs run as
)

// order is what Start tells the child.
type order struct {
	Spec
	Namespaces bool
	Processes  int // limit of the user's processes
}

// noNamespaces is set once namespaces are known to be refused.
var noNamespaces atomic.Bool

// Start runs a program in a box.
func Start(s Spec) (*Box, error) {
	if !noNamespaces.Load() {
		b, err := start(s, true)
		if err == nil || !errors.Is(err, errNamespaces) {
			return b, err
		}
		noNamespaces.Store(true)
	}
	return start(s, false)
}

var errNamespaces = errors.New("no namespaces")

func start(s Spec, namespaces bool) (*Box, error) {
	o := order{Spec: s, Namespaces: namespaces, Processes: s.Processes}
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	user := os.Getuid()
	if user == 0 {
		user = nobody
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if namespaces {
		ownNamespaces(attr, user)
	} else {
		o.Processes += tasksOf(user)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	// Between its last limit and the program the child must need no more memory.
	cmd.Env = []string{variable + "=" + string(text), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1", "GOTRACEBACK=none"}
	cmd.SysProcAttr = attr
	b, err := attach(cmd)
	if err != nil {
		return nil, err
	}
	b.Namespaces = namespaces
	failed, status, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer failed.Close()
	cmd.ExtraFiles = []*os.File{status}
	err = cmd.Start()
	status.Close()
	if err != nil {
		if namespaces {
			return nil, fmt.Errorf("%w: %w", errNamespaces, err)
		}
		return nil, fmt.Errorf("the box cannot be started: %w", err)
	}
	// The child's end of the pipe closes when it becomes the program, or dies.
	message, err := io.ReadAll(failed)
	if err == nil && string(message) == ready {
		return b, nil
	}
	b.Close()
	return nil, stageError(string(message), err)
}

// ownNamespaces asks for namespaces in which user is 0, without its rights.
func ownNamespaces(attr *syscall.SysProcAttr, user int) {
	group := os.Getgid()
	attr.Credential = nil
	if os.Getuid() == 0 {
		group = nobody
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{} // 0 inside, and no further groups
	}
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: user, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: group, Size: 1}}
}

// stageError is the error for what a child wrote before it gave up; nothing, if it died.
func stageError(message string, err error) error {
	message = strings.TrimPrefix(message, ready)
	layer, text, _ := strings.Cut(message, ": ")
	switch {
	case err != nil:
		return fmt.Errorf("the box cannot be started: %w", err)
	case message == "":
		return errors.New("the box cannot be started: it ended before the program began")
	case layer == layerNamespaces:
		return fmt.Errorf("%w: %s", errNamespaces, text)
	case layer == layerLandlock || layer == layerSeccomp:
		return fmt.Errorf("%w: %s", ErrUnsupported, message)
	}
	return fmt.Errorf("the box cannot be started: %s", message)
}

// tasksOf counts the processes and threads of a user.
func tasksOf(user int) int {
	n := 0
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		var info syscall.Stat_t
		if syscall.Stat("/proc/"+p.Name(), &info) != nil || int(info.Uid) != user {
			continue
		}
		tasks, _ := os.ReadDir("/proc/" + p.Name() + "/task")
		n += len(tasks)
	}
	return n
}

// Close kills every process in the box and waits for the program's end.
func (b *Box) Close() {
	b.close.Do(func() {
		b.Kill()
		b.Stdin.Close()
		b.cmd.Wait()
	})
}

// Kill kills every process in the box: none can leave the program's process group,
// and the group's number is not given anew before Close. It may be called from
// another goroutine.
func (b *Box) Kill() { syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL) }

// Times are, of the processes that the program has started and that still run, the
// processor time that they have used together, and the longest time that one of their
// threads could have run and found no processor free, both in seconds. Of one thread,
// as many together wait for each other.
func (b *Box) Times() (ran, waited float64) {
	const nanosecond = 1e-9
	for _, pid := range b.processes()[1:] {
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, thread := range threads {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, thread.Name())) // run, waited, slices
			if fields := strings.Fields(string(text)); len(fields) == 3 {
				ran += number(fields[0]) * nanosecond
				waited = max(waited, number(fields[1])*nanosecond)
			}
		}
	}
	return ran, waited
}

func number(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// processes are the program and all that came of it and still run.
func (b *Box) processes() []int {
	all := []int{b.cmd.Process.Pid}
	for i := 0; i < len(all); i++ {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", all[i], all[i]))
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}
