package recipe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/braces"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// Making are the keys of a [[stage.make]]: rows that are made of what the steps of a stage draw. They stand
// in a file of the run, and a [[stage.source]] of the stage or of a later one draws them.
type Making struct {
	// name of the rows; [[stage.source]] refers to the rows by this name
	Rows string `toml:"rows"`

	// what a row is made of. completion: each completion; pair: the best and the worst completion of a
	// prompt, where their rewards differ; group: each prompt
	Each string `toml:"each" choice:"completion,pair,group" default:"completion"`

	// condition on what a row is made of, such as "wrong(task)" or "group_std(task) > 0"; where it does not
	// hold there is no row; "": it always holds
	Where string `toml:"where"`

	// columns of the row, each a text with names in braces, such as {prompt = "{question}", completion =
	// "{completion}"}, or a list of such texts or of tables of them, such as rubric = [{ask = "names
	// {row.year}", points = 2}], which a judge with shows = "items" reads. Names: question, answer and row.NAME of the problem; completion; best and worst of a
	// pair; extracted, the answer that the task's verifier found in a completion; task.reason, the reason of
	// its verdict, and NAME.reason, that of a verifier of the stage, such as a text that a script writes;
	// said, what by has written; said.extracted, what check found in that: its answer, or that of a problem. Any
	// other is a formula, whose number stands there. A column that is one name in braces has the value
	// itself, such as a list of the row
	Row map[string]any `toml:"row"`

	// the model that writes a text for each row: policy, or a model of [models]; "": none
	By string `toml:"by"`

	// with by: what it is asked, a text with names in braces; with a chat template it is a message of the
	// user
	Say string `toml:"say"`

	// with by: longest text
	MaxTokens int `toml:"max_tokens" range:"[1,16777216]" unit:"tokens" default:"64"`

	// with by: number by which the logits are divided; 0: the likeliest token
	Temperature float64 `toml:"temperature" range:"[0,100]" default:"1"`

	// with by: what judges the text; a row is made only if the text passes. task, or a verifier of the stage: it
	// is a right answer to the problem. problem: it is a problem that the task accepts. rewritten: it is
	// another such problem, with the same answer as the one that the row is made of. "": nothing judges it
	Check string `toml:"check"`

	// only so many of the newest rows are drawn from; 0: all. Where several tables have the same rows, the
	// largest holds, and 0 is larger than any number
	Most int `toml:"most" range:"[0,10000000]" unit:"rows"`
}

// Checks of what a model writes as a problem that the task accepts, the second one with the same answer.
const (
	ProblemCheck   = "problem"
	RewrittenCheck = "rewritten"
)

// rowSource are the keys of a [[stage.source]]: made rows that a stage learns from, or whose problems it
// draws.
type rowSource struct {
	// name of the rows, which a [[stage.make]] of the stage or of an earlier one makes
	Rows string `toml:"rows"`

	// share of the rows or prompts of a step that come from here, as far as there are any; the others are
	// those of the task
	Share float64 `toml:"share" range:"(0,1]" default:"1"`

	// take the newest rows, each once a step, in place of rows at random
	Newest bool `toml:"newest"`
}

// Slot is a part of a template of a row: text, a name that stands for a text, or a formula.
type Slot struct {
	braces.Piece
	Program *formula.Program // whose part Part it is; nil: it is no formula
	Part    string
	Verdict int // whose reason it is, counted from 1: that of the task, and of the stage's verifiers; 0: of none
}

// Column is the template of a column of a row: that of a text, of a list, of a table, or a number.
type Column struct {
	Text   []Slot
	List   []Column
	Table  map[string]Column
	Number any // int64 or float64; nil: it is none
}

// slots are those of all texts in a column.
func (c Column) slots() []Slot {
	out := slices.Clone(c.Text)
	for _, inner := range c.List {
		out = append(out, inner.slots()...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Table)) {
		out = append(out, c.Table[name].slots()...)
	}
	return out
}

