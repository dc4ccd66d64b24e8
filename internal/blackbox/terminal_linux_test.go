package blackbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a new terminal (pts(4)): what is written at its one end, and the end of a program.
func terminal(t *testing.T) (shown, own *os.File) {
	t.Helper()
	shown, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no terminal: %v", err)
		}
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { shown.Close() })
	if err := unix.IoctlSetPointerInt(int(shown.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(shown.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	own, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	return shown, own
}

// TestPageStays: on a terminal the page of train --page is there after the run, until Ctrl-C, which
// is no error then; elsewhere it ends with the run.
func TestPageStays(t *testing.T) {
	program := buildProgram(t)
	args := func(dir string) []string {
		list := []string{"train", "--page", "--device", "ref", "--run", dir, "countdown-short"}
		for _, set := range []string{"model.layers=1", "model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64", "task.eval_problems=4",
			"stage.warm-up.batch_size=2", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1", "stage.rl.steps=1", "stage.rl.prompts_per_step=2", "stage.rl.group_size=2"} {
			list = append(list, "--set", set)
		}
		return list
	}
	if p := program.run(t, args(filepath.Join(t.TempDir(), "piped"))...); p.wait() != 0 {
		t.Fatalf("without a terminal:\n%s", p.shown())
	}
	shown, own := terminal(t)
	cmd := exec.Command(program.path, args(filepath.Join(t.TempDir(), "run"))...)
	cmd.Stderr = own
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		own.Close()
	}()
	t.Cleanup(func() { cmd.Process.Kill() })
	stays := regexp.MustCompile(`^  page    (http://\S+) until Ctrl-C\s*$`)
	lines, text, url := bufio.NewScanner(shown), "", ""
	for url == "" && lines.Scan() {
		text += lines.Text() + "\n"
		if m := stays.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	if url == "" {
		t.Fatalf("nothing says that the page stays:\n%s", text)
	}
	go io.Copy(io.Discard, shown)
	body, err := exec.Command("curl", "-s", url+"runs.json").Output()
	if err != nil || !strings.Contains(string(body), `"state":"finished"`) {
		t.Errorf("after the run the page says %s, %v", body, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
