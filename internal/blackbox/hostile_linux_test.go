package blackbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// What a command may take for what is read from outside.
const (
	mostTaken  = 1 << 30 // bytes
	mostWaited = time.Minute
)

// TestHostile: files that are made to exhaust memory or time are refused with a sentence, or read
// within the bounds; none ends the program by a panic or a signal.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads large files")
	}
	t.Setenv("RLZERO_DEVICE", "ref")
	s := &session{folder: t.TempDir()}
	root := fixtures.Root(t)
	s.model(t, root, "model", nil)
	replace := `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	doubling := `{"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat(replace+",", 60) + replace + `]},"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`
	s.model(t, root, "doubles", map[string]func([]byte) []byte{"tokenizer.json": func([]byte) []byte { return []byte(doubling) }})
	s.model(t, root, "layers", map[string]func([]byte) []byte{"config.json": func(data []byte) []byte {
		var config map[string]any
		if err := json.Unmarshal(data, &config); err != nil {
			t.Fatal(err)
		}
		config["num_hidden_layers"] = 1_000_000_000
		data, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}})
	s.model(t, root, "header", map[string]func([]byte) []byte{"model.safetensors": func([]byte) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, 1<<62), '{')
	}})
	nested := bytes.Repeat([]byte{0x19}, 1<<20) // of Thrift's compact protocol: a field that is a list of lists of lists ...
	for name, text := range map[string]string{
		"rows.jsonl":        `{"question":"1+1?","answer":"2","completion":"2"}` + "\n",
		"talk.jsonl":        `{"messages":[{"role":"user","content":"hello"}]}` + "\n",
		"long.jinja":        "{% for i in range(1000000000) %}{% for j in range(1000000000) %}long{% endfor %}{% endfor %}",
		"grows.jinja":       "{% set ns = namespace(x='long') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
		"grows.star":        "def reward(row, completion):\n    x = 'long'\n    for i in range(100):\n        x += x\n    return len(x)\n",
		"loops.star":        "def reward(row, completion):\n    n = 0\n    for i in range(1 << 40):\n        n += i\n    return n\n",
		"deep.json":         strings.Repeat("[", 10<<20),
		"deep.jsonl":        `{"question":` + strings.Repeat(`{"a":`, 10<<20) + "\n",
		"nested.parquet":    "PAR1" + string(nested) + string(binary.LittleEndian.AppendUint32(nil, uint32(len(nested)))) + "PAR1",
		"counts.gguf":       "GGUF" + string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, 3), 1<<60), 1<<60)),
		"line.jsonl":        "",
		"run/recipe.toml":   "",
		"run/checkpoints/x": "",
		"run/metrics.jsonl": `{"step":1,"stage":"rl","reward/mean":0.5}` + "\n",
	} {
		s.write(t, name, text)
	}
	s.write(t, "run/completions.jsonl", `{"step":1,"stage":"rl","group":0,"sample":0,"prompt":"1+1","completion":"2","reward":1,"verdict":"right"}`+"\n")
	for _, name := range []string{"run/completions.jsonl", "line.jsonl"} {
		if err := os.Truncate(filepath.Join(s.folder, name), mostTaken+64<<20); err != nil { // a line of zeros, which takes no room on the disk
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command, says string
		code          int
	}{
		{"rlzero inspect tokens --model doubles --text aaaa", "normalizer: after step", 2},
		{"rlzero sample --prompt hi layers", "num_hidden_layers", 2},
		{"rlzero fit layers", "num_hidden_layers", 2},
		{"rlzero sample --prompt hi header", "header", 2},
		{"rlzero inspect gguf counts.gguf", "counts.gguf", 2},
		{"rlzero inspect template --template long.jinja --in talk.jsonl", "", 0},
		{"rlzero inspect template --template grows.jinja --in talk.jsonl", "", 0},
		{"rlzero verify --verifier grows.star --in rows.jsonl", "", 0},
		{"rlzero verify --verifier loops.star --in rows.jsonl", "", 0},
		{"rlzero inspect data deep.json", "deep.json", 2},
		{"rlzero inspect data deep.jsonl", "deep.jsonl", 2},
		{"rlzero inspect data line.jsonl", "line 1 has more than", 2},
		{"rlzero inspect data nested.parquet", "nested.parquet", 2},
		{"rlzero report run", "", 0},
		{"rlzero show run --step 1", "", 0},
	} {
		t.Run(c.command, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), mostWaited)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+c.command)
			cmd.Dir = s.folder
			out, err := cmd.CombinedOutput()
			shown := string(out[:min(len(out), 2000)])
			if ctx.Err() != nil || cmd.ProcessState == nil {
				t.Fatalf("%v: it is not through after %v: %s", err, mostWaited, shown)
			}
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(shown, c.says) || strings.Contains(shown, "goroutine ") {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, c.code, c.says, shown)
			}
			took := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			if t.Logf("%d MiB, %s", took>>20, shown); took > mostTaken {
				t.Errorf("it takes %d MiB", took>>20)
			}
		})
	}
}

// model writes a small model with some files changed.
func (s *session) model(t *testing.T, root, name string, changed map[string]func([]byte) []byte) {
	t.Helper()
	for _, file := range []string{"models/qwen3_tied_f32/config.json", "models/qwen3_tied_f32/model.safetensors", "chat/tokenizer.json", "chat/tokenizer_config.json"} {
		data, err := os.ReadFile(filepath.Join(root, "testdata", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		if change := changed[base]; change != nil {
			data = change(data)
		}
		s.write(t, name+"/"+base, string(data))
	}
}
