package prompts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// file is a Source whose problems are the lines of a file, judged by one verifier.
// A problem is held out by its question. Its "id" plays no part, as the file may have
// one question under two.
type file struct {
	name     string
	sum      string              // SHA-256 of the file, hexadecimal digits
	rows     [2][]verify.Problem // by split, in the order of the file
	verifier verify.Verifier
	grader   string
	options  map[string]any
}

// maxFileBytes bounds a file of problems, which is kept in memory.
const maxFileBytes = 4 << 30

// Open reads the problems of a file (see [ReadRows]) for a verifier of package
// verify's registry; "" is none, for rows that are only imitated. A line that the
// verifier cannot judge is an error. Every line counts in training, also one that is
// there twice.
func Open(name, verifier string, options map[string]any) (Source, error) {
	var v verify.Verifier = unjudged{}
	if verifier != "" {
		var err error
		if v, err = verify.New(verifier, options); err != nil {
			return nil, err
		}
	}
	f := &file{name: name, verifier: v, grader: verifier, options: options}
	var err error
	f.sum, err = ReadRows(name, func(row verify.Problem) error {
		if own, there := row.Metadata["verifier"]; there && verifier != "" && string(own) != fmt.Sprintf("%q", verifier) {
			return fmt.Errorf("the line's verifier is %s, the task's %q: one file has one verifier", own, verifier)
		}
		if err := verify.Check(v, row); err != nil {
			return fmt.Errorf("the verifier %s cannot judge this line: %w", verifier, err)
		}
		if row.ID == "" {
			row.ID = row.Question
		}
		split := tasks.SplitOf(identity(row))
		f.rows[split] = append(f.rows[split], row)
		return nil
	})
	if train, heldOut := len(f.rows[tasks.Train]), len(f.rows[tasks.HeldOut]); err == nil && min(train, heldOut) == 0 {
		err = fmt.Errorf("%s has %d problems to train on and %d that are held out: at least one of each is needed", name, train, heldOut)
		err = hint.With(err, "give more problems: one in %d is held out, by the text of its question", tasks.HeldOutShare)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Name implements [Source].
func (f *file) Name() string { return f.name }

// Hash implements [Source].
func (f *file) Hash() string { return f.sum }

// Grader implements [Source].
func (f *file) Grader() (name string, options map[string]any) { return f.grader, f.options }

// Rows implements [Source].
func (f *file) Rows() []verify.Problem {
	return slices.Concat(f.rows[tasks.Train], f.rows[tasks.HeldOut])
}

// HeldOut implements [Source].
func (f *file) HeldOut(n int) ([]verify.Problem, error) {
	ids := map[string]bool{}
	for _, row := range f.rows[tasks.HeldOut] {
		ids[row.ID] = true
	}
	return tasks.HeldOutRows(drawer{f}, min(n, len(ids)))
}

// Draw implements [Source]: any line, as likely as every other.
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

// drawer draws lines of either split.
type drawer struct{ *file }

func (d drawer) Draw(r *random.Rand, split tasks.Split) verify.Problem {
	rows := d.rows[split]
	return rows[r.Between(0, len(rows)-1)]
}

// ReadRows calls do for each row of a file of JSON lines, and returns the file's SHA-256
// as hexadecimal digits. A row has a question (or prompt), which is text, or messages.
// Errors name file and line.
func ReadRows(file string, do func(verify.Problem) error) (sum string, err error) {
	data, err := files.Read(file, maxFileBytes)
	if err != nil {
		return "", err
	}
	hash, found := sha256.Sum256(data), false
	err = lines.Each(file, bytes.NewReader(data), func(n int, line []byte) error {
		found = true
		row, err := readRow(line)
		if err != nil {
			return err
		}
		row.Line = n
		return do(row)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no rows", file)
	}
	return hex.EncodeToString(hash[:]), err
}

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
		return row, fmt.Errorf("%q is %s: accepted is a string", key, kind)
	}
	if err := readMessages(&row, fields); err != nil {
		return row, err
	}
	if strings.TrimSpace(row.Question) == "" {
		return row, errors.New(`the line has no "question" (or "prompt", or "messages")`)
	}
	return row, nil
}
