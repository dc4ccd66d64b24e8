package blackbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// machine is a network namespace: what its programs see of the network is an address of its
// own on a common wire.
type machine struct {
	name, address string
}

// wired makes machines and the wire between them. It needs root and the ip of iproute2.
func wired(t *testing.T, n int) []machine {
	t.Helper()
	prefix := fmt.Sprint("rlzero-", os.Getpid(), "-")
	space := func(name string) {
		ip(t, "netns", "add", name)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
		ip(t, "-n", name, "link", "set", "lo", "up")
	}
	wire := prefix + "wire"
	space(wire)
	ip(t, "-n", wire, "link", "add", "wire", "type", "bridge")
	ip(t, "-n", wire, "link", "set", "wire", "up")
	var list []machine
	for i := range n {
		m, plug := machine{fmt.Sprint(prefix, i), fmt.Sprintf("10.77.0.%d", i+1)}, fmt.Sprint("plug", i)
		space(m.name)
		ip(t, "-n", wire, "link", "add", plug, "type", "veth", "peer", "name", "card", "netns", m.name)
		ip(t, "-n", wire, "link", "set", plug, "master", "wire", "up")
		ip(t, "-n", m.name, "address", "add", m.address+"/24", "dev", "card")
		ip(t, "-n", m.name, "link", "set", "card", "up")
		list = append(list, m)
	}
	return list
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// run starts the program on a machine.
func (m machine) run(t *testing.T, pr program, args ...string) *process {
	t.Helper()
	return program{path: "ip"}.run(t, append([]string{"netns", "exec", m.name, pr.path}, args...)...)
}

// slowed lets a process run a tenth of the time, until it is let go. Its clock goes on.
func slowed(t *testing.T, p *process) (letGo func()) {
	t.Helper()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			p.cmd.Process.Signal(syscall.SIGSTOP) // not if it has ended
			time.Sleep(45 * time.Millisecond)
			p.cmd.Process.Signal(syscall.SIGCONT)
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	letGo = sync.OnceFunc(func() {
		close(end)
		<-ended
	})
	t.Cleanup(letGo)
	return letGo
}

// TestMachines: a run over four other machines, by the commands of the README, has the bytes of
// a run on one, whatever becomes of them: one is killed, one hangs, one is cut off, and what one
// says is lost on its way. The last two take part again when they are heard again.
func TestMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains for some seconds")
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil && os.Getenv("CI") == "" {
		t.Skip("network namespaces need the program ip (Debian: iproute2)")
	}
	t.Setenv("RLZERO_DEVICE", "ref") // the smallest model is enough: what breaks is the network
	program, folder := buildProgram(t), t.TempDir()
	base, dir := filepath.Join(folder, "alone"), filepath.Join(folder, "fleet")
	train := func(dir string) []string { return append(small(dir, 600), "--set", "stage.rl.checkpoint_every=200") }
	if p := program.run(t, train(base)...); p.wait() != 0 {
		t.Fatalf("on one machine:\n%s", p.shown())
	}
	key := func(name string) (file, public string) {
		file = filepath.Join(folder, name+".key")
		out, err := exec.Command(program.path, "worker", "--key-new", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		return file, strings.TrimSpace(string(out))
	}
	all := wired(t, 5)
	trainers, _ := key("trainer")
	var keys, public []string
	for i := range all[1:] {
		file, line := key(fmt.Sprint("worker", i))
		keys, public = append(keys, file), append(public, line)
	}
	allow := filepath.Join(folder, "allow.txt")
	if err := os.WriteFile(allow, []byte(strings.Join(public, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	trainer := all[0].run(t, program, append(train(dir), "--workers", "nats:"+all[0].address+":4222", "--key", trainers, "--allow", allow)...)
	shows := func(times int, text string) {
		t.Helper()
		if !trainer.until(func() bool { return strings.Count(trainer.shown(), text) >= times }) {
			t.Fatalf("%q is not shown %d times:\n%s", text, times, trainer.shown())
		}
	}
	shows(1, "rlzero worker nats://")
	// Eight seconds pass until a worker is called silent, in which all steps may be done where they are quick.
	letGo := slowed(t, trainer)
	_, url, _ := strings.Cut(trainer.shown(), "rlzero worker ")
	var workers []*process
	for i, m := range all[1:] {
		workers = append(workers, m.run(t, program, "worker", strings.Fields(url)[0], "--key", keys[i]))
	}
	shows(4, " joins: ")
	workers[0].cmd.Process.Kill()
	if err := workers[1].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ip(t, "-n", all[3].name, "link", "set", "card", "down")
	lost := []string{"-n", all[4].name, "route", "add", "blackhole", all[0].address + "/32"}
	ip(t, lost...)
	shows(3, "is silent: others do its work")
	ip(t, "-n", all[3].name, "link", "set", "card", "up")
	lost[3] = "del"
	ip(t, lost...)
	shows(6, " joins: ")
	letGo()
	if code := trainer.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, trainer.shown())
	}
	got := filesOf(t, dir)
	delete(got, "workers.json") // of the fleet
	sameFiles(t, got, filesOf(t, base))
}