// Made is a [[stage.make]] whose formulas and templates were read.
type Made struct {
	Making
	When    *formula.Program  // of the condition, its part Part; nil: it always holds
	Part    string            //
	Columns map[string]Column // of the row
	Asked   []Slot            // of say; nil: nothing is said
	Level   formula.Level     // of what a row is made of
}

// slotName is what a name of templates stands for, which is a text.
type slotName struct {
	misfit func(m *Making) string // says with what it goes; "": with these rows
	drawn  bool                   // it is what was drawn, or a part of it
}

// slotNames are the names of templates that stand for texts.
var slotNames = map[string]slotName{
	"question":   {misfit: ofAll},
	"answer":     {misfit: ofAll},
	"completion": {misfit: ofCompletion, drawn: true},
	"extracted":  {misfit: ofCompletion, drawn: true},
	"best":       {misfit: ofPair, drawn: true},
	"worst":      {misfit: ofPair, drawn: true},
	"said": {misfit: func(m *Making) string {
		if m.By == "" {
			return "goes with by, the model that says it"
		}
		return ""
	}},
	"said.extracted": {misfit: func(m *Making) string {
		if m.Check == "" {
			return "goes with check, which finds it in what by has written"
		}
		return ""
	}},
}

func ofAll(*Making) string { return "" }

func ofCompletion(m *Making) string {
	if m.Each != "completion" {
		return "goes with each = \"completion\""
	}
	return ""
}

func ofPair(m *Making) string {
	if m.Each != "pair" {
		return "goes with each = \"pair\""
	}
	return ""
}

// Draws says whether a stage draws completions to judge them.
func (s *Stage) Draws() bool { return s.Kind == KindRL || s.Kind == KindMake }

// Learns says whether a stage changes weights.
func (s *Stage) Learns() bool { return s.Kind != KindEval && s.Kind != KindMake }

// OfRows says whether all that a stage learns from are rows that the run has made.
func (s *Stage) OfRows() bool { return s.madeShare() >= 1-shareError }

// madeShare is the share of a step that comes from rows that the run has made.
func (s *Stage) madeShare() float64 {
	sum := 0.0
	for _, source := range s.Sources {
		sum += source.Share
	}
	return sum
}

// Makes says whether some and all of the rows that a stage draws, of those that the run makes, have a column.
func (r *Recipe) Makes(st *Stage, column string) (some, all bool) {
	all = true
	for _, source := range st.Sources {
		for i := range r.Stages {
			for _, m := range r.Stages[i].Make {
				if _, has := m.Row[column]; m.Rows == source.Rows {
					some, all = some || has, all && has
				}
			}
		}
	}
	return some, all
}

// Likenesses are rows as stages make them that a stage draws, one for each [[stage.make]], with ? in place of texts and 1
// in place of numbers. A member of the problem that stands alone may be anything: it is a list in the columns that are
// open, a text in others, in lists and as ask, and a number elsewhere in a table.
func (r *Recipe) Likenesses(st *Stage, open ...string) []verify.Problem {
	var out []verify.Problem
	for _, source := range st.Sources {
		for i := range r.Stages {
			for _, m := range r.Stages[i].Make {
				if m.Rows != source.Rows || r.Stages[i].Skip {
					continue
				}
				row := verify.Problem{ID: m.Rows, Metadata: map[string]json.RawMessage{}}
				for name, template := range m.Row {
					member := any("?")
					if slices.Contains(open, name) {
						member = []any{"?"}
					}
					switch raw, err := json.Marshal(r.Stages[i].likeness(template, member)); {
					case err != nil: // no part of it fails
					case name == "question" || name == "prompt":
						row.Question = "?"
					case name == "answer":
						row.Answer = "?"
					default:
						row.Metadata[name] = raw
					}
				}
				out = append(out, row)
			}
		}
	}
	return out
}

