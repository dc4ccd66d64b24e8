package tasks

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
	"github.com/rlzero/rlzero/verify"
)

// File is a task whose problems are the lines of a file, judged by one verifier.
// It belongs to no family. As with families a problem is held out by its text: its
// question. Its "id" plays no part, as one question may stand there under two.
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
// verify's registry, and returns the hash of the file with them. A line that the verifier
// cannot judge is an error. Every line counts in training, also one that is there twice.
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
		if err := verify.Check(v, row); err != nil {
			return fmt.Errorf("the verifier %s cannot judge this line: %w", verifier, err)
		}
		if row.ID == "" {
			row.ID = row.Question
		}
		split := SplitOf(row.Question)
		t.rows[split] = append(t.rows[split], row)
		return nil
	})
	if err == nil && (len(t.rows[Train]) == 0 || len(t.rows[HeldOut]) == 0) {
		err = fmt.Errorf("%s has %d problems to train on and %d that are held out: at least one of each is needed", file, len(t.rows[Train]), len(t.rows[HeldOut]))
		err = hint.With(err, "give more problems: one in %d is held out, by the text of its question", heldOutShare)
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

// ReadRows calls do for each row of a file of JSON lines, and returns the file's SHA-256
// as hexadecimal digits. A row has a question (or prompt), which is plain text. Errors
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
			err := fmt.Errorf("%q is a list: prompts are plain text until chat templates are supported", key)
			return row, hint.With(err, "write the messages of a chat as one string")
		case '{':
			kind = "an object"
		case 't', 'f':
			kind = "true or false"
		}
		return row, fmt.Errorf("%q is %s: accepted is a string", key, kind)
	}
	if strings.TrimSpace(row.Question) == "" {
		return row, errors.New(`the line has no "question" (or "prompt")`)
	}
	return row, nil
}
