package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	_ "github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// rowSource draws rows, any as likely as any other. The first two are held out too.
type rowSource struct {
	prompts.Source
	rows []verify.Problem
}

func (s rowSource) Name() string { return "rows.jsonl" }

func (s rowSource) Draw(r *random.Rand) verify.Problem { return s.rows[r.Between(0, len(s.rows)-1)] }

func (s rowSource) HeldOut(n int) ([]verify.Problem, error) { return s.rows[:min(n, 2)], nil }

func (s rowSource) Rows() (train, heldOut []verify.Problem) { return s.rows, s.rows[:2] }

// rowsOf are problems with the columns of JSON objects.
func rowsOf(t *testing.T, objects ...string) []verify.Problem {
	t.Helper()
	rows := make([]verify.Problem, len(objects))
	for i, object := range objects {
		if err := json.Unmarshal([]byte(object), &rows[i]); err != nil {
			t.Fatal(err)
		}
		rows[i].Line = i + 1
	}
	return rows
}

var pairs = []string{
	`{"prompt":"one","chosen":"yes","rejected":"no, never"}`, `{"prompt":"two and more","chosen":"2","rejected":"22"}`,
	`{"prompt":"three","chosen":"a longer answer","rejected":""}`, `{"prompt":"four","chosen":"4","rejected":"5"}`,
}