// likeness is a value that has the type of what the template of a column makes. member is what stands for a member of the
// problem.
func (s *Stage) likeness(template, member any) any {
	switch v := template.(type) {
	case []any:
		list := make([]any, len(v))
		for i, entry := range v {
			list[i] = s.likeness(entry, "?")
		}
		return list
	case map[string]any:
		table := map[string]any{}
		for name, inner := range v {
			member := any(1)
			if name == "ask" {
				member = "?"
			}
			table[name] = s.likeness(inner, member)
		}
		return table
	case string:
		pieces, err := braces.Parse(v, "name")
		if err != nil || len(pieces) != 1 || !pieces[0].Braced {
			return "?"
		}
		name := pieces[0].Text
		if plainMember.MatchString(name) {
			return member
		}
		if _, text := slotNames[name]; text || s.reasoner(name) > 0 {
			return "?"
		}
		return 1 // of a formula
	}
	return template
}

// shareError bounds what the sum of shares, which are decimal fractions, loses to rounding: 2^-52 for each of a
// million of them.
const shareError = 1e-9

// Makes are the rows that a stage makes.
func (s *Stage) Makes() ([]Made, error) {
	var out []Made
	var faults []error
	for k := range s.Make {
		m := Made{Making: s.Make[k], Part: makePart(k, "where"), Columns: map[string]Column{}, Level: formula.Group}
		if m.Each == "completion" {
			m.Level = formula.Completion
		}
		var err error
		if m.Where != "" {
			if m.When, err = s.drawn(m.Part, m.Where, m.Level, true); err != nil {
				faults = append(faults, err)
			}
		}
		if m.Say != "" {
			if m.Asked, err = s.slots(&m, makePart(k, "say"), m.Say); err != nil {
				faults = append(faults, err)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(m.Row)) {
			if m.Columns[name], err = s.column(&m, makePart(k, "row/"+name), m.Row[name]); err != nil {
				faults = append(faults, err)
			}
		}
		out = append(out, m)
	}
	return out, errors.Join(faults...)
}

// needs are the facts that it reads.
func (m *Made) needs() (reads []string) {
	m.each(func(program *formula.Program, part string) { reads = append(reads, program.Needs(part)...) })
	return reads
}

// each calls do for each of its formulas.
func (m *Made) each(do func(program *formula.Program, part string)) {
	if m.When != nil {
		do(m.When, m.Part)
	}
	all := slices.Clone(m.Asked)
	for _, name := range slices.Sorted(maps.Keys(m.Columns)) {
		all = append(all, m.Columns[name].slots()...)
	}
	for _, slot := range all {
		if slot.Program != nil {
			do(slot.Program, slot.Part)
		}
	}
}

// makePart names a formula of the k-th [[stage.make]].
func makePart(k int, key string) string { return "make/" + strconv.Itoa(k) + "/" + key }

// drawn compiles a formula of what was drawn.
func (s *Stage) drawn(part, text string, level formula.Level, condition bool) (*formula.Program, error) {
	return s.method().Drawn(part, text, level, condition, s.facts())
}

// column reads the template of a column.
func (s *Stage) column(m *Made, part string, value any) (c Column, err error) {
	var faults []error
	inner := func(name string, value any) Column {
		c, err := s.column(m, part+"/"+name, value)
		faults = append(faults, err)
		return c
	}
	switch v := value.(type) {
	case string:
		c.Text, err = s.slots(m, part, v)
		return c, err
	case []any:
		for i, entry := range v {
			c.List = append(c.List, inner(strconv.Itoa(i), entry))
		}
	case map[string]any:
		c.Table = map[string]Column{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c.Table[name] = inner(name, v[name])
		}
	default:
		c.Number = value
	}
	return c, errors.Join(faults...)
}

// slots reads a template.
func (s *Stage) slots(m *Made, part, text string) ([]Slot, error) {
	pieces, err := braces.Parse(text, "name")
	if err != nil {
		return nil, &formula.Error{Part: part + "/0", Text: err.Error()}
	}
	var out []Slot
	for i, p := range pieces {
		slot := Slot{Piece: p}
		name, named := slotNames[p.Text]
		if slot.Verdict = s.reasoner(p.Text); slot.Verdict > 0 {
			name, named = slotName{misfit: ofCompletion}, true
		}
		switch {
		case !p.Braced || plainMember.MatchString(p.Text):
		case named:
			why := name.misfit(&m.Making)
			if strings.HasPrefix(p.Text, "said") && strings.HasSuffix(part, "/say") {
				why = "is of what by answers to say"
			}
			if why != "" {
				return nil, &formula.Error{Part: part + "/" + strconv.Itoa(i), Line: 1, Column: p.At, Text: p.Text + " " + why}
			}
		default:
			slot.Part = part + "/" + strconv.Itoa(i)
			if slot.Program, err = s.drawn(slot.Part, p.Text, m.Level, false); err != nil {
				var fault *formula.Error
				if errors.As(err, &fault) && fault.Line <= 1 {
					inside := *fault
					inside.Line, inside.Column = 1, max(1, fault.Column)+p.At-1
					if strings.HasPrefix(inside.Text, "unknown name") && inside.Near == "" {
						inside.Text += "; texts: " + strings.Join(slices.Sorted(maps.Keys(slotNames)), ", ") + ", row.NAME, task.reason, VERIFIER.reason"
					}
					err = &inside
				}
				return nil, err
			}
		}
		out = append(out, slot)
	}
	return out, nil
}

// reasoner is the verdict of which a name is the reason, as in [Slot]; 0: of none.
func (s *Stage) reasoner(name string) int {
	of, is := strings.CutSuffix(name, ".reason")
	switch at := slices.IndexFunc(s.Verifiers, func(v reward.Verifier) bool { return v.Name == of }); {
	case is && of == "task":
		return 1
	case is && at >= 0:
		return 2 + at
	}
	return 0
}

// plainMember is a member of a row.
var plainMember = regexp.MustCompile(`^row\.[A-Za-z_][A-Za-z0-9_]*$`)

// madeFormulas are the formulas of what a stage makes, by part, as far as its templates can be read.
func (s *Stage) madeFormulas() map[string]string {
	all := map[string]string{}
	for k := range s.Make {
		if m := &s.Make[k]; m.Where != "" {
			all[makePart(k, "where")] = m.Where
		}
		var add func(part string, value any)
		add = func(part string, value any) {
			text := ""
			switch v := value.(type) {
			case string:
				text = v
			case []any:
				for i, entry := range v {
					add(part+"/"+strconv.Itoa(i), entry)
				}
			case map[string]any:
				for name, member := range v {
					add(part+"/"+name, member)
				}
			}
			pieces, _ := braces.Parse(text, "name") // what is wrong is told where the stage is read
			for i, p := range pieces {
				if _, named := slotNames[p.Text]; p.Braced && !named && s.reasoner(p.Text) == 0 && !plainMember.MatchString(p.Text) {
					all[part+"/"+strconv.Itoa(i)] = p.Text
				}
			}
		}
		add(makePart(k, "say"), s.Make[k].Say)
		for name, text := range s.Make[k].Row {
			add(makePart(k, "row/"+name), text)
		}
	}
	return all
}

// Writing is a model that writes texts for rows.
type Writing struct {
	Model string
	Room  int // tokens of a question with its answer, at most
}

// Writers are the models that write texts for rows or take turns in seats, in stages that are not left out, and those
// that tools or the world ask.
func (r *Recipe) Writers() []Writing {
	var out []Writing
	for _, o := range r.Task.asked() {
		if room := r.Task.AskRoom(o.Model); !slices.Contains(out, Writing{o.Model, room}) {
			out = append(out, Writing{o.Model, room})
		}
	}
	slices.SortFunc(out, func(a, b Writing) int { return cmp.Compare(a.Model, b.Model) })
	for i := range r.Stages {
		st := &r.Stages[i]
		if st.Skip || !st.Draws() {
			continue
		}
		for _, by := range st.seatedBy() {
			out = append(out, Writing{by, r.Task.MaxPromptTokens + r.MaxDrawn(st)})
		}
		for _, m := range st.Make {
			if m.By == "" {
				continue
			}
			out = append(out, Writing{m.By, r.askedTokens(st, m.Say) + m.MaxTokens})
		}
	}
	return out
}

// askedTokens is how many tokens a text with names in braces has at most: a token for each byte of its own, and for a name
// what a completion may have, or a prompt.
func (r *Recipe) askedTokens(st *Stage, text string) (n int) {
	pieces, _ := braces.Parse(text, "name") // what is wrong is told where the stage is read
	for _, p := range pieces {
		switch {
		case !p.Braced:
			n += len(p.Text)
		case slotNames[p.Text].drawn:
			n += r.MaxDrawn(st)
		default:
			n += r.Task.MaxPromptTokens
		}
	}
	return n
}

// writtenBy are the models that write for rows in a stage.
func (s *Stage) writtenBy() []string {
	var out []string
	for _, m := range s.Make {
		if m.By != "" && !s.Skip && s.Draws() {
			out = append(out, m.By)
		}
	}
	return out
}

// drawnRows are the names of the made rows that a stage draws, itself and for those who learn beside its method, with
// the keys that name them.
func (s *Stage) drawnRows() iter.Seq2[string, settings.Path] {
	return func(yield func(string, settings.Path) bool) {
		if s.Skip {
			return
		}
		for k, source := range s.Sources {
			if !yield(source.Rows, settings.Path{"source", strconv.Itoa(k), "rows"}) {
				return
			}
		}
		for _, l := range s.Learners() {
			for _, source := range l.Sources {
				if !yield(source.Rows, settings.Path{"learn", l.Trains, "rows"}) {
					return
				}
			}
		}
	}
}

// DrawsFrom says whether a stage draws rows that another one makes, itself or for those who learn beside its method.
func (s *Stage) DrawsFrom(other *Stage) bool {
	for rows := range s.drawnRows() {
		if !other.Skip && slices.ContainsFunc(other.Make, func(m Making) bool { return m.Rows == rows }) {
			return true
		}
	}
	return false
}

// MakesRows says whether some stage makes rows.
func (r *Recipe) MakesRows() bool {
	return slices.ContainsFunc(r.Stages, func(st Stage) bool { return !st.Skip && len(st.Make) > 0 })
}

// MostOf is how many rows of a name are drawn from at most; 0: all.
func (r *Recipe) MostOf(rows string) int {
	most := 0
	for _, st := range r.Stages {
		for _, m := range st.Make {
			if m.Rows != rows || st.Skip {
				continue
			}
			if m.Most == 0 {
				return 0
			}
			most = max(most, m.Most)
		}
	}
	return most
}

// making checks what a stage makes of what it draws.
func (d decoder) making(s *Stage, r *Recipe, at settings.Path) {
	if s.Kind == KindMake && len(s.Make) == 0 {
		d.Fail(at, "%s is of kind make and has no [[stage.make]], which says what it makes", d.Name(at))
		return
	}
	failed := d.Failed()
	for k := range s.Make {
		d.makes(s, &s.Make[k], r, at.With("make").With(strconv.Itoa(k)))
	}
	if d.Failed() > failed {
		return
	}
	makes, err := s.Makes()
	if err != nil {
		d.madeFaults(err, at)
		return
	}
	for i := range makes {
		makes[i].each(func(program *formula.Program, part string) {
			if err := s.unweighed(program, part); err != nil {
				d.madeFaults(err, at)
			}
		})
	}
}

// makes checks the keys of a [[stage.make]] that are no formulas.
func (d decoder) makes(s *Stage, m *Making, r *Recipe, at settings.Path) {
	fail := func(key, format string, args ...any) {
		d.Fail(at.With(key), "%s %s", d.Name(at.With(key)), fmt.Sprintf(format, args...))
	}
	if !modelName.MatchString(m.Rows) {
		fail("rows", "= %q is not accepted; accepted: lower-case letters, digits and _, such as pairs", m.Rows)
	}
	asks := false
	for _, name := range slices.Sorted(maps.Keys(m.Row)) {
		p := at.With("row").With(name)
		switch asks = asks || name == "question" || name == "prompt"; {
		case record.Says(name):
			d.Fail(p, "%s: every row has %s already, which says where it comes from; accepted: another name, such as its_%s", d.Name(p), name, name)
		case !modelName.MatchString(name):
			d.Fail(p, "%s: the name of a column is not accepted; accepted: lower-case letters, digits and _", d.Name(p))
		default:
			d.columned(m.Row[name], p)
		}
	}
	switch {
	case !asks:
		fail("row", "has no prompt, which every row has; accepted: columns, such as {prompt = \"{question}\", completion = \"{completion}\"}")
	case m.Each == "pair" && s.GroupSize < 2:
		fail("each", "= \"pair\" needs a group_size of at least 2; found %d", s.GroupSize)
	case s.played:
		fail("rows", "does not go with a task that is played in turns: a row has one text")
	case (m.By == "") != (m.Say == ""):
		fail("say", "and by go together: who writes, and what is asked")
	case m.By == "" && m.Check != "":
		fail("check", "goes with by, whose text it judges")
	}
	if m.By != "" {
		d.writes(s, m, r, at)
	}
}

// columned checks the template of a column: a text, or a list of texts or of tables of texts and numbers.
func (d decoder) columned(value any, p settings.Path) {
	text := func(p settings.Path, value any, accepted string) {
		switch v, ok := value.(string); {
		case !ok:
			d.WrongType(p, value, accepted)
		case strings.TrimSpace(v) == "":
			d.Fail(p, "%s is empty, and so would be the column of every row; accepted: a text with names in braces, such as \"{question}\"", d.Name(p))
		}
	}
	list, is := value.([]any)
	if !is {
		text(p, value, "a text with names in braces, or a list of them")
		return
	}
	if len(list) == 0 {
		d.Fail(p, "%s is an empty list; accepted: a list of texts with names in braces, or of tables of them", d.Name(p))
	}
	for i, entry := range list {
		p := p.With(strconv.Itoa(i))
		table, is := entry.(map[string]any)
		if !is {
			text(p, entry, "a text with names in braces, or a table of them")
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			p := p.With(name)
			if !modelName.MatchString(name) {
				d.Fail(p, "%s: the name of a member is not accepted; accepted: lower-case letters, digits and _", d.Name(p))
			}
			switch table[name].(type) {
			case int64, float64:
			default:
				text(p, table[name], "a text with names in braces, or a number")
			}
		}
	}
}

// writes checks who writes for rows, and who judges that.
func (d decoder) writes(s *Stage, m *Making, r *Recipe, at settings.Path) {
	p := at.With("by")
	member, known := r.Models[m.By]
	accepted := append(r.ModelNames(), PolicyModel)
	var problem error
	switch {
	case m.By == PolicyModel && s.Learner() != PolicyModel:
		problem = errors.New("the policy is put aside in a stage that trains another model")
	case m.By == PolicyModel:
	case m.By == ReferenceModel:
		problem = errors.New("the reference is asked for log-probs; give a model that writes a name of its own, with copy = \"policy\" or path")
	case !known:
		problem = errors.New("there is no [models." + m.By + "]" + settings.DidYouMean(m.By, accepted, "accepted: "+strings.Join(accepted, ", ")))
	case m.By == s.Learner():
		problem = errors.New("who learns in the stage is drawn from already: each = \"completion\" has what it says")
	case member.Logits != "":
		problem = errors.New("it is a sum of logits, and one model writes")
	case member.Head:
		problem = errors.New("a model with a head scores and does not write; take another one")
	case member.Prompt != "":
		problem = errors.New("it has a prompt of its own; take prompt out of [models." + m.By + "]")
	}
	if problem != nil {
		d.Fail(p, "%s = %q: %w", d.Name(p), m.By, problem)
	}
	p = at.With("check")
	if m.Check == "task" && r.Task.JudgedBy() != "" {
		d.Fail(p, "%s = %q: a judge gives the verdicts of the task; accepted: a verifier of the stage that judges by itself", d.Name(p), m.Check)
	}
	if m.Check == "" || m.Check == "task" {
		return
	}
	i := slices.IndexFunc(s.Verifiers, func(v reward.Verifier) bool { return v.Name == m.Check })
	switch {
	case i < 0 && (m.Check == ProblemCheck || m.Check == RewrittenCheck):
		if r.Task.Poser() == nil {
			d.Fail(p, "%s = %q needs a task that accepts or refuses problems, and %s does not; accepted: the tasks %s", d.Name(p), m.Check, r.Task.label(), strings.Join(tasks.Posers(), ", "))
		}
	case i < 0:
		names := []string{"task", ProblemCheck, RewrittenCheck}
		for _, v := range s.Verifiers {
			names = append(names, v.Name)
		}
		d.Fail(p, "%s = %q is no verifier of the stage%s", d.Name(p), m.Check, settings.DidYouMean(m.Check, names, "accepted: "+strings.Join(names, ", ")))
	case s.Verifiers[i].Verifier == judge.Name:
		d.Fail(p, "%s = %q is a judge; accepted: a verifier that judges by itself", d.Name(p), m.Check)
	}
}

// madeFaults records what is wrong with formulas and templates of rows.
func (d decoder) madeFaults(err error, at settings.Path) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			d.madeFaults(err, at)
		}
		return
	}
	var fault *formula.Error
	if !errors.As(err, &fault) {
		d.Fail(at, "%s: %v", d.Name(at), err)
		return
	}
	p, inside := at, *fault
	names := strings.Split(fault.Part, "/")
	if _, err := strconv.Atoi(names[len(names)-1]); err == nil { // the number of a formula in a template
		names = names[:len(names)-1]
	}
	for _, name := range names {
		p = p.With(name)
	}
	inside.Part = ""
	d.Fail(p, "%s: %v", d.Name(p), &inside)
}

