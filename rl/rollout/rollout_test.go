package rollout

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// letters reads each byte as a token.
type letters struct{}

func (letters) Prompt(p verify.Problem) ([]int, error) {
	text := p.Question
	if strings.Contains(text, "?") {
		return nil, errors.New("unknown letter")
	}
	var ids []int
	for _, b := range []byte(text) {
		ids = append(ids, int(b))
	}
	return ids, nil
}

func (letters) Decode(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteByte(byte(id))
	}
	return b.String()
}

// echo answers a prompt of n letters with n of its own: as many of its stream's letter.
type echo struct{}

func (echo) Sample(_ context.Context, requests []Request) ([][]Segment, error) {
	out := make([][]Segment, len(requests))
	for i, r := range requests {
		for j := range r.N {
			key := r.Key
			key.Stream += uint32(j)
			ids := slices.Repeat([]int{'a' + int(key.Stream)}, len(r.Prompt))
			out[i] = append(out[i], Segment{Author: Policy, IDs: append(ids, 0), Logprob: make([]float32, len(ids)+1), Drawn: Drawn{Params: r.Params, Key: key}, Stop: EOS})
		}
	}
	return out, nil
}

func judgedBy(f func(text string) verify.Verdict) *Collector {
	return &Collector{Sampler: echo{}, Renderer: letters{}, Task: func(_ verify.Problem, text string, _ bool) verify.Verdict { return f(text) }}
}

// rejecting finds all wrong and shows the question.
type rejecting struct{}

func (rejecting) Verify(p verify.Problem, _ string) verify.Verdict {
	return verify.Reject(p.Question, "", "")
}

// TestCollect: a single turn is a prompt with a leaf for each sample; every completion
// has a stream of its own; the end token is no part of the text.
func TestCollect(t *testing.T) {
	c := judgedBy(func(text string) verify.Verdict { return verify.Accept(text, "", "") })
	besides := rejecting{}
	key := random.Key{Purpose: random.Sample, Stage: 1, Step: 4}
	groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "12"}, {Question: "123"}}, 2, Params{Temperature: 0.5}, key, besides)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"aa", "bb"}, {"ccc", "ddd"}}
	for i, g := range groups {
		for j, p := range g.Paths {
			s := g.Segments[p.Leaf]
			if p.Text != want[i][j] || p.Verdict().Extracted != want[i][j] || p.Verdicts[1].Extracted != g.Problem.Question {
				t.Errorf("completion %d of problem %d: %+v", j, i, p)
			}
			if s.Parent != 0 || s.Drawn.Key.Stream != uint32(2*i+j) || s.Drawn.Key.Step != 4 {
				t.Errorf("completion %d of problem %d: parent %d, key %+v", j, i, s.Parent, s.Drawn.Key)
			}
			v := g.View(j)
			if n := len(g.Problem.Question); v.Prompt() != n || v.Tokens() != n+1 || len(v.IDs) != 2*n+1 || v.Temperature != 0.5 || v.Stop != EOS {
				t.Errorf("completion %d of problem %d: view %+v", j, i, v)
			}
		}
	}
	var unread *PromptError
	if _, err := c.Collect(t.Context(), []verify.Problem{{Question: "what?"}}, 1, Params{}, key); !errors.As(err, &unread) || unread.Prompt != "what?" {
		t.Errorf("a prompt that cannot be read: %v", err)
	}
}

// TestView: a path with two turns has two spans, and a fork shares what is before it, in one span with it.
func TestView(t *testing.T) {
	g := Group{
		Segments: []Segment{
			{Parent: -1, IDs: []int{1, 2}},
			{Parent: 0, Author: Policy, IDs: []int{3, 4}, Logprob: []float32{-1, -2}, Entropy: []float32{1, 2}},
			{Parent: 1, IDs: []int{5}}, // what a tool said
			{Parent: 2, Author: Policy, IDs: []int{6}, Logprob: []float32{-3}, Entropy: []float32{3}, Drawn: Drawn{Params: Params{Temperature: 0.7}}, Stop: EOS},
			{Parent: 1, Author: Policy, IDs: []int{7, 8}, Logprob: []float32{-4, -5}, Entropy: []float32{4, 5}, Stop: Length},
		},
		Paths: []Path{{Leaf: 3}, {Leaf: 4}},
	}
	v := g.View(0)
	if !slices.Equal(v.IDs, []int{1, 2, 3, 4, 5, 6}) || !slices.Equal(v.Spans, []Span{{2, 4}, {5, 6}}) || !slices.Equal(v.Drawn(), []int{3, 4, 6}) ||
		!slices.Equal(v.Logprob, []float32{-1, -2, -3}) || g.Tokens(0) != 3 || v.Temperature != 0.7 || v.Stop != EOS || v.Tokens() != 3 || v.Prompt() != 2 {
		t.Errorf("two turns: %+v", v)
	}
	if v := g.View(1); !slices.Equal(v.IDs, []int{1, 2, 3, 4, 7, 8}) || !slices.Equal(v.Spans, []Span{{2, 6}}) || v.Stop != Length {
		t.Errorf("the fork: %+v", v)
	}
}

