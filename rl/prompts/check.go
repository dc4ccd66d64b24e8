package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/verify"
)

// Limits are what a run has room for.
type Limits struct {
	Prompt int // tokens of a prompt; 0: nothing is sampled
	Lesson int // tokens of a row to imitate, prompt included; 0: none is imitated
	Choice int // tokens of a completion to choose by, prompt included; 0: there is none

	Solutions []string // columns that a second chance takes as completions
}

// errLong marks what is longer than a limit.
var errLong = errors.New("too long")

// fault is one that rows of a file may share, with what to do about it.
type fault struct {
	err  error
	hint string
}

var faults = []fault{
	{chat.ErrControl, "change the text; in a recipe, [task] allow_control_tokens = true reads them as the tokens that they name"},
	{chat.ErrSystem, ""}, // see systemHint
	{chat.ErrNothing, "take these rows out"},
	{errNoLesson, ""},
	{errNoChoice, "name the columns in the recipe, such as [task.columns] chosen = \"response_a\", or take these rows out"},
	{errSteps, "give each of \"steps\" a label in \"labels\", or take these rows out"},
	{errSame, "take these rows out: they prefer nothing"},
	{errLong, ""},
	{errors.New("any other"), ""},
}

// shared are the rows with one fault.
type shared []faulty

// faulty is a row and what is wrong with it.
type faulty struct {
	row verify.Problem
	err error
}

// Check reads problems as a run will read them. The error is lines.ErrInput: it has one
// fault of each kind, with the number of rows that have it and their lines. notes are
// what a user should know before a run. name is that of the file or task.
func (r *Renderer) Check(name string, rows []verify.Problem, l Limits) (notes []string, err error) {
	found := make([]shared, len(faults))
	var passed shared
	turns := 0
	for _, row := range rows {
		lesson, err := r.read(row, l)
		if lesson.Passed > 0 {
			passed.add(row, errors.New(lesson.Why))
			turns += lesson.Passed
		}
		if err != nil {
			kind := slices.IndexFunc(faults, func(f fault) bool { return errors.Is(err, f.err) })
			if kind < 0 {
				kind, err = len(faults)-1, fmt.Errorf("prompt %s: %w", terminal.Quote(row.Question), err)
			}
			found[kind].add(row, err)
		}
	}
	var all []error
	for i, f := range found {
		if f != nil {
			where, first := f.where(name, len(rows))
			err := fmt.Errorf("%s: %w", where, first)
			advice := faults[i].hint
			if faults[i].err == chat.ErrSystem {
				advice = r.systemHint(f[0].row)
			}
			if advice != "" {
				err = hint.With(err, "%s", advice)
			}
			all = append(all, err)
		}
	}
	if all != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, errors.Join(all...))
	}
	if turns > 0 {
		where, first := passed.where(name, len(rows))
		notes = append(notes, fmt.Sprintf("%s: %s of the assistant read and not learned: %v", where, terminal.Count(turns, "turn", ""), first))
	}
	return notes, nil
}

// ExactKey has the texts of answers compared, as the key of a task.
const ExactKey = "--set task.verifier=exact"

// Doubt says which rows a verifier reads in another way than their author may have meant; "": there
// are none. name is that of the file, and exact the flag that has them compared as texts.
func Doubt(name string, v verify.Verifier, rows []verify.Problem, exact string) string {
	d, ok := v.(verify.Doubter)
	if !ok {
		return ""
	}
	var all shared
	for _, row := range rows {
		if doubt := d.Doubt(row); doubt != "" {
			all.add(row, errors.New(doubt))
		}
	}
	if all == nil {
		return ""
	}
	where, first := all.where(name, len(rows))
	return fmt.Sprintf("%s: %v; %s compares the texts", where, first, exact)
}

// systemHint says where the text of a system message that the template does not read can go:
// a prompt_template writes neither the problems of a family nor rows that are messages.
func (r *Renderer) systemHint(row verify.Problem) string {
	_, messages := row.Metadata[messagesKey]
	switch {
	case messages && r.style.System != "":
		return "remove [task] system, and write its text into the first message of the user, in the rows"
	case messages:
		return "in the rows, write its text into the first message of the user"
	case r.style.Task != nil:
		return "remove [task] system: what the task says about answers then stands before the question"
	}
	return "remove [task] system, and write its text into prompt_template of the task, or of each [[task.source]], before \"{question}\""
}

// read is what a run does with a problem: it reads the prompt, and imitates the row.
func (r *Renderer) read(row verify.Problem, l Limits) (lesson chat.Lesson, err error) {
	if l.Prompt > 0 {
		ids, err := r.Prompt(row)
		if err == nil && len(ids) > l.Prompt {
			err = fmt.Errorf("prompt %s has %d tokens, but [task] max_prompt_tokens is %d: it is %w", terminal.Quote(row.Question), len(ids), l.Prompt, errLong)
			advice := fmt.Sprintf("--set task.max_prompt_tokens=%d", 1<<bits.Len(uint(len(ids))))
			if row.Line > 0 { // of a file
				advice = "take such rows out, or " + advice
			}
			err = hint.With(err, "%s", advice)
		}
		if err != nil {
			return lesson, err
		}
	}
	if l.Lesson > 0 {
		if lesson, err = r.Lesson(row); err == nil {
			err = fits(lesson, l.Lesson)
		}
		if err != nil {
			return lesson, err
		}
	}
	if l.Choice > 0 {
		choices, err := r.Choices(row)
		if err != nil {
			return lesson, err
		}
		for _, c := range choices {
			if err := fits(c.Lesson, l.Choice); err != nil {
				return lesson, err
			}
			if c.Passed > lesson.Passed {
				lesson.Passed, lesson.Why = c.Passed, c.Why
			}
		}
	}
	return lesson, nil
}

// fits refuses a row that is longer than a stage has room for.
func fits(lesson chat.Lesson, most int) error {
	if n := len(lesson.IDs); n > most {
		err := fmt.Errorf("the row has %d tokens, but max_tokens is %d: it is %w", n, most, errLong)
		return hint.With(err, "raise max_tokens of the stage, or take such rows out")
	}
	return nil
}

func (s *shared) add(row verify.Problem, err error) {
	*s = append(*s, faulty{row, err})
}

// maxLines is how many lines of rows with one fault are named.
const maxLines = 5

// where names the rows, and is the fault of the first. name is what they come from where
// they do not say.
func (s shared) where(name string, all int) (string, error) {
	slices.SortStableFunc(s, func(a, b faulty) int {
		return cmp.Or(strings.Compare(a.row.File, b.row.File), a.row.Line-b.row.Line)
	})
	first, last := s[0], s[len(s)-1]
	name = cmp.Or(first.row.File, name)
	switch {
	case first.row.Line == 0:
		return name, first.err
	case len(s) == 1:
		return fmt.Sprintf("%s: line %d", name, first.row.Line), first.err
	}
	var places []string
	for _, f := range s[:min(len(s), maxLines)] {
		place := fmt.Sprint(f.row.Line)
		if first.row.File != last.row.File {
			place = f.row.File + " " + place
		}
		places = append(places, place)
	}
	if len(s) > maxLines {
		places = append(places, "...")
	}
	if first.row.File != last.row.File {
		name = "the task's data"
	}
	return fmt.Sprintf("%s: %d of %d rows (lines %s)", name, len(s), all, strings.Join(places, ", ")), first.err
}