// sourced checks which made rows stages draw, and those who learn in them, when all stages are known.
func (d decoder) sourced(r *Recipe) {
	for i := range r.Stages {
		st, at := &r.Stages[i], settings.Path{"stage", strconv.Itoa(i)}
		for rows, key := range st.drawnRows() {
			d.supplied(r, i, rows, slices.Concat(at, key))
		}
		if p, sum := at.With("source"), st.madeShare(); sum > 1+shareError {
			d.Fail(p, "%s: the shares come to %v; accepted: at most 1", d.Name(p), sum)
		}
		if p := at.With("source"); len(st.Curriculum.Teacher.Space) > 0 && len(st.Sources) > 0 {
			d.Fail(p, "%s does not go with curriculum.teacher, which learns from the settings of each prompt: a made row has none", d.Name(p))
		}
		if st.Arrives() && len(st.Sources)+len(st.Make) > 0 {
			p := at.With("order")
			d.Fail(p, "%s = \"arrival\" does not go with made rows, which are drawn and written in the order of the steps", d.Name(p))
		}
	}
}

// supplied refuses rows, which the stage with an index names at p, that no stage makes up to then.
func (d decoder) supplied(r *Recipe, index int, rows string, p settings.Path) {
	made, later := r.madeBefore(index), ""
	for _, after := range r.Stages[index+1:] {
		for _, m := range after.Make {
			if m.Rows == rows && !after.Skip {
				later = after.Name
			}
		}
	}
	switch {
	case slices.Contains(made, rows):
	case later != "":
		d.Fail(p, "%s = %q: stage %s makes these rows, which comes after stage %s", d.Name(p), rows, later, r.Stages[index].Name)
	case len(made) == 0:
		d.Fail(p, "%w", hint.With(fmt.Errorf("%s = %q: no stage makes such rows", d.Name(p), rows), "add a stage of kind make before it, with [[stage.make]] rows = %q", rows))
	default:
		d.Fail(p, "%s = %q: no stage makes such rows%s", d.Name(p), rows, settings.DidYouMean(rows, made, "accepted: "+strings.Join(made, ", ")))
	}
}

// madeBefore are the names of rows that a stage or an earlier one makes, sorted.
func (r *Recipe) madeBefore(stage int) []string {
	names := map[string]bool{}
	for i := range r.Stages[:stage+1] {
		for _, m := range r.Stages[i].Make {
			names[m.Rows] = names[m.Rows] || !r.Stages[i].Skip
		}
	}
	maps.DeleteFunc(names, func(_ string, there bool) bool { return !there })
	return slices.Sorted(maps.Keys(names))
}
