package prompts

import (
	"errors"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/table"
	"github.com/rlzero/rlzero/verify"
)

// advised is an error about a row with the flag that would take the row, where there is one.
func (p Part) advised(err error, row table.Row) error {
	var m *missing
	key, column := "", ""
	switch {
	case errors.Is(err, errNoQuestion):
		key, column = "prompt", longestText(row)
	case errors.As(err, &m):
		key, _, _ = strings.Cut(err.Error(), ": ")
		column = hint.Nearest(m.column, names(row))
	}
	if column == "" || key == "prompt_template" {
		return err
	}
	return hint.With(err, "to take another column: --set %s%s=%s", p.key(), key, terminal.ShellWord(column))
}

// judgedBy is the error of a verifier that cannot judge a row, with another verifier that can judge
// the rows, or the column that would be an answer for it, or what else the rows are for.
func (p Part) judgedBy(err error, v verify.Verifier, problem verify.Problem, row table.Row) error {
	r, unfit := Find([]Part{p}, Wanted{Judged: true})
	if fits, failed := verify.New(r.Verifier, r.Options); failed == nil && accepts(fits, sample{row}.problems(r.Parts[0].Columns), 1) {
		return hint.With(err, "to take %s, as %s: --set task.verifier=", r.Verifier, r.Why)
	}
	for _, column := range names(row) {
		raw, failed := lookup(row, column)
		if failed != nil || slices.Contains([]string{"answer", chosenKey, rejectedKey}, column) || counts(column) || !single(raw) || textOf(raw) == problem.Question {
			continue
		}
		problem.Answer = textOf(raw)
		if verify.Check(v, problem) == nil {
			return hint.With(err, "to take another column: --set %sanswer=%s", p.key(), terminal.ShellWord(column))
		}
	}
	if row["answer"] == nil {
		for _, use := range hint.All(unfit) {
			err = hint.With(err, "%s", use)
		}
	}
	return err
}

// key is what the keys of the part begin with in a recipe.
func (p Part) key() string {
	if p.Key == "" {
		return "task."
	}
	return p.Key
}

// longestText is the column of a row with the longest text; "": none has text.
func longestText(row table.Row) string {
	longest, size := "", 0
	for _, column := range names(row) {
		raw, err := lookup(row, column)
		if err == nil && isText(raw) && len(textOf(raw)) > size && !slices.Contains(answerNames, column) {
			longest, size = column, len(textOf(raw))
		}
	}
	return longest
}

// counts says whether a column has the name of one that numbers the rows.
func counts(column string) bool {
	column = strings.ToLower(column)
	return column == "id" || column == "index" || strings.HasSuffix(column, "_id") || strings.HasSuffix(column, "uid") || strings.HasSuffix(column, ".index")
}
