package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/verify"
)

// File is a task whose problems are the lines of a file, judged by one verifier.
// It belongs to no family. As with families a problem is held out by its text: its
// "id" or, without one, its question.
type File struct {
	file     string
	rows     [2][]verify.Problem // by split, in the order of the file
	verifier verify.Verifier
	grader   string
	options  map[string]any
}

// maxFileBytes bounds a file of problems, which is kept in memory.
const maxFileBytes = 4 << 30

// OpenFile reads the problems of a file (see [ReadRows]) for a verifier of package
// verify's registry, and returns the hash of the file with them. Every line counts
// in training, also one that is there twice.
func OpenFile(file, verifier string, options map[string]any) (*File, string, error) {
	v, err := verify.New(verifier, options)
	if err != nil {
		return nil, "", err
	}
	t := &File{file: file, verifier: v, grader: verifier, options: options}
	sum, err := ReadRows(file, func(row verify.Problem) error {
		if own, there := row.Metadata["verifier"]; there && string(own) != fmt.Sprintf("%q", verifier) {
			return fmt.Errorf("the line's verifier is %s, the task's %q: one file has one verifier", own, verifier)
		}
		if row.ID == "" {
			row.ID = row.Question
		}
		split := SplitOf(row.ID)
		t.rows[split] = append(t.rows[split], row)
		return nil
	})
	if err == nil && (len(t.rows[Train]) == 0 || len(t.rows[HeldOut]) == 0) {
		err = fmt.Errorf("%s has %d problems to train on and %d that are held out (one in %d is, by its id or, without one, its question): both are needed; give more problems, or of a procedural task add those of rlzero tasks draw --split held-out",
			file, len(t.rows[Train]), len(t.rows[HeldOut]), heldOutShare)
	}
	return t, sum, err
}

// Grader is the verifier's name, with its options.
func (t *File) Grader() (name string, options map[string]any) { return t.grader, t.options }

// Rows are all problems, those of training first.
func (t *File) Rows() []verify.Problem { return slices.Concat(t.rows[Train], t.rows[HeldOut]) }

// HeldOut is the number of different problems that are held out.
func (t *File) HeldOut() int {
	ids := map[string]bool{}
	for _, row := range t.rows[HeldOut] {
		ids[row.ID] = true
	}
	return len(ids)
}

// Name implements [Task].
func (t *File) Name() string { return t.file }

// Validate implements [Task].
func (t *File) Validate() error { return nil }

// Difficulty implements [Task].
func (t *File) Difficulty() string { return "the problems are lines of a file" }

// Draw implements [Task]: any line of the split, as likely as every other.
func (t *File) Draw(r *random.Rand, split Split) verify.Problem {
	rows := t.rows[split]
	return rows[r.Between(0, len(rows)-1)]
}

// Verify implements [Task].
func (t *File) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return unended(completion)
	}
	return t.verifier.Verify(row, completion)
}

func (t *File) instruction() string { return "" }
func (t *File) settings() []setting { return nil }

// ReadRows calls do for each row of a file of JSON lines, which has to have a
// question (or prompt), and returns the file's SHA-256 as hexadecimal digits. Errors
// name file and line.
func ReadRows(file string, do func(verify.Problem) error) (sum string, err error) {
	data, err := files.Read(file, maxFileBytes)
	if err != nil {
		return "", err
	}
	hash, found := sha256.Sum256(data), false
	err = lines.Each(file, bytes.NewReader(data), func(_ int, line []byte) error {
		found = true
		row, err := readRow(line)
		if err != nil {
			return err
		}
		return do(row)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no rows", file)
	}
	return hex.EncodeToString(hash[:]), err
}

func readRow(line []byte) (row verify.Problem, err error) {
	if err := json.Unmarshal(line, &row); err != nil {
		return row, err
	}
	if row.Question == "" {
		return row, errors.New(`the line has no "question" (or "prompt")`)
	}
	return row, nil
}
