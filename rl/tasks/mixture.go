package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    MixtureName,
		Summary: "problems of several tasks, in one vocabulary",
		Doc: `mixture: problems of several tasks for one model, each judged by its own.

    20 13 7 > 14:          20-13=7+7=14
    12+7-5:                12+7=19-5=14

The setting of names the tasks, with settings of their own after each, and shares how often
each is drawn: by default all alike. A task has its own problems, held-out problems and
demonstrations. The vocabulary is that of all together. The metadata of a problem has the
task's name, kind, which formulas read as row.kind, and its id begins with it. rlzero eval and
rlzero compare have the accuracy on each task; rlzero eval RUN --task NAME measures a model on
one of them alone, or on another that its vocabulary has words for.

Tasks that are played in turns, and tasks without demonstrations, are no part of a mixture.

` + describeSettings(defaultMixture()),
		New: func() Task { return defaultMixture() },
	}, verify.Entry{
		Summary: "the task mixture: each problem by the verifier of its kind",
		Doc: `task:mixture: a row is judged by the verifier of the task that its member kind names.

Options: those of that verifier.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) { return mixtureVerifier{options}, nil },
	})
}

func defaultMixture() *mixture {
	return &mixture{Of: "countdown numbers=3; chain_sum terms=3"}
}

// MixtureName is the name of the task whose problems are those of several tasks.
const MixtureName = "mixture"

// mixture is the task "mixture".
type mixture struct {
	Of     string `toml:"of" about:"the tasks, each with its settings, as in \"countdown numbers=3; chain_sum\""`
	Shares string `toml:"shares" about:"how often each is drawn, as in \"2, 1\"; \"\": all alike"`
}

var _ Demonstrator = (*mixture)(nil)

// blend is what the settings of a mixture say. It is never changed.
type blend struct {
	parts []Demonstrator
	upTo  []float64 // [part] its share and those before it; the last is 1
	err   error
}

// blends are those that were read, by their settings: reading one validates its tasks.
var blends sync.Map

func (m *mixture) blend() *blend {
	if known, ok := blends.Load(*m); ok {
		return known.(*blend)
	}
	b := &blend{}
	b.err = b.read(m)
	known, _ := blends.LoadOrStore(*m, b)
	return known.(*blend)
}

// maxParts is the largest number of tasks of a mixture.
const maxParts = 32

func (b *blend) read(m *mixture) error {
	texts := strings.Split(m.Of, ";")
	if len(texts) < 2 || len(texts) > maxParts {
		return outOfRange("of", m.Of, fmt.Sprintf("2 to %d tasks with ; between them", maxParts))
	}
	for _, text := range texts {
		words := strings.Fields(text)
		if len(words) == 0 {
			return outOfRange("of", m.Of, "a task before and after each ;")
		}
		part, err := partOf(words[0], words[1:])
		if err != nil {
			return &settings.Error{Key: "of", Problem: "= " + strconv.Quote(m.Of) + ": " + err.Error()}
		}
		if slices.ContainsFunc(b.parts, func(p Demonstrator) bool { return p.Name() == part.Name() }) {
			return &settings.Error{Key: "of", Problem: fmt.Sprintf("= %q names %s twice; accepted: each task once", m.Of, part.Name())}
		}
		b.parts = append(b.parts, part)
	}
	return b.share(m.Shares)
}

// partOf is a task of a mixture with its settings.
func partOf(name string, sets []string) (Demonstrator, error) {
	family, err := Lookup(name)
	if err != nil {
		return nil, errors.New(strings.Join(append([]string{err.Error()}, hint.All(err)...), "; "))
	}
	t := family.New()
	for _, set := range sets {
		key, value, found := strings.Cut(set, "=")
		if !found {
			return nil, fmt.Errorf("task %s: %q is no setting; accepted: KEY=VALUE", name, set)
		}
		if err := Set(t, key, value); err != nil {
			return nil, err
		}
	}
	part, ok := t.(Demonstrator)
	_, played := t.(Episodic)
	if _, mixed := t.(*mixture); !ok || played || mixed {
		return nil, fmt.Errorf("task %s cannot be a part: it has no demonstrations, is played in turns or is a mixture; accepted: %s", name, strings.Join(blendable(), ", "))
	}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("task %s: %w", name, err)
	}
	return part, nil
}

// blendable are the tasks that can be parts of a mixture. They are found once: a verifier asks for each row.
var blendable = sync.OnceValue(func() (names []string) {
	for _, f := range Families() {
		t := f.New()
		_, shown := t.(Demonstrator)
		_, played := t.(Episodic)
		if _, mixed := t.(*mixture); shown && !played && !mixed {
			names = append(names, f.Name)
		}
	}
	return names
})

// share reads the shares.
func (b *blend) share(text string) error {
	shares, sum := slices.Repeat([]float64{1}, len(b.parts)), 0.0
	if text != "" {
		words := strings.Split(text, ",")
		if len(words) != len(b.parts) {
			return outOfRange("shares", text, fmt.Sprintf("%d numbers with commas between them, one for each task", len(b.parts)))
		}
		for i, word := range words {
			x, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
			if err != nil || !(x >= 0) || x > 1e9 {
				return outOfRange("shares", text, "numbers from 0 to 1e9")
			}
			shares[i] = x
		}
	}
	for _, x := range shares {
		sum += x
	}
	if sum == 0 {
		return outOfRange("shares", text, "a share above 0")
	}
	b.upTo = make([]float64, len(shares))
	last := 0
	for i, before := 0, 0.0; i < len(shares); i++ {
		before += shares[i]
		if b.upTo[i] = before / sum; shares[i] > 0 {
			last = i
		}
	}
	for i := last; i < len(shares); i++ { // whatever was rounded
		b.upTo[i] = 1
	}
	return nil
}

// kindKey is the member of a problem's metadata that has the name of its task.
const kindKey = "kind"

// of is the part that a row belongs to.
func (b *blend) of(row verify.Problem) (Demonstrator, error) {
	var kind string
	if found, err := row.Field(kindKey, &kind); !found || err != nil {
		return nil, fmt.Errorf("task mixture: row %q does not belong to this task: it has no kind", row.ID)
	}
	for _, p := range b.parts {
		if p.Name() == kind {
			return p, nil
		}
	}
	return nil, fmt.Errorf("task mixture: row %q is of kind %s, which is no part of this mixture", row.ID, kind)
}

// KindOf is the name of the task that a row of a mixture belongs to; "" where t is no mixture.
func KindOf(t Task, row verify.Problem) string {
	m, mixed := t.(*mixture)
	if !mixed {
		return ""
	}
	part, err := m.blend().of(row)
	if err != nil {
		return ""
	}
	return part.Name()
}

// Name implements [Task].
func (m *mixture) Name() string { return MixtureName }

// Validate implements [Task].
func (m *mixture) Validate() error { return m.blend().err }

// Difficulty implements [Task].
func (m *mixture) Difficulty() string {
	var all []string
	b := m.blend()
	for i, p := range b.parts {
		share := b.upTo[i]
		if i > 0 {
			share -= b.upTo[i-1]
		}
		all = append(all, fmt.Sprintf("%.0f %% %s (%s)", 100*share, p.Name(), p.Difficulty()))
	}
	return strings.Join(all, "; ")
}

// Draw implements [Task]: a problem of one of the tasks, which keeps its split. Its ID has the task before it, as
// tasks may have problems with the same one.
func (m *mixture) Draw(r *random.Rand, split Split) verify.Problem {
	b, x := m.blend(), r.Unit()
	i := 0
	for x >= b.upTo[i] {
		i++
	}
	kind := b.parts[i].Name()
	row := b.parts[i].Draw(r, split)
	all := map[string]json.RawMessage{}
	maps.Copy(all, row.Metadata)
	maps.Copy(all, metadata(map[string]any{kindKey: kind}))
	row.ID, row.Metadata = kind+":"+row.ID, all
	return row
}

// instruction implements [Task]: of a row that belongs to none of the tasks.
func (m *mixture) instruction() string { return "Solve the problem." }

// Verify implements [Task].
func (m *mixture) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	p, err := m.blend().of(row)
	if err != nil {
		return verify.Abstain("%v", err)
	}
	return p.Verify(row, completion, ended)
}

// Demonstration implements [Demonstrator].
func (m *mixture) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	p, err := m.blend().of(row)
	if err != nil {
		return "", err
	}
	return p.Demonstration(r, row)
}

// Valid implements [Demonstrator].
func (m *mixture) Valid(row verify.Problem, completion string, ended bool) bool {
	p, err := m.blend().of(row)
	return err == nil && p.Valid(row, completion, ended)
}

// Vocabulary implements [Demonstrator]: the tokens of the first task, then those that each other one
// adds.
func (m *mixture) Vocabulary() []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range m.blend().parts {
		for _, token := range p.Vocabulary() {
			if !seen[token] {
				seen[token] = true
				all = append(all, token)
			}
		}
	}
	return all
}

// PromptTokens implements [Demonstrator].
func (m *mixture) PromptTokens() int { return m.longest(Demonstrator.PromptTokens) }

// CompletionTokens implements [Demonstrator].
func (m *mixture) CompletionTokens() int { return m.longest(Demonstrator.CompletionTokens) }

func (m *mixture) longest(of func(Demonstrator) int) int {
	n := math.MinInt
	for _, p := range m.blend().parts {
		n = max(n, of(p))
	}
	return n
}

// mixtureVerifier is "task:mixture".
type mixtureVerifier struct{ options json.RawMessage }

// of is the verifier of a row.
func (v mixtureVerifier) of(row verify.Problem) (verify.Verifier, error) {
	var kind string
	if found, err := row.Field(kindKey, &kind); !found || err != nil || !slices.Contains(blendable(), kind) {
		return nil, fmt.Errorf("the row names no kind that can be a part of a mixture; accepted: %s", strings.Join(blendable(), ", "))
	}
	entry, err := verify.Lookup("task:" + kind)
	if err != nil {
		return nil, err
	}
	return entry.New(v.options)
}

// Check implements [verify.Checker].
func (v mixtureVerifier) Check(row verify.Problem) error {
	one, err := v.of(row)
	if err != nil {
		return err
	}
	return verify.Check(one, row)
}

// Verify implements [verify.Verifier].
func (v mixtureVerifier) Verify(row verify.Problem, completion string) verify.Verdict {
	one, err := v.of(row)
	if err != nil {
		return verify.Abstain("%v", err)
	}
	return one.Verify(row, completion)
}
