package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ask makes a call as worker.js does and returns the status and the answer.
func ask(t *testing.T, d *disk, name string, args map[string]any, data string) (int, string) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/?args="+url.QueryEscape(string(text)), bytes.NewReader([]byte(data)))
	request.URL.Path = name
	w := httptest.NewRecorder()
	d.ServeHTTP(w, request)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// TestDisk walks through a file's life; what fails has node's code.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	file, moved := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	d := newDisk()
	for _, step := range []struct {
		name   string
		args   map[string]any
		data   string
		status int
		answer string
	}{
		{"open", map[string]any{"path": file, "flags": os.O_RDWR | os.O_CREATE | os.O_EXCL, "mode": 0o600}, "", 200, "3"},
		{"open", map[string]any{"path": file, "flags": os.O_RDWR | os.O_CREATE | os.O_EXCL, "mode": 0o600}, "", 400, "EEXIST"},
		{"open", map[string]any{"path": file, "flags": directory}, "", 400, "ENOTDIR"},
		{"open", map[string]any{"path": dir, "flags": directory}, "", 200, "4"},
		{"close", map[string]any{"file": 4}, "", 200, "null"},
		{"write", map[string]any{"file": 3, "position": nil}, "hello", 200, "5"},
		{"write", map[string]any{"file": 3, "position": 1}, "a", 200, "1"},
		{"read", map[string]any{"file": 3, "position": 0, "length": 9}, "", 200, "hallo"},
		{"read", map[string]any{"file": 3, "position": nil, "length": 9}, "", 200, ""},
		{"ftruncate", map[string]any{"file": 3, "length": 4}, "", 200, "null"},
		{"fsync", map[string]any{"file": 3}, "", 200, "null"},
		{"close", map[string]any{"file": 3}, "", 200, "null"},
		{"close", map[string]any{"file": 3}, "", 400, "EBADF"},
		{"rename", map[string]any{"path": file, "to": moved}, "", 200, "null"},
		{"stat", map[string]any{"path": file}, "", 400, "ENOENT"},
		{"readdir", map[string]any{"path": dir}, "", 200, `["b"]`},
		{"rmdir", map[string]any{"path": dir}, "", 400, "ENOTEMPTY"},
		{"no such call", map[string]any{"file": 1}, "", 400, "ENOSYS"},
	} {
		if status, answer := ask(t, d, step.name, step.args, step.data); status != step.status || answer != step.answer {
			t.Errorf("%s %v: %d %q, want %d %q", step.name, step.args, status, answer, step.status, step.answer)
		}
	}
	for path, kind := range map[string]int{moved: 0o100000, dir: 0o040000} {
		_, answer := ask(t, d, "stat", map[string]any{"path": path}, "")
		var stat struct{ Mode, Size int }
		if err := json.Unmarshal([]byte(answer), &stat); err != nil || stat.Mode&0o170000 != kind || kind == 0o100000 && stat.Size != 4 {
			t.Errorf("%s: %s, %v", path, answer, err)
		}
	}
}
