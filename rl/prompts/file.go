package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/table"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// Part is one data set of a source.
type Part struct {
	Data      string  // file or folder, see package table
	Share     float64 // of the draws, relative to the shares of the other parts
	Split     string  // of a folder, to train on; "": test, or the only one there is
	EvalSplit string  // whose problems are held out; "": a share of Split's
	HeldOut   float64 // that share, by the text of the question
	Key       string  // what the keys of the part begin with in a recipe; "": task.
	Played    bool    // a world plays the rows, and asks where they have no question
	Columns
}

// file is a Source whose problems are the rows of data sets, judged by one verifier.
// A problem is held out by its question. Its "id" plays no part, as the file may have
// one question under two.
type file struct {
	names    []string
	sum      string // SHA-256, hexadecimal digits
	parts    []part
	heldOut  []verify.Problem // of all parts, in the order of the files
	leftOut  int              // rows whose question is held out
	verifier verify.Verifier
	grader   string
	options  map[string]any
}

// part are the training problems of a data set, in the order of the file.
type part struct {
	share float64
	rows  []verify.Problem
}

// maxRowBytes bounds the problems of a split, which are kept in memory.
const maxRowBytes = 4 << 30

// Open reads the problems of data sets for a verifier of package verify's registry. A
// row that the verifier cannot judge is an error; "" is no verifier, for rows that are
// only imitated. Every row counts in training, also one
// that is there twice; one whose question is held out, in whatever part, is left out.
func Open(parts []Part, verifier string, options map[string]any) (Source, error) {
	var v verify.Verifier = unjudged{}
	if verifier != "" {
		var err error
		if v, err = verify.New(verifier, options); err != nil {
			return nil, err
		}
	}
	f := &file{verifier: v, grader: verifier, options: options}
	var sums []string
	for _, p := range parts {
		f.names = append(f.names, p.Data)
		sum, err := f.read(p)
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	f.sum = sums[0]
	if len(sums) > 1 {
		whole := sha256.Sum256([]byte(strings.Join(sums, "\n")))
		f.sum = hex.EncodeToString(whole[:])
	}
	f.separate()
	for i, p := range f.parts {
		if len(p.rows) == 0 || len(f.heldOut) == 0 {
			err := fmt.Errorf("%s has %s to train on and %d that are held out: at least one of each is needed", parts[i].Data, terminal.Count(len(p.rows), "problem", ""), len(f.heldOut))
			return nil, hint.With(err, "give more problems, or a split of their own (eval_split), or hold out a larger share: --set %sheld_out=0.5", parts[i].key())
		}
	}
	return f, nil
}

// read adds the problems of a part.
func (f *file) read(p Part) (sum string, err error) {
	data, err := table.Open(p.Data)
	if err != nil {
		return "", err
	}
	if sum, err = data.Hash(); err != nil {
		return "", err
	}
	var train []verify.Problem
	err = f.readSplit(data, p.Split, p, func(row verify.Problem) {
		if p.EvalSplit == "" && heldOut(identity(row), p.HeldOut) {
			f.heldOut = append(f.heldOut, row)
		} else {
			train = append(train, row)
		}
	})
	if err == nil && p.EvalSplit != "" {
		err = f.readSplit(data, p.EvalSplit, p, func(row verify.Problem) { f.heldOut = append(f.heldOut, row) })
	}
	f.parts = append(f.parts, part{p.Share, train})
	return sum, err
}

// readSplit checks the rows of a split and calls add for each.
func (f *file) readSplit(data *table.Data, split string, p Part, add func(verify.Problem)) error {
	return p.readRows(data, split, func(raw table.Row, row verify.Problem) error {
		if own, there := row.Metadata["verifier"]; there && f.grader != "" && string(own) != fmt.Sprintf("%q", f.grader) {
			return fmt.Errorf("the line's verifier is %s, but the task's is %q; accepted: the task's, as a task has one verifier", own, f.grader)
		}
		if err := verify.Check(f.verifier, row); err != nil {
			err = fmt.Errorf("the verifier %s cannot judge this line: %w; the line has %s", f.grader, err, verify.Columns(raw))
			return p.judgedBy(err, f.verifier, row, raw)
		}
		if row.ID == "" {
			row.ID = identity(row)
		}
		add(row)
		return nil
	})
}

// heldOut says whether a question is of the share that is held out: its checksum, read
// from the last bit on, as a number below 1. A sixteenth are the questions that
// [tasks.SplitOf] holds out.
func heldOut(question string, share float64) bool {
	place := float64(bits.Reverse32(crc32.ChecksumIEEE([]byte(question)))) / (1 << 32)
	return place < share
}

// separate leaves out training problems whose question is held out.
func (f *file) separate() {
	questions := map[string]bool{}
	for _, row := range f.heldOut {
		questions[identity(row)] = true
	}
	for i := range f.parts {
		before := len(f.parts[i].rows)
		f.parts[i].rows = slices.DeleteFunc(f.parts[i].rows, func(row verify.Problem) bool { return questions[identity(row)] })
		f.leftOut += before - len(f.parts[i].rows)
	}
}

// Name implements [Source].
func (f *file) Name() string { return strings.Join(f.names, ", ") }

// Hash implements [Source].
func (f *file) Hash() string { return f.sum }

// Grader implements [Source].
func (f *file) Grader() (name string, options map[string]any) { return f.grader, f.options }

// Training implements [Source].
func (f *file) Training(uint64, int) ([]Candidate, error) {
	var out []Candidate
	for _, p := range f.parts {
		for _, row := range p.rows {
			out = append(out, Candidate{row, p.share / float64(len(p.rows))})
		}
	}
	return out, nil
}

// Changed implements [Source].
func (f *file) Changed(map[string]float64) (Source, error) {
	return nil, fmt.Errorf("%s is data, which has no settings", f.Name())
}

// Rows implements [Source].
func (f *file) Rows() (train, heldOut []verify.Problem) {
	for _, p := range f.parts {
		train = append(train, p.rows...)
	}
	return train, slices.Clone(f.heldOut)
}

// Counts implements [Source].
func (f *file) Counts() string {
	counts := make([]string, len(f.parts))
	for i, p := range f.parts {
		counts[i] = fmt.Sprintf("%s to train on from %s", terminal.Count(len(p.rows), "problem", ""), f.names[i])
		if len(f.parts) > 1 {
			counts[i] += fmt.Sprintf(", with share %v", p.share)
		}
	}
	return strings.Join(append(counts, fmt.Sprintf("%s held out, %d left out of training because their question is held out", terminal.Count(len(f.heldOut), "problem", ""), f.leftOut)), "\n")
}

// HeldOut implements [Source].
func (f *file) HeldOut(n int) ([]verify.Problem, error) {
	ids := map[string]bool{}
	for _, row := range f.heldOut {
		ids[row.ID] = true
	}
	return tasks.HeldOutRows(drawer{f}, min(n, len(ids)))
}

// Draw implements [Source]: a part by its share, and any row of it, as likely as every
// other.
func (f *file) Draw(r *random.Rand) verify.Problem { return drawer{f}.Draw(r, tasks.Train) }

// Verify implements [Source].
func (f *file) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return tasks.Unended(completion)
	}
	return f.verifier.Verify(row, completion)
}

