package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
)

// folderOf writes a model of a shape that says every token is as likely as any other: its weights are zero.
func folderOf(t *testing.T, s Shape) string {
	t.Helper()
	m, err := model.NewFrozen(device(t), s.Config, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	config, err := json.Marshal(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	var weights bytes.Buffer
	if err := hf.WriteSafetensors(&weights, m.Tensors()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"config.json": config, "model.safetensors": weights.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestShapeOf: the weights of a model that there is are measured, and not random ones: what each benchmark says of its
// tokens shows it.
func TestShapeOf(t *testing.T) {
	s, small := shape(), shape().Config
	small.MaxPositions = 2048
	s.Config = small
	given, err := ShapeOf(folderOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	given.Decode, given.TrainTokens = []int{2}, 5
	for name, run := range map[string]func(Bench) error{
		"decode": func(b Bench) error { return Decode(b, given) }, "prefill": func(b Bench) error { return Prefill(b, given) },
		"train":  func(b Bench) error { return Train(b, given) },
		"groups": func(b Bench) error { return grouped{given.Name, given.Config, 9, 3, 2}.measure(b, given) },
	} {
		var told []Result
		if err := run(Bench{Device: device(t), Limits: limits(), Alone: true, Emit: func(r Result) { told = append(told, r) }}); err != nil {
			t.Fatal(err)
		}
		want := -math.Log(float64(small.Vocab)) // of one token: float32 rounds it by half a unit of its last place, and log and the sum before it
		if len(told) != 1 || told[0].Value <= 0 || !strings.Contains(told[0].Case, given.From) || math.Abs(told[0].Logprob-want) > 4*0x1p-24*-want {
			t.Errorf("%s: %+v; want a log-prob of %v", name, told, want)
		}
	}
	if _, err := ShapeOf(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no config.json") {
		t.Errorf("a folder without a model: %v", err)
	}
}
