package files

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file, pipe, link := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	type read struct {
		path string
		most int64
		want string // the error's text, "" for none
	}
	lfs := filepath.Join(dir, "lfs")
	if err := os.WriteFile(lfs, []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []read{
		{lfs, 500, "lfs is a pointer of Git LFS, which stands for a file that was not fetched"},
		{file, 5, ""},
		{file, 4, "file has 5 bytes; accepted: at most 4"},
		{dir, 5, "is a folder; accepted: a regular file"},
		{filepath.Join(dir, "none"), 5, "none"},
	}
	if runtime.GOOS != "windows" {
		if err := exec.Command("mkfifo", pipe).Run(); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("file", link); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, read{link, 5, ""}, read{pipe, 5, "pipe is a pipe; accepted: a regular file"},
			read{"/dev/zero", 5, "/dev/zero is a device; accepted: a regular file"})
	}
	if runtime.GOOS == "linux" { // it says that it has no bytes
		cases = append(cases, read{"/proc/self/status", 8, "has 9 bytes; accepted: at most 8"})
	}
	for _, c := range cases {
		data, err := Read(c.path, c.most)
		switch {
		case c.want == "" && (err != nil || string(data) != "12345"):
			t.Errorf("%s: %q, %v", c.path, data, err)
		case c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want) && !os.IsNotExist(err)):
			t.Errorf("%s: %v, want %s", c.path, err, c.want)
		}
	}
}
