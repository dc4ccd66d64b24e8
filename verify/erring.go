package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

func init() {
	Register(Entry{
		Name:    "erring",
		Summary: "another verifier that errs at a stated rate, a judge for tests",
		Doc: `erring: the verdict of another verifier, turned round for a stated share of the completions: a
right one is wrong, a wrong one right, and a score x becomes 1 - x. Which ones is a function of the
row, the completion and the seed, so equal completions have equal verdicts. With it a method can be
tried against a judge whose faults are known: pay by it, and measure by the other one.

Row: that of the other verifier.

Options
verifier  the other verifier, none that asks a model. Default "exact".
options   its options; a file by its absolute path.
errs      share of the completions whose verdict is turned round, 0 to 1. Default 0.1.
seed      of the choice. Default 1.

Values: erred, 1 or 0.

Not scored where the other verifier does not score.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := erringOptions{Verifier: "exact", Errs: 0.1, Seed: 1}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			if o.Verifier == "erring" {
				return nil, errors.New("option verifier is erring itself; accepted: another verifier")
			}
			if err := o.absolute(); err != nil {
				return nil, err
			}
			inner, err := New(o.Verifier, o.Options)
			if err != nil {
				return nil, err
			}
			if _, asks := inner.(Asking); asks {
				return nil, fmt.Errorf("option verifier is %s, which asks a model; accepted: a verifier that judges by itself", o.Verifier)
			}
			return Erring{inner, o.Errs, o.Seed}, nil
		},
	})
}

type erringOptions struct {
	Verifier string         `toml:"verifier"`
	Options  map[string]any `toml:"options"`
	Errs     float64        `toml:"errs" range:"[0,1]"`
	Seed     int            `toml:"seed" range:"[0,inf)"`
}

// absolute refuses relative paths: a recipe makes those of a verifier absolute, but not those in its options.
func (o erringOptions) absolute() error {
	e, err := Lookup(o.Verifier)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(e.Paths)) {
		path, _ := o.Options[key].(string)
		if text, _ := o.Options["source"].(string); path != "" && !filepath.IsAbs(filepath.FromSlash(path)) && (key != e.Script || text == "") {
			return fmt.Errorf("option options has %s = %q, which names another file when the folder is another; accepted: an absolute path", key, path)
		}
	}
	return nil
}

// Erring is the verifier "erring".
type Erring struct {
	inner Verifier
	errs  float64
	seed  int
}

// Check implements [Checker].
func (v Erring) Check(row Problem) error { return Check(v.inner, row) }

// Verify implements [Verifier].
func (v Erring) Verify(row Problem, completion string) Verdict {
	said := v.inner.Verify(row, completion)
	if said.Verdict == NotScored {
		return said
	}
	text, err := json.Marshal([]any{v.seed, row.ID, row.Question, row.Answer, completion})
	if err != nil {
		return Abstain("%v", err)
	}
	sum := sha256.Sum256(text)
	said.Values = map[string]float64{"erred": 0}
	if float64(binary.LittleEndian.Uint64(sum[:])>>11)/(1<<53) >= v.errs {
		return said
	}
	said.Values["erred"] = 1
	said.Score = 1 - said.Score
	switch said.Verdict {
	case Right:
		said.Verdict = Wrong
	case Wrong:
		said.Verdict = Right
	}
	said.Reason = fmt.Sprintf("an error on purpose; the truth: %s", said.Reason)
	return said
}
