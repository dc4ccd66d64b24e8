package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe/presets"
)

// Expectation is what a recipe should show against a control, by one metric at the end of a run.
type Expectation struct {
	// the metric, such as eval/pass@1, or a metric of the recipe's own
	Metric string `toml:"metric"`

	// the control: another recipe of the program, with changes after semicolons, such as
	// "countdown-tiny; stage.rl.steps=60"; a value that has semicolons stands in quotes, as in
	// 'raft; stage.rl.reward="half = task/2; half"'; or start, the model before it learns from rewards
	Than string `toml:"than"`

	// what both begin with: the same start, trained by the stages of the control before the first that
	// learns from rewards; or, with own, a start of its own for each, of as many demonstrations
	Start string `toml:"start" choice:"same,own" default:"same"`

	// on which side of the control's value the metric should be
	Direction string `toml:"direction" choice:"higher,lower" default:"higher"`

	// what the paper says about it
	Paper string `toml:"paper"`
}

// ThanStart is a control that is the model before it learns from rewards, and the choice of
// [Expectation.Start] by which each side has a start of its own.
const (
	ThanStart = "start"
	StartOwn  = "own"
)

// expectations checks names and controls.
func (d decoder) expectations(r *Recipe) {
	for i, e := range r.Expect {
		at := settings.Path{"expect", fmt.Sprint(i)}
		_, known := metrics.Find(e.Metric)
		own := strings.HasPrefix(e.Metric, "my/")
		if own {
			known = slices.ContainsFunc(r.Stages, func(st Stage) bool { return st.Algorithm.Metrics[e.Metric] != nil })
		}
		switch {
		case e.Metric == "":
			d.Fail(at, "%s has no metric: the name of what is measured, such as eval/pass@1", d.Name(at))
		case !known && own:
			d.Fail(at.With("metric"), "%s = %q is no metric of this recipe: write it into [stage.algorithm] metrics", d.Name(at.With("metric")), e.Metric)
		case !known:
			var names []string
			for _, m := range metrics.Table() {
				names = append(names, m.Name)
			}
			d.Fail(at.With("metric"), "%s = %q is not a metric%s", d.Name(at.With("metric")), e.Metric, settings.DidYouMean(e.Metric, names, "rlzero metrics lists them all"))
		}
		name, sets, err := SplitSets(e.Than)
		_, there := presets.Find(name)
		switch {
		case err != nil:
			d.Fail(at.With("than"), "%s: %v", d.Name(at.With("than")), err)
		case e.Than == "":
			d.Fail(at, "%s has no control: than = the name of a recipe, such as countdown-tiny, or start, the model before it learns from rewards", d.Name(at))
		case e.Than == ThanStart && e.Start == StartOwn:
			d.Fail(at.With("start"), "%s = %q does not go with than = %q, which is the start that the recipe has", d.Name(at.With("start")), e.Start, e.Than)
		case e.Than == ThanStart:
		case !there:
			d.Fail(at.With("than"), "%s = %q is not a recipe of the program%s", d.Name(at.With("than")), name, settings.DidYouMean(name, presets.Names(), "rlzero recipes lists them all"))
		case name == r.Name && len(sets) == 0:
			d.Fail(at.With("than"), "%s = %q is the recipe itself; write what the control does otherwise after a semicolon", d.Name(at.With("than")), e.Than)
		}
	}
}

// SplitSets takes a recipe and its changes apart, which stand after semicolons: each as --set takes it, KEY=VALUE. A
// semicolon between quotes is a part of the value; they are those of TOML, with escapes between double ones. The error
// says where a quote is open.
func SplitSets(text string) (source string, sets []string, err error) {
	source, rest, _ := strings.Cut(text, ";")
	add := func(set string) {
		if set = strings.TrimSpace(set); set != "" {
			sets = append(sets, set)
		}
	}
	from, open := 0, -1 // of the set, and of the quote within it
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case open >= 0 && c == '\\' && rest[open] == '"':
			i++
		case open >= 0:
			if c == rest[open] {
				open = -1
			}
		case c == '"' || c == '\'':
			open = i
		case c == ';':
			add(rest[from:i])
			from = i + 1
		}
	}
	if open >= 0 {
		at := len(text) - len(rest) + open
		return "", nil, hint.With(fmt.Errorf("the quote %c in column %d of %s is not closed", rest[open], utf8.RuneCountInString(text[:at])+1, terminal.Quote(text)), "close it; a quote within a value stands between quotes of the other kind")
	}
	add(rest[from:])
	return strings.TrimSpace(source), sets, nil
}

// Hash tells recipes apart by all that they say but what people read: name, about, paper, systems
// and what is expected. A key that is not given counts with its default, unless it is tagged
// hashed:"given": only such a key leaves the hash of older recipes as it was.
func (r *Recipe) Hash() string {
	sum := sha256.Sum256([]byte(settings.Hashed(r.Bare(""))))
	return hex.EncodeToString(sum[:8])
}

// Bare is the recipe by another name, without the rest of what people read.
func (r *Recipe) Bare(name string) *Recipe {
	bare := *r
	bare.Name, bare.About, bare.Paper, bare.Systems, bare.Expect = name, "", "", []string{}, nil
	return &bare
}
