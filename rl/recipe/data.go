package recipe

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rlzero/rlzero/internal/settings"
)

// Columns say which rows of a data set are problems, and what of a row.
type Columns struct {
	Split          string         `toml:"split" about:"split of a folder to train on, as its files are called; default: train"`
	EvalSplit      string         `toml:"eval_split" about:"split whose problems are held out for evaluations, such as test; default: a share of the problems of split"`
	HeldOut        float64        `toml:"held_out" range:"(0,1)" about:"share of the problems that is held out, chosen by the text of the question; not with eval_split; default: 0.0625"`
	Prompt         string         `toml:"prompt" about:"column of the prompt; default: question or prompt; a.b is the member b of the object a"`
	PromptTemplate string         `toml:"prompt_template" about:"the prompt, with columns in braces as in \"{question} Think step by step.\"; {{ is a brace; in place of prompt"`
	Answer         string         `toml:"answer" about:"column of the answer; default: answer"`
	AnswerPattern  string         `toml:"answer_pattern" about:"regular expression: the answer is what follows its last match in the column, such as \"#### \" for GSM8K, or its group if it has one"`
	Columns        map[string]any `toml:"columns" about:"other columns by the names that verifiers and chats read, such as {tests = \"unit_tests\", completion = \"solution\"}"`
}

// columnKeys are the keys of Columns.
var columnKeys = []string{"split", "eval_split", "held_out", "prompt", "prompt_template", "answer", "answer_pattern", "columns"}

// defaultColumns hold out one problem in 16, as procedural tasks do.
var defaultColumns = Columns{Split: "train", HeldOut: 1.0 / 16}

// dataSource is one of several data sets.
type dataSource struct {
	Data  string  `toml:"data" about:"a file or a folder, as task.data"`
	Share float64 `toml:"share" range:"(0,1e9]" about:"share of the prompts that come from here, relative to those of the other sources; default: 1"`
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
		if s.Share == 0 {
			s.Share = 1
		}
		if s.Split == "" {
			s.Split = defaultColumns.Split
		}
		if s.HeldOut == 0 {
			s.HeldOut = defaultColumns.HeldOut
		}
	}
}
