package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/verify"
)

// Options say how an audit is done.
type Options struct {
	Verifier string // of lines that name none; not for a run
	Against  string // second grader, "NAME key=value ..."; "": the one that Second names
	Limit    int    // examples of each kind

	Told func(command string) // of each program of others that the recipe of a run starts, see [resolve.Open]
}

// File audits lines as Grade reads them. A line may hold the verdict that it
// once got ("verdict", and "score" or "reward"), and why it ended ("stop").
func File(name string, in io.Reader, o Options) (*Report, error) {
	against, err := againstOf(o)
	if err != nil {
		return nil, err
	}
	a := newAuditor(name, o.Limit)
	graders := map[string]graderPair{}
	err = lines.Input(name, in, func(n int, raw []byte) error {
		line, err := verify.ReadLine(raw, o.Verifier)
		if err != nil {
			return fmt.Errorf("%w: %w", lines.ErrInput, err)
		}
		options, err := json.Marshal(line.Options)
		if err != nil {
			return err
		}
		key := line.Verifier + string(options)
		pair, known := graders[key]
		if !known {
			if pair, err = newPair(line.Verifier, line.Options, against); err != nil {
				return err
			}
			graders[key] = pair
		}
		var stored struct {
			Verdict, Stop string
			Score, Reward *float64
		}
		_ = json.Unmarshal(raw, &stored) // other things of these names are none
		if !slices.Contains(verdictNames[:], stored.Verdict) {
			stored.Verdict = ""
		}
		score := stored.Score
		if score == nil {
			score = stored.Reward
		}
		a.add(sample{
			Where: fmt.Sprintf("line %d", n), Row: line.Problem, Completion: line.Completion, Ended: stored.Stop != "length",
			First: pair.first, Second: pair.second, Stored: stored.Verdict, StoredScore: score,
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.end(), nil
}

// graderPair is two graders, or one.
type graderPair struct {
	first  grader
	second *grader
}

// againstOf is the second grader that the user names; nil for none.
func againstOf(o Options) (*grader, error) {
	if o.Against == "" {
		return nil, nil
	}
	name, options, err := verify.Parse(o.Against)
	if err != nil {
		return nil, fmt.Errorf("%w: --against: %w", lines.ErrInput, err)
	}
	g, err := newGrader(name, options)
	if err != nil {
		return nil, fmt.Errorf("%w: --against: %w", lines.ErrInput, err)
	}
	return &g, nil
}

func newPair(verifier string, options map[string]any, against *grader) (graderPair, error) {
	first, err := newGrader(verifier, options)
	if err != nil {
		return graderPair{}, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	if against != nil {
		return graderPair{first, against}, nil
	}
	name, with, ok := second(verifier, options)
	if !ok {
		return graderPair{first: first}, nil
	}
	second, err := newGrader(name, with)
	second.Aside = true
	return graderPair{first, &second}, err
}
