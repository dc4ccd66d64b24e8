package algo

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// step is a golden case as a table of facts: rows of tokens, of which the mask
// tells those that the policy wrote.
type step struct {
	t     *testing.T
	f     *goldenFile
	mask  [][]float64
	frame *formula.Frame
	table *formula.Table
	facts []formula.Fact
	taken *StepValues // of the last update
}

func newStep(t *testing.T, f *goldenFile, mask [][]float64, groups []int) *step {
	t.Helper()
	var tokens [][]int
	var own []bool
	for _, row := range mask {
		tokens = append(tokens, []int{len(row)})
		for _, m := range row {
			own = append(own, m != 0)
		}
	}
	if groups == nil {
		for i := range mask {
			groups = append(groups, i)
		}
	}
	frame, err := formula.NewFrame(groups, tokens, own)
	if err != nil {
		t.Fatal(err)
	}
	return &step{t: t, f: f, mask: mask, frame: frame, table: formula.NewTable(frame)}
}

// lossStep is the step of a case of the loss files.
func lossStep(t *testing.T, f *goldenFile, g *golden) (*step, map[string]json.RawMessage) {
	t.Helper()
	in := g.In
	s := newStep(t, f, matrix(t, in, "mask"), nil)
	s.tokens("logp", matrix(t, in, "logp"))
	if in["ref_logp"] != nil {
		s.tokens("ref", matrix(t, in, "ref_logp"))
	}
	if in["entropy"] != nil {
		s.tokens("entropy", matrix(t, in, "entropy"))
	}
	if in["advantages"] != nil {
		s.advantages(in["advantages"])
	}
	return s, in
}

func (s *step) advantages(raw json.RawMessage) {
	in := map[string]json.RawMessage{"advantages": raw}
	if strings.HasPrefix(strings.Join(strings.Fields(string(raw)), ""), "[[") {
		s.tokens("A", matrix(s.t, in, "advantages"))
	} else {
		s.completions("A", value[row](s.t, in, "advantages"))
	}
}

func (s *step) add(name string, c formula.Column) {
	s.t.Helper()
	fact := formula.Fact{Name: name, Level: c.Level}
	if i := slices.IndexFunc(Facts(), func(f formula.Fact) bool { return f.Name == name }); i >= 0 {
		known := Facts()[i]
		fact.Condition, fact.Now, fact.Slope = known.Condition, known.Now, known.Slope
	}
	s.facts = append(s.facts, fact)
	if err := s.table.Add(name, c); err != nil {
		s.t.Fatal(err)
	}
}

func (s *step) tokens(name string, m [][]float64) {
	s.t.Helper()
	s.add(name, formula.Column{Level: formula.Token, V: slices.Concat(m...)})
}

func (s *step) completions(name string, v []float64) {
	s.t.Helper()
	s.add(name, formula.Column{Level: formula.Completion, V: v})
}

