package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// heldOutShare is the share of the rows of a program that is held out, as of those of data.
const heldOutShare = 0.0625

// Rows are problems that a program of others has, as JSON objects in their order. A row is held out by its
// question, or else by all that it has.
func Rows(name string, raw []json.RawMessage) (Source, error) {
	f := &file{names: []string{name}, verifier: unjudged{}}
	whole := sha256.New()
	var train []verify.Problem
	for i, line := range raw {
		row, err := readRow(line)
		if err != nil && err != errNoQuestion {
			return nil, fmt.Errorf("row %d of %s: %w", i+1, name, err)
		}
		row.File, row.Line = name, i+1
		if row.ID == "" {
			row.ID = identity(row)
		}
		if heldOut(identity(row), heldOutShare) {
			f.heldOut = append(f.heldOut, row)
		} else {
			train = append(train, row)
		}
		fmt.Fprintf(whole, "%s\n", line)
	}
	f.parts, f.sum = []part{{1, train}}, hex.EncodeToString(whole.Sum(nil))
	f.separate()
	if len(f.parts[0].rows) == 0 || len(f.heldOut) == 0 {
		return nil, hint.With(fmt.Errorf("%s has %s to train on and %d that are held out: at least one of each is needed", name, terminal.Count(len(f.parts[0].rows), "problem", ""), len(f.heldOut)),
			"give more problems: about one in 16 is held out")
	}
	return f, nil
}

// Numbers are problems that a program of others makes of numbers. The row of a problem has nothing but its
// number.
func Numbers(name string) Source { return byNumber{name} }

type byNumber struct{ name string }

// numbersBelow bounds them: programs may keep one as an integer of 32 bits.
const numbersBelow = 1 << 31

func (n byNumber) Name() string { return n.name }

func (n byNumber) Hash() string { return "" }

func (n byNumber) Draw(r *random.Rand) verify.Problem { return n.draw(r, tasks.Train) }

func (n byNumber) draw(r *random.Rand, split tasks.Split) verify.Problem {
	for {
		id := strconv.Itoa(r.Between(0, numbersBelow-1))
		if tasks.SplitOf(id) == split {
			return verify.Problem{ID: id, Metadata: map[string]json.RawMessage{"number": json.RawMessage(id)}}
		}
	}
}

func (n byNumber) HeldOut(count int) ([]verify.Problem, error) {
	return tasks.HeldOutRows(drawnByNumber{n}, count)
}

func (n byNumber) Training(seed uint64, count int) ([]Candidate, error) {
	rows, err := tasks.Rows(drawnByNumber{n}, tasks.Train, seed, count)
	var out []Candidate
	for _, row := range rows {
		out = append(out, Candidate{row, 1})
	}
	return out, err
}

func (n byNumber) Changed(map[string]float64) (Source, error) {
	return nil, fmt.Errorf("%s is a program of others, which has no settings", n.name)
}

func (n byNumber) Rows() (train, heldOut []verify.Problem) { return nil, nil }

func (n byNumber) Counts() string { return "" }

func (n byNumber) Verify(row verify.Problem, completion string, _ bool) verify.Verdict {
	return unjudged{}.Verify(row, completion)
}

func (n byNumber) Grader() (string, map[string]any) { return "", nil }

// drawnByNumber draws numbers of either split.
type drawnByNumber struct{ byNumber }

func (d drawnByNumber) Draw(r *random.Rand, split tasks.Split) verify.Problem {
	return d.draw(r, split)
}
