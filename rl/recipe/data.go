package recipe

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rlzero/rlzero/internal/settings"
)

// Columns say which rows of a data set are problems, and what of a row.
type Columns struct {
	// split of a folder to train on, named as in its files
	Split string `toml:"split" default:"train"`

	// split whose problems are held out for evaluations, such as test; default: a share of the
	// problems of split
	EvalSplit string `toml:"eval_split"`

	// share of the problems to hold out, chosen by the text of the question; not with eval_split
	HeldOut float64 `toml:"held_out" range:"(0,1)" default:"0.0625"`

	// column of the prompt; default: question or prompt, or else a name that published data sets
	// have for it, such as problem; a.b is the member b of the object a, which may be text, and a.0
	// the first of the list a; a + b are the texts of both, one below the other
	Prompt string `toml:"prompt"`

	// the prompt, with columns in braces as in "{question} Think step by step.", in place of prompt; {{ is
	// a brace
	PromptTemplate string `toml:"prompt_template"`

	// column of the answer; default: answer, or else a name that published data sets have for it, such
	// as solution or reward_model.ground_truth
	Answer string `toml:"answer"`

	// regular expression: the answer is the text after its last match in the column, such as "#### " for
	// GSM8K, or its group if it has one
	AnswerPattern string `toml:"answer_pattern"`

	// other columns by the names that verifiers and chats read, such as {tests = "unit_tests",
	// completion = "solution"}
	Columns map[string]any `toml:"columns"`
}

// dataSource is one of several data sets.
type dataSource struct {
	// a file or a folder, as task.data
	Data string `toml:"data"`

	// share of the prompts that come from this source, relative to the other sources
	Share float64 `toml:"share" range:"(0,1e9]" default:"1"`

	Columns
}

// DataSets are the data sets of a task: its own or its sources; nil for a family.
func (t Task) DataSets() []dataSource {
	if t.Data != "" {
		return []dataSource{{Data: t.Data, Share: 1, Columns: t.Columns}}
	}
	return t.Sources
}

// columns checks the names of other columns.
func (d decoder) columns(c Columns, at settings.Path) {
	for _, name := range slices.Sorted(maps.Keys(c.Columns)) {
		if column, ok := c.Columns[name].(string); !ok || column == "" {
			p := at.With("columns").With(name)
			d.Fail(p, "%s is %v; accepted: the name of a column", d.Name(p), c.Columns[name])
		}
	}
}

// sources checks the data sets of a task and completes them.
func (d decoder) sources(task *Task, at settings.Path) {
	for i := range task.Sources {
		s, inner := &task.Sources[i], at.With(strconv.Itoa(i))
		if s.Data == "" {
			d.Fail(inner, "%s has no data: give the file or folder of the source", d.Name(inner))
			continue
		}
		s.Data = d.absolute(inner.With("data"), s.Data)
		d.columns(s.Columns, inner)
	}
}