// update compiles a method over the facts of the step and takes all of it as one
// update.
func (s *step) update(m Method) *Update {
	s.t.Helper()
	a, err := m.Compile(s.facts)
	if err != nil {
		s.t.Fatal(err)
	}
	values, err := a.Step(s.table)
	if err != nil {
		s.t.Fatal(err)
	}
	s.taken = values
	u, err := values.Update(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if u == nil {
		s.t.Fatal("nothing is left to learn from")
	}
	return u
}

// matrixOf gives a column of tokens the shape of the mask; what a mask of 0 left
// out is 0.
func (s *step) matrixOf(u *Update, c formula.Column) [][]float64 {
	flat := make([]float64, s.table.Size(formula.Token))
	if c.V != nil {
		flat = u.Table.Restore(c, len(flat)).V
	}
	var out [][]float64
	for _, r := range s.mask {
		out, flat = append(out, flat[:len(r)]), flat[len(r):]
	}
	return out
}

// sameSlopes holds the loss and its derivatives with respect to a fact of tokens against a case.
func (s *step) sameSlopes(g *golden, m Method, fact string, want [][]float64) (*Update, map[string]formula.Column) {
	s.t.Helper()
	u := s.update(m)
	loss, slopes, err := u.Loss()
	if err != nil {
		s.t.Fatal(err)
	}
	s.f.same(s.t, "loss", loss, value[float64](s.t, g.Out, "loss"))
	s.f.sameMatrix(s.t, "d"+fact, s.matrixOf(u, slopes[fact]), want)
	return u, slopes
}

// sameUpdate holds loss, derivatives and the metrics named against a case: by its
// name, ours.
func (s *step) sameUpdate(g *golden, m Method, metrics map[string]string) *Update {
	s.t.Helper()
	u, slopes := s.sameSlopes(g, m, "logp", matrix(s.t, g.Out, "dlogp"))
	if want := matrix(s.t, g.Out, "dentropy"); want != nil {
		s.f.sameMatrix(s.t, "dentropy", s.matrixOf(u, slopes["entropy"]), want)
	}
	if g.Out["metrics"] != nil {
		s.sameMetrics(u, value[map[string]json.RawMessage](s.t, g.Out, "metrics"), metrics)
	}
	return u
}

// What the README of the fixtures allows metrics, some of which pass through
// float32.
const metricRel, metricAbs = 1e-6, 1e-7

func (s *step) sameMetrics(u *Update, want map[string]json.RawMessage, names map[string]string) {
	s.t.Helper()
	got, err := u.Metrics()
	if err != nil {
		s.t.Fatal(err)
	}
	ofStep, err := s.taken.Metrics()
	if err != nil {
		s.t.Fatal(err)
	}
	maps.Copy(got, ofStep)
	for theirs, ours := range names {
		if want[theirs] == nil {
			continue
		}
		w := value[float64](s.t, want, theirs)
		if g, ok := got[ours]; !ok || math.Abs(g-w) > metricAbs+metricRel*math.Abs(w) {
			s.t.Errorf("%s = %v, want %s = %v", ours, g, theirs, w)
		}
	}
}

// wider is the file with another tolerance, for the reason that the case's note
// or the README of the fixtures gives.
func (f *goldenFile) wider(rel, abs float64) *goldenFile {
	w := *f
	w.Tolerance.Rel, w.Tolerance.Abs = rel, abs
	return &w
}

// chosen is a preset with parts by name and numbers, as a recipe has them: what golden cases are
// held against. A formula of the test's own would prove the test. Without a preset it is parts alone.
func chosen(t *testing.T, name string, parameters map[string]float64, parts map[string]string) Method {
	t.Helper()
	for part, text := range parts {
		if !nameOnly.MatchString(text) {
			t.Fatalf("%s = %q: accepted here: a named part, called with names and numbers or not, or several with and between", part, text)
		}
	}
	if name == "" {
		return Method{}.With(parameters, parts, nil)
	}
	return known(t, name, parameters, parts)
}

var nameOnly = func() *regexp.Regexp {
	const name = `[a-z]\w*`
	const call = name + `(\((` + name + `|[-\d.e/]+)(, (` + name + `|[-\d.e/]+))*\))?`
	return regexp.MustCompile("^" + call + "( and " + call + ")*$")
}()

// TestChosen: formulas are refused where golden cases choose.
func TestChosen(t *testing.T) {
	for text, want := range map[string]bool{"tis": true, "normalised_verl(tis_verl)": true, "token_k1(1/1.2, 1.2) and seq_mean_k3(-1e-2)": true,
		"-A*logp": false, "tis*opsm": false, "seq_mean(weight*policy)": false, "not truncated": false, "reward - 1": false} {
		if nameOnly.MatchString(text) != want {
			t.Errorf("%s: accepted is %v", text, !want)
		}
	}
}

// known is a method by name with changes.
func known(t *testing.T, name string, parameters map[string]float64, formulas map[string]string) Method {
	t.Helper()
	m, err := LoadMethod(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.With(parameters, formulas, nil)
}