// stageOn opens a stage on the plain-Go device, in front of its first step. text are its
// keys.
func stageOn(t *testing.T, kind string, rows []verify.Problem, text string) Stage {
	t.Helper()
	model := fixtures.ChatModel(t)
	r, err := recipe.Parse("rows.toml", fmt.Sprintf("model.path = %q\ntask.data = \"rows.jsonl\"\ntask.allow_leaks = true\n[[stage]]\nkind = %q\nbatch_size = 4\nmax_tokens = 80\n%s", model, kind, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	c, err := cast.Open(r, model, dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		dev.Close()
	})
	p := Parts{Recipe: r, Source: rowSource{rows: rows}, Cast: c}
	if p.Prompts, err = prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, prompts.Style{Form: prompts.Auto}); err != nil {
		t.Fatal(err)
	}
	if p.Collector, err = NewCollector(&resolve.Opened{Recipe: r, Source: p.Source}, c, p.Prompts, nil); err != nil {
		t.Fatal(err)
	}
	if p.HeldOut, err = NewHeldOut(r, p.Source, p.Collector); err != nil {
		t.Fatal(err)
	}
	if err := c.Begin(r, 0); err != nil {
		t.Fatal(err)
	}
	s, err := New(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func preferenceOn(t *testing.T, rows []verify.Problem, text string) *preference {
	t.Helper()
	return stageOn(t, recipe.KindPreference, rows, text).(*preference)
}

func choicesOf(t *testing.T, s *preference, rows []verify.Problem) []Completion {
	t.Helper()
	cs, err := s.choices(rows)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// near allows for the rounding of sums of a few hundred numbers in float64.
func near(got, want float64) bool {
	const terms = 1000
	return math.Abs(got-want) <= terms*0x1p-53*(1+math.Abs(want))
}

func sumOf(row []float64) (sum float64) {
	for _, x := range row {
		sum += x
	}
	return sum
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// TestMismatchedHeldOut: a method that pairs prompts with completions of others is refused
// before its first step where a single row is held out, and no other method is.
func TestMismatchedHeldOut(t *testing.T) {
	for preset, refused := range map[string]bool{"kto": true, "dpo": false} {
		s := preferenceOn(t, rowsOf(t, pairs...), "[stage.algorithm]\npreset = \""+preset+"\"\n")
		s.HeldOut.Problems = s.HeldOut.Problems[:1]
		_, err := New(s.Parts, 0)
		if refused != (err != nil) || refused && (!errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "found 1, accepted: at least 2")) {
			t.Errorf("%s: %v", preset, err)
		}
	}
}

// TestDPOIsItsClosedForm: loss, derivatives and metrics of the stage are those of equation
// 7 of arXiv 2305.18290, of a policy that has left its reference.
func TestDPOIsItsClosedForm(t *testing.T) {
	const beta = 0.5
	rows := rowsOf(t, pairs...)
	s := preferenceOn(t, rows, "steps = 9\n[stage.algorithm]\nbeta = 0.5\n[stage.optimizer]\nlr = 1e-2\nwarmup_steps = 0\n")
	if _, err := s.Step(t.Context(), Position{}); err != nil {
		t.Fatal(err)
	}
	cs := choicesOf(t, s, rows)
	views := column(cs, func(c *Completion) rollout.View { return c.View })
	stats, err := s.Cast.Policy.Forward(views)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Cast.Supply("ref", views)
	if err != nil {
		t.Fatal(err)
	}
	gain := make([]float64, len(cs))
	for i := range cs {
		gain[i] = sumOf(cast.Widen(stats[i].Logprob)) - sumOf(ref[i])
	}
	b, m, err := s.learn(Position{Step: 1}, cs, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, loss, right, margin := float64(len(rows)), 0.0, 0.0, 0.0
	for i := range rows {
		d := gain[2*i] - gain[2*i+1]
		loss -= math.Log(sigmoid(beta*d)) / n
		margin += beta * d / n
		if d > 0 {
			right += 1 / n
		}
		for j, sign := range []float64{-1, 1} {
			for _, got := range b.slopes[2*i+j] {
				if want := sign * beta * sigmoid(-beta*d) / n; !near(got, want) {
					t.Errorf("pair %d, completion %d: derivative %v, want %v", i, j, got, want)
				}
			}
		}
	}
	if d := gain[0] - gain[1]; d == 0 || !near(m.loss, loss) {
		t.Errorf("loss %v, want %v; the first pair is %v apart", m.loss, loss, d)
	}
	if !near(m.metrics["preference/accuracy"], right) || !near(m.metrics["preference/margin"], margin) {
		t.Errorf("metrics %v, want accuracy %v, margin %v", m.metrics, right, margin)
	}
	if !near(m.metrics["preference/chosen"], beta*(gain[0]+gain[2]+gain[4]+gain[6])/n) || m.metrics["reward/mean"] != 0 {
		t.Errorf("metrics %v", m.metrics)
	}
}

// TestPreferenceGradient: the loss of the stage changes along the direction of its update
// as fast as the gradient says. With eps far above the gradient, the direction u of AdamW's
// first update is g/(|g| + eps), so that g·u is |g|²/eps but for a share of |g|/eps. The
// slope is a central difference over five points, and what those over three say differently
// bounds its own error; the device's log-probs are float32, of sums of some hundred terms.
func TestPreferenceGradient(t *testing.T) {
	const eps, scale, far = 0.5, 0x1p-14, 0.01 // far: length of the shorter step in the space of the weights
	rows := rowsOf(t, pairs...)
	for _, method := range []string{"dpo", "simpo", "orpo"} {
		loss := map[string]string{"orpo": "prompt_mean(pair) + token_mean(-logp, best)"}[method]
		if loss == "" {
			loss = "prompt_mean(pair)"
		}
		text := fmt.Sprintf("[stage.algorithm]\npreset = %q\nloss = \"%v*(%s)\"\n[stage.optimizer]\neps = %v\nclip_norm = 0\n", method, scale, loss, eps)
		at := func(lr float64) (before measured, after float64) {
			s := preferenceOn(t, rows, text)
			_, before, err := s.learn(Position{}, choicesOf(t, s, rows), lr)
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.measure(Position{}, choicesOf(t, s, rows))
			if err != nil {
				t.Fatal(err)
			}
			return before, m.loss
		}
		m, still := at(0)
		h := far * eps / m.norm
		f := func(steps float64) float64 { _, after := at(-steps * h); return after - still }
		three := (f(1) - f(-1)) / (2 * h)
		five := (4*three - (f(2)-f(-2))/(4*h)) / 3
		want := m.norm * m.norm / eps
		bound := math.Abs(five-three) + want*m.norm/eps + scale*200*0x1p-24/h
		if m.norm == 0 || bound > want/20 || math.Abs(five-want) > bound {
			t.Errorf("%s: slope %v, want %v within %v", method, five, want, bound)
		}
	}
}

// TestMismatched: each prompt meets the completion of the next one, cut off where the stage
// has no room.
func TestMismatched(t *testing.T) {
	view := func(group, sample int, prompt, completion []int) Completion {
		ids := slices.Concat(prompt, completion)
		return Completion{Group: group, Sample: sample, View: rollout.View{IDs: ids, Spans: []rollout.Span{{From: len(prompt), To: len(ids)}}, Group: group + 1}}
	}
	cs := []Completion{view(0, 0, []int{1, 2}, []int{10, 11}), view(0, 1, []int{1, 2}, []int{12}), view(1, 0, []int{3}, []int{13, 14, 15})}
	views := mismatchedViews(cs, 4)
	for i, want := range []struct {
		ids  []int
		span rollout.Span
	}{{[]int{1, 2, 13, 14}, rollout.Span{From: 2, To: 4}}, {[]int{1, 2, 13, 14}, rollout.Span{From: 2, To: 4}}, {[]int{3, 10, 11}, rollout.Span{From: 1, To: 3}}} {
		if v := views[i]; !slices.Equal(v.IDs, want.ids) || len(v.Spans) != 1 || v.Spans[0] != want.span || v.Group != cs[i].View.Group {
			t.Errorf("view %d: %+v, want %+v", i, v, want)
		}
	}
	if mismatchedViews(cs[:2], 100) != nil {
		t.Error("one prompt has no other")
	}
}

// TestKTO: rows with labels by equation 8 of arXiv 2402.01306, and what cannot learn from
// them.
func TestKTO(t *testing.T) {
	rows := rowsOf(t, `{"prompt":"one","completion":"yes","label":true}`, `{"prompt":"two","completion":"no","label":false}`, `{"prompt":"three","completion":"more","label":1}`)
	s := preferenceOn(t, rows, "algorithm.preset = \"kto\"\nalgorithm.beta = 0.5\n[stage.optimizer]\nlr = 1e-2\nwarmup_steps = 0\n")
	if _, err := s.Step(t.Context(), Position{}); err != nil {
		t.Fatal(err)
	}
	cs := choicesOf(t, s, rows)
	gainOf := func(views []rollout.View) (sums []float64) {
		gains, err := s.Cast.Supply("mismatched", views)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range gains {
			sums = append(sums, sumOf(row))
		}
		return sums
	}
	gain, anchors := gainOf(column(cs, func(c *Completion) rollout.View { return c.View })), gainOf(mismatchedViews(cs, 100))
	z, loss := math.Max(0, mean(anchors)), 0.0
	for i, sign := range []float64{1, -1, 1} {
		loss += (1 - sigmoid(sign*0.5*(gain[i]-z))) / 3
	}
	_, m, err := s.learn(Position{Step: 1}, cs, 0)
	if err != nil || !near(m.loss, loss) || gain[0] == 0 {
		t.Errorf("loss %v, want %v; %v", m.loss, loss, err)
	}

	s = preferenceOn(t, rows, "")
	if _, err := s.Step(t.Context(), Position{}); err == nil || !strings.Contains(err.Error(), "the loss has the derivative 0 for every token of the step's rows") {
		t.Errorf("dpo on rows with labels: %v", err)
	}
}

// TestPreferenceMethods: each published loss over pairs learns in a preference stage, and no
// two alike.
func TestPreferenceMethods(t *testing.T) {
	rows, seen := rowsOf(t, pairs...), map[float64]string{}
	for _, name := range []string{"apo_down", "apo_zero", "bco_pair", "cpo", "discopop", "dpo", "dpo_norm", "dpo_robust", "exo", "ipo", "kto", "mpo", "nca", "orpo", "simpo", "slic", "sppo", "unlikelihood"} {
		smooth := map[string]string{"dpo_robust": "smooth = 0.1\n", "exo": "smooth = 0.1\n"}[name]
		s := preferenceOn(t, rows, fmt.Sprintf("[stage.algorithm]\npreset = %q\n%s[stage.optimizer]\nlr = 1e-2\nwarmup_steps = 0\n", name, smooth))
		var last float64
		for step := range 2 {
			e, err := s.Step(t.Context(), Position{Step: step})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			last = e.Metrics["policy/loss"]
			if e.Metrics["policy/grad_norm"] == 0 {
				t.Errorf("%s: %v", name, e.Metrics)
			}
		}
		if other := seen[last]; other != "" {
			t.Errorf("%s does what %s does", name, other)
		}
		seen[last] = name
	}
}

// TestImitationByFormulas: the derivatives that an sft stage trains with, by its preset.
func TestImitationByFormulas(t *testing.T) {
	rows := rowsOf(t, `{"prompt":"one","completion":"yes"}`, `{"prompt":"two","completion":"no, never","label":false}`)
	for preset, want := range map[string]func(p float64, good bool) float64{
		"sft": func(float64, bool) float64 { return -1 },
		"dft": func(p float64, _ bool) float64 { return -p },
		"unlikelihood": func(p float64, good bool) float64 {
			if good {
				return -1
			}
			return p / (1 - p)
		},
	} {
		s := stageOn(t, recipe.KindSFT, rows, fmt.Sprintf("algorithm.preset = %q\n", preset)).(*imitation)
		cs, err := s.lessons(rows)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := s.Cast.Policy.Forward(column(cs, func(c *Completion) rollout.View { return c.View }))
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := s.learn(Position{}, cs, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0.0
		for i := range cs {
			n += float64(cs[i].View.Tokens())
		}
		for i := range cs {
			for j, logp := range stats[i].Logprob {
				if w := want(math.Exp(float64(logp)), i == 0) / n; !near(b.slopes[i][j], w) {
					t.Errorf("%s, row %d, token %d: derivative %v, want %v", preset, i, j, b.slopes[i][j], w)
				}
			}
		}
	}
}