// TestJudgeSideBySide: a slow verdict does not hold up the others, and verdicts stand
// with their completions.
func TestJudgeSideBySide(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	second := make(chan bool)
	c := judgedBy(func(text string) verify.Verdict {
		if text == "a" {
			<-second // the first ends after the second has begun
		} else {
			close(second)
		}
		return verify.Accept(text, "", "")
	})
	groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "1"}}, 2, Params{}, random.Key{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a", "b"} {
		if p := groups[0].Paths[i]; p.Text != want || p.Verdict().Extracted != want {
			t.Errorf("completion %d: %+v", i, p)
		}
	}
}

// TestJudgeInterrupted: judging ends early when the run is interrupted.
func TestJudgeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	judged := make(chan bool, 1000)
	c := judgedBy(func(text string) verify.Verdict {
		cancel()
		judged <- true
		return verify.Accept(text, "", "")
	})
	if _, err := c.Collect(ctx, []verify.Problem{{Question: "1"}}, 1000, Params{}, random.Key{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := len(judged); n > 2*runtime.GOMAXPROCS(0)+1 {
		t.Errorf("%d were judged after the interrupt", n)
	}
}

// TestStops: a verifier reads what stands before the stop, and a stop is an end.
func TestStops(t *testing.T) {
	stops := Params{StopText: []string{"\n\n", "END"}, StopIDs: []int{'!'}}
	for _, s := range []struct {
		ids   string
		stop  Stop
		want  string
		ended bool
	}{
		{"ab\x00", EOS, "ab", true},
		{"aENDb\n\n", Text, "a", true},
		{"ab\n\n", Text, "ab", true},
		{"ab\n!", Text, "ab\n", true},
		{"abc", Length, "abc", false},
	} {
		ids, _ := letters{}.Prompt(verify.Problem{Question: s.ids})
		segment := &Segment{IDs: ids, Stop: s.stop, Drawn: Drawn{Params: stops}}
		if got := segment.Text(letters{}); got != s.want || segment.Ended() != s.ended {
			t.Errorf("%q by %s: %q, ended %v", s.ids, s.stop, got, segment.Ended())
		}
	}
}

// costly is a verifier whose verdicts take steps.
type costly struct{ steps int }

func (c costly) Verify(verify.Problem, string) verify.Verdict { return verify.Accept("", "", "") }

func (c costly) Metered(p verify.Problem, text string) (verify.Verdict, verify.Cost) {
	return c.Verify(p, text), verify.Cost{Steps: c.steps}
}

// TestJudgeBudget: what a metered verifier takes on the completions of a step is added up, for
// the task's and for each besides, and the step ends where it is too much.
func TestJudgeBudget(t *testing.T) {
	problems := slices.Repeat([]verify.Problem{{Question: "12"}}, 10)
	for _, x := range []struct {
		task, besides []int // steps of each verdict
		over          bool
	}{
		{nil, nil, false},
		{[]int{500_000}, nil, false},
		{[]int{500_001}, nil, true},
		{nil, []int{500_000, 500_000}, false},
		{nil, []int{1, 500_001}, true},
	} {
		c := judgedBy(func(string) verify.Verdict { return verify.Accept("", "", "") })
		var besides []verify.Verifier
		for _, steps := range x.task {
			c.Asks = costly{steps}
		}
		for _, steps := range x.besides {
			besides = append(besides, costly{steps})
		}
		_, err := c.Collect(t.Context(), problems, 2, Params{}, random.Key{}, besides...)
		if (err != nil) != x.over || err != nil && !strings.Contains(err.Error(), "for some of 20 completions that are judged together; accepted: at most 10000000") {
			t.Errorf("%+v: %v", x, err)
		}
	}
}