// unjudged is the verifier of rows that are only imitated.
type unjudged struct{}

// Verify implements [verify.Verifier].
func (unjudged) Verify(verify.Problem, string) verify.Verdict {
	return verify.Abstain("the task has no verifier")
}

// drawer draws rows of either split.
type drawer struct{ *file }

func (d drawer) Draw(r *random.Rand, split tasks.Split) verify.Problem {
	rows := d.heldOut
	if split == tasks.Train {
		rows = d.part(r).rows
	}
	return rows[r.Between(0, len(rows)-1)]
}

// part draws a part by its share. One part takes no random number.
func (f *file) part(r *random.Rand) part {
	if len(f.parts) == 1 {
		return f.parts[0]
	}
	total := 0.0
	for _, p := range f.parts {
		total += p.share
	}
	place := float64(r.Uint64()>>11) / (1 << 53) * total // 53 bits, which a float64 holds
	for _, p := range f.parts[:len(f.parts)-1] {
		if place -= p.share; place < 0 {
			return p
		}
	}
	return f.parts[len(f.parts)-1]
}

// ReadRows calls do for each row of a data set, which has a prompt. Errors name file and
// line.
func ReadRows(p Part, do func(verify.Problem) error) error {
	data, err := table.Open(p.Data)
	if err != nil {
		return err
	}
	return p.readRows(data, p.split(data), func(_ table.Row, row verify.Problem) error { return do(row) })
}

// split is the split that is read where none is named: test, or the only one there is.
func (p Part) split(data *table.Data) string {
	splits := data.Splits()
	switch {
	case p.Split != "":
		return p.Split
	case len(splits) == 1:
		return splits[0]
	}
	return table.Test
}

// readRows reads a split of at most maxRowBytes: rows as they are in the file, and as the
// columns make problems of them.
func (p Part) readRows(data *table.Data, split string, do func(table.Row, verify.Problem) error) error {
	columns, err := p.compile()
	if err != nil {
		return err
	}
	var bytes int64
	err = data.Each(split, func(n int, raw table.Row) error {
		line, err := columns.apply(raw)
		if err != nil {
			return p.advised(err, raw)
		}
		if bytes += int64(len(line)); bytes > maxRowBytes {
			return fmt.Errorf("the rows up to here have more than %d bytes as JSON; accepted: at most that many", int64(maxRowBytes))
		}
		row, err := readRow(line)
		if p.Played && errors.Is(err, errNoQuestion) {
			err = nil
		}
		if errors.Is(err, errNoQuestion) {
			err = p.advised(fmt.Errorf("%w; it has %s", err, verify.Columns(raw)), raw)
		}
		if err != nil {
			return err
		}
		row.File, row.Line = data.Name(), n
		return do(raw, row)
	})
	if err == nil && bytes == 0 {
		err = fmt.Errorf("%s has no rows in its split %s", data.Name(), split)
	}
	return err
}

var errNoQuestion = errors.New(`the line has no "question" (or "prompt", or "messages")`)

func readRow(line []byte) (row verify.Problem, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil {
		return row, err
	}
	if err := json.Unmarshal(line, &fields); err != nil {
		return row, err
	}
	for _, key := range []string{"question", "prompt"} {
		raw, there := fields[key]
		if !there {
			continue
		}
		kind := "a number"
		switch raw[0] {
		case '"', 'n': // a string, or null, which is missing
			continue
		case '[':
			if key == "prompt" {
				continue
			}
			kind = "a list"
		case '{':
			kind = "an object"
		case 't', 'f':
			kind = "true or false"
		}
		return row, fmt.Errorf("%q is %s; accepted: a string", key, kind)
	}
	if err := readImplicit(&row, fields); err != nil {
		return row, err
	}
	if err := readMessages(&row, fields); err != nil {
		return row, err
	}
	if strings.TrimSpace(row.Question) == "" {
		return row, errNoQuestion
	}
	return row, nil
}
