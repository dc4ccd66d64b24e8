package serve

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/seq"
)

// adapterOf writes an adapter that changes what the tiny model says.
func adapterOf(t *testing.T, m *model.Model, scale float32) string {
	t.Helper()
	if err := m.AddAdapter(hf.AdapterConfig{Rank: 4, Alpha: 8}, 5); err != nil {
		t.Fatal(err)
	}
	all := m.AdapterTensors()
	for i, n := range all {
		if strings.Contains(n.Name, "lora_B") { // zeros, and so without effect
			all[i].Data = func() ([]float32, error) {
				x, err := n.Data()
				for j := range x {
					x[j] = scale * float32(j%7-3)
				}
				return x, err
			}
		}
	}
	config, err := m.AdapterConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	var weights bytes.Buffer
	if err := hf.WriteSafetensors(&weights, all); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"adapter_config.json": config, "adapter_model.safetensors": weights.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// twoAdapters is a server of the tiny model with two adapters, and their folders.
func twoAdapters(t *testing.T) (s *Server, dirs map[string]string) {
	t.Helper()
	whole := tiny(t, refdev.New())
	base, err := model.NewFrozen(refdev.New(), whole.Config, 256)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(base.Close)
	if err := base.CopyFrom(whole); err != nil {
		t.Fatal(err)
	}
	base.Tokenizer = whole.Tokenizer
	dirs = map[string]string{"one": adapterOf(t, tiny(t, refdev.New()), 0.1), "two": adapterOf(t, tiny(t, refdev.New()), -0.2)}
	var adapters []Adapter
	for _, name := range []string{"one", "two"} {
		m, err := base.WithAdapter(dirs[name])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		adapters = append(adapters, Adapter{Name: name, Weights: "digest of " + name, Model: m})
	}
	return serving(t, base, func(o *Options) { o.Adapters = adapters }), dirs
}

// TestAdapters: adapters are models of their own. Their log-probs are those of a model that
// was loaded with the adapter, their answers do not depend on what else is asked, and the
// model itself stays as it is.
func TestAdapters(t *testing.T) {
	s, dirs := twoAdapters(t)
	alone := plain(t, nil)

	var bodies, want []string
	var prints []string
	for i := range 12 {
		name := []string{"tiny", "one", "two"}[i%3]
		bodies = append(bodies, fmt.Sprintf(`{"model":%q,"prompt":"number %d","max_tokens":12,"seed":%d,"logprobs":1}`, name, i/3, i/3))
		_, text := ask(t, s, "/v1/completions", bodies[i])
		want = append(want, text)
		if !strings.Contains(text, fmt.Sprintf(`"model":%q`, name)) {
			t.Errorf("%s: %s", name, text)
		}
		if name == "tiny" {
			if _, text := ask(t, alone, "/v1/completions", bodies[i]); text != want[i] {
				t.Errorf("beside adapters:\n%s\nwithout:\n%s", want[i], text)
			}
		}
	}
	var all sync.WaitGroup
	for i, body := range bodies {
		all.Go(func() {
			if _, text := ask(t, s, "/v1/completions", body); text != want[i] {
				t.Errorf("at once:\n%s\nalone:\n%s", text, want[i])
			}
		})
	}
	all.Wait()

	for _, name := range []string{"one", "two"} {
		loaded := tiny(t, refdev.New())
		if err := loaded.LoadAdapter(dirs[name]); err != nil {
			t.Fatal(err)
		}
		scorer, err := loaded.NewScorer(256)
		if err != nil {
			t.Fatal(err)
		}
		defer scorer.Close()
		a := got[spoken](t, s, "/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"a prompt","max_tokens":6,"echo":true,"logprobs":0,"seed":1,"return_token_ids":true}`, name)).Choices[0]
		stats, err := scorer.Score([]seq.Sequence{seq.Predict(slices.Concat(a.Prompt, a.IDs), 1, 1)})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range a.Logprobs.Logprob[1:] {
			if math.Float32bits(*x) != math.Float32bits(stats[0].Logprob[i]) {
				t.Errorf("%s: token %d: %v, scored %v", name, i+1, *x, stats[0].Logprob[i])
			}
		}
		card := got[modelCard](t, s, "/v1/models/"+name, "")
		if card.ID != name || card.Weights != "digest of "+name {
			t.Errorf("%+v", card)
		}
		prints = append(prints, card.Print)
	}
	if list := got[struct{ Data []modelCard }](t, s, "/v1/models", ""); len(list.Data) != 3 || list.Data[0].ID != "tiny" || slices.Contains(prints, s.print) || prints[0] == prints[1] {
		t.Errorf("%+v", list)
	}
	if status, text := ask(t, s, "/v1/completions", `{"model":"three","prompt":"a"}`); status != 404 || !strings.Contains(text, `accepted: \"tiny\", \"one\", \"two\"`) {
		t.Errorf("%d %s", status, text)
	}
}
