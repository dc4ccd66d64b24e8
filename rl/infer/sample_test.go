package infer

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	_ "github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
)

// endless has the same line again and again. It fails after most lines, so that a test
// of a reader without a bound ends.
type endless struct{ lines, most int }

var errTooFar = errors.New("read too far")

const endlessLine = `{"ids":[26,335]}` + "\n"

func (e *endless) Read(p []byte) (int, error) {
	if e.lines++; e.lines > e.most {
		return 0, errTooFar
	}
	return copy(p, endlessLine), nil
}

// closed refuses what is written.
type closed struct{}

var errClosed = errors.New("closed")

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func tinyModel(t *testing.T) *model.Model {
	t.Helper()
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	m, err := model.Load(dev, "../../testdata/models/qwen3_tied_f32", model.LoadOptions{Frozen: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// TestSampleEndless: an input that does not end is answered in batches, and the error of
// a reader that has gone does not name a line.
func TestSampleEndless(t *testing.T) {
	in := &endless{most: 2 * maxWaiting}
	o := SampleOptions{N: 32, MaxTokens: 1, Sampling: sample.Settings{Temperature: 1}}
	err := Sample(t.Context(), tinyModel(t), "pipe", in, closed{}, o)
	if !errors.Is(err, errClosed) || strings.Contains(err.Error(), "line") {
		t.Errorf("error %v after %d lines, want %v", err, in.lines, errClosed)
	}
}

// TestSampleBatches: what is drawn does not depend on how the lines are batched.
func TestSampleBatches(t *testing.T) {
	m := tinyModel(t)
	o := SampleOptions{N: SequencesAtOnce, MaxTokens: 1, Sampling: sample.Settings{Temperature: 1, Seed: 3}}
	const lines = maxWaiting/SequencesAtOnce + 1
	var out bytes.Buffer
	if err := Sample(t.Context(), m, "lines", strings.NewReader(strings.Repeat(endlessLine, lines)), &out, o); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(got) != lines*o.N {
		t.Fatalf("%d completions, want %d of %d lines", len(got), o.N, lines)
	}
	last := sample.Request{Prompt: []int{26, 335}, N: o.N, MaxTokens: 1, Sampling: o.Sampling, Stream: maxWaiting} // the second batch
	all, err := sampleRequests(t.Context(), m, nil, []sample.Request{last})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range all[0] {
		if want := fmt.Sprintf(`{"ids":[%d]`, c.IDs[0]); !strings.HasPrefix(got[maxWaiting+i], want) {
			t.Errorf("line %d is %s, want %s", maxWaiting+i+1, got[maxWaiting+i], want)
		}
	}
}
