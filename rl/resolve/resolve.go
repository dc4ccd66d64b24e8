package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/braces"
	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/table"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/outside"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// Opened is a recipe with what it names.
type Opened struct {
	Recipe *recipe.Recipe
	Source prompts.Source
	Tools  []world.Tool   // of the task, in their order
	World  *outside.World // of others, that plays the task; nil: none does
	Answer tools.Answerer // answers what the world of the task asks; nil: nobody does, and it goes by rules
	Notes  []string       // what was found of the data and nobody has said, and what is likely not meant in the methods
}

// Style says how the problems of a recipe become prompts.
func Style(r *recipe.Recipe) prompts.Style {
	t := r.Task
	return prompts.Style{Form: t.Form, System: t.System, Task: t.Settings, Tools: t.Specs(), ByTags: t.Calls == recipe.CallsTags, Whole: t.Episode.History == recipe.HistoryTemplate, Sum: world.Summary(t.Episode.Summary), Tokens: t.Episode.Tokens, Options: chat.Options{Variables: t.TemplateVars, AllowControl: t.AllowControl}}
}

// Open opens what a loaded recipe names. The error is recipe.ErrInvalid and lists
// everything that is wrong. Programs of others are started: Close ends them. They have the rights of the user, so
// told is told of the command of each before it starts, now or later, however often it does. Many goroutines may call
// it. nil: nobody is told.
func Open(r *recipe.Recipe, told func(command string)) (*Opened, error) { return open(r, false, told) }

// OpenAgain opens the recipe of a run that is repeated by its journal: a program whose answers that has need
// not be there.
func OpenAgain(r *recipe.Recipe, told func(command string)) (*Opened, error) {
	return open(r, true, told)
}

func open(r *recipe.Recipe, again bool, tell func(command string)) (opened *Opened, err error) {
	full := *r
	full.Stages = slices.Clone(r.Stages)
	faults := full.Faults()
	var played *outside.World
	var source prompts.Source
	var told []string
	if full.Task.World.Given() {
		played, source, told = openWorld(&full, again, tell, faults)
		defer func() {
			if err != nil {
				(&Opened{World: played}).Close()
			}
		}()
	} else {
		source, told = openTask(&full, faults)
	}
	var tools []world.Tool
	if source != nil {
		tools = openTools(&full, source, again, tell, faults)
	}
	for i := range full.Stages {
		st := &full.Stages[i]
		if !st.Draws() {
			continue
		}
		st.EvalProblems = min(st.EvalProblems, full.Task.EvalProblems)
		st.Verifiers = slices.Clone(st.Verifiers)
		if readScripts(st, i, faults) {
			compile(st, i, full.Task.Played(), faults)
		}
	}
	var notes []string
	if faults.Err() == nil {
		answerable(&full, source, faults)
		listed(&full, faults)
		solvable(&full, source, faults)
	}
	if faults.Err() == nil {
		notes = try(&full, source, faults)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if n := len(full.Resolved()); n > settings.MaxBytes { // the run could not read it again
		return nil, fmt.Errorf("%w: the recipe with its scripts has %d bytes; accepted: at most %d", recipe.ErrInvalid, n, settings.MaxBytes)
	}
	return &Opened{Recipe: &full, Source: source, Tools: tools, World: played, Notes: slices.Concat(told, notes)}, nil
}

// answerable refuses rows about which a judge of a stage cannot be asked, since they lack what its prompt
// names. Of a task whose problems are drawn it looks at the first ones, and of made rows at what their stages say.
func answerable(r *recipe.Recipe, source prompts.Source, faults *recipe.Faults) {
	rows, _ := source.Rows()
	if r.Task.Settings != nil {
		rows = someRows(r, source)
	}
	for i := range r.Stages {
		st := &r.Stages[i]
		if !st.Draws() || st.Skip {
			continue
		}
		program, err := st.Program()
		if err != nil {
			continue // it has been told
		}
		for k, v := range program.Verifiers() {
			if _, asks := v.(verify.Asking); !asks {
				continue
			}
			lack, first := 0, error(nil)
			items, _ := st.Verifiers[k].Options["items"].(string)
			for _, row := range r.Likenesses(st, items) {
				if err := verify.Check(v, row); err != nil {
					faults.Fail(fmt.Sprintf("stage.%d.verifier.%d.options", i, k), "verifier %s cannot be asked about the made rows %s: %w", st.Verifiers[k].Name, row.ID, err)
				}
			}
			for _, row := range rows {
				if err := verify.Check(v, row); err != nil && !st.OfRows() {
					if lack++; first == nil {
						first = fmt.Errorf("%s: %w", placeOf(row), err)
					}
				}
			}
			if lack > 0 {
				faults.Fail(fmt.Sprintf("stage.%d.verifier.%d.options", i, k), "verifier %s cannot be asked about %s: %w", st.Verifiers[k].Name, terminal.Count(lack, "row", ""), first)
			}
		}
	}
}

// listed refuses a second chance that shows a part of the entries of a list, where the made rows that the stage draws have
// no such list.
func listed(r *recipe.Recipe, faults *recipe.Faults) {
	for i := range r.Stages {
		st := &r.Stages[i]
		show := st.SecondChance.Show
		if st.SecondChance.Entries == "" || st.Skip {
			continue
		}
		var names []string
		pieces, _ := braces.Parse(show, "column") // what is wrong is told where the recipe is read
		for _, p := range pieces {
			names = append(names, p.Text)
		}
		for _, row := range r.Likenesses(st, names...) {
			if lists, err := prompts.Lists(row, show); err == nil && len(lists) == 0 {
				faults.Fail(fmt.Sprintf("stage.%d.second_chance.show", i), "second_chance.show = %q names no list of the made rows %s, and entries needs one; accepted: the name of a list in braces", show, row.ID)
			}
		}
	}
}

// solvable refuses a second chance by solutions of made rows, or of several teachers, of which no row has one: a row
// may lack a solution, but a name that no row has is not meant. What made rows have, it takes their word for.
func solvable(r *recipe.Recipe, source prompts.Source, faults *recipe.Faults) {
	rows, _ := source.Rows()
	if r.Task.Settings != nil {
		rows = someRows(r, source)
	}
	for i := range r.Stages {
		st := &r.Stages[i]
		members := st.SecondChance.Solutions()
		if st.Skip {
			continue
		}
		for _, member := range members {
			has := func(row verify.Problem) bool { _, why := row.Text(member); return why == "" }
			some, all := r.Makes(st, member)
			if len(members) == 1 && some && !all {
				faults.Fail(fmt.Sprintf("stage.%d.second_chance.rows", i), "second_chance.rows = %q: a [[stage.make]] of the rows that the stage draws does not make %s, and it is the only solution; accepted: a column that all of them make", st.SecondChance.Rows, member)
			} else if !slices.ContainsFunc(rows, has) && !some {
				faults.Fail(fmt.Sprintf("stage.%d.second_chance.rows", i), "second_chance.rows = %q: no problem has %s, and no [[stage.make]] of the rows that the stage draws makes it", st.SecondChance.Rows, member)
			}
		}
	}
}

// placeOf says where a row is.
func placeOf(row verify.Problem) string {
	if row.File == "" {
		return "problem " + terminal.Quote(cmp.Or(row.Question, row.ID))
	}
	return fmt.Sprintf("%s, line %d", row.File, row.Line)
}

// openTask opens the problems of a task; nil, with a fault, if it cannot. notes say
// what was found of the data, and which of its answers the verifier may read in another way.
func openTask(r *recipe.Recipe, faults *recipe.Faults) (source prompts.Source, notes []string) {
	task := &r.Task
	if !task.FromData() {
		return prompts.Of(task.Settings), nil
	}
	if task.Verifier != "" {
		var err error
		if task.Options, err = complete(task.Verifier, task.Options); err == nil {
			_, err = verify.New(task.Verifier, task.Options)
		}
		if err != nil {
			faults.Fail(judgeKey(task, "task.options"), "%w", err)
			return nil, nil
		}
	}
	key := "task.source"
	if task.Data != "" {
		key = "task.data"
	}
	literal := literally(task)
	found, err := find(r)
	if errors.Is(err, prompts.ErrNoVerifier) {
		faults.Fail("task.verifier", "%w", err)
		return nil, nil
	}
	if err == nil {
		source, err = prompts.Open(Parts(task), task.Verifier, task.Options)
	}
	if errors.Is(err, fs.ErrNotExist) && task.Data != "" {
		advice := "name your file with --set task.data=FILE"
		if near := files.Near(task.Data, table.Named); near != "" {
			advice = "--set task.data=" + terminal.ShellWord(near)
		}
		err = hint.With(err, "%s", advice)
	}
	if err != nil {
		faults.Fail(key, "%w", err)
		return nil, nil
	}
	if sum := source.Hash(); task.SHA256 == "" {
		task.SHA256 = sum
	} else if task.SHA256 != sum {
		err := fmt.Errorf("%s has changed: its SHA-256 is %s, the recipe has %s", source.Name(), sum, task.SHA256)
		faults.Fail("task.sha256", "%w", hint.With(err, "restore the file, or start a new run without this key"))
		return nil, nil
	}
	if err := prompts.Leak(source); err != nil && !task.AllowLeaks {
		faults.Fail(key, "%s: %w", source.Name(), err)
		return nil, nil
	}
	doubt, err := tryJudge(source)
	if err != nil {
		faults.Fail(judgeKey(task, "task.verifier"), "%w", err)
		return nil, nil
	}
	rows, err := source.HeldOut(task.EvalProblems)
	if err != nil {
		faults.Fail(key, "%w", err)
	}
	task.EvalProblems = len(rows)
	return source, slices.DeleteFunc([]string{found, literal, doubt}, func(note string) bool { return note == "" })
}

// literally says how exact compares, to a recipe that names it and leaves that to the default, which
// was once what SQuAD does. A recipe that was opened before has been told.
func literally(task *recipe.Task) string {
	if task.Verifier != "exact" || task.Options["normalize"] != nil || task.SHA256 != "" {
		return ""
	}
	return "exact compares texts as they are, apart from white space at both ends; without capitals, punctuation and articles, as SQuAD: --set task.verifier=squad_exact"
}

// tryJudge tries the verifier of a data set on its rows, and says which answers it may read in another
// way than was meant. Rows that are only imitated have none.
func tryJudge(source prompts.Source) (doubt string, err error) {
	name, options := source.Grader()
	if name == "" {
		return "", nil
	}
	v, err := verify.New(name, options)
	if err != nil {
		return "", err
	}
	train, heldOut := source.Rows()
	return prompts.Doubt(source.Name(), v, slices.Concat(train, heldOut), prompts.ExactKey), Tried(name, options, v, train)
}

// judgeKey is the key that a fault of the verifier is about: the script, if it is one.
func judgeKey(task *recipe.Task, key string) string {
	if task.Verifier == "starlark" {
		return "task.starlark"
	}
	return key
}

// complete are the options of a verifier with the text of its script, if it has one.
func complete(name string, options map[string]any) (map[string]any, error) {
	entry, err := verify.Lookup(name)
	if err != nil {
		return nil, err
	}
	return entry.Complete(options)
}

// Tried runs a script of the user's that judges rows on the first of them, each with its own answer
// as the completion, before anything else is done; v is the verifier of that name and those
// options. The error says on which row it fails.
func Tried(name string, options map[string]any, v verify.Verifier, rows []verify.Problem) error {
	if _, asks := v.(verify.Asking); asks {
		return nil
	}
	entry, err := verify.Lookup(name)
	if err != nil || entry.Script == "" || options[entry.Script] == nil && options["source"] == nil {
		return nil
	}
	const most = 3
	none, scored := "", false
	for _, row := range rows[:min(len(rows), most)] {
		verdict := v.Verify(row, row.Answer)
		switch {
		case verdict.Verdict != verify.NotScored:
			scored = true
		case verdict.Rule != "": // it says None itself
			none = verdict.Reason
		default:
			return hint.With(fmt.Errorf("tried on %s, line %d, with the answer %s as the completion: %s", row.File, row.Line, terminal.Quote(row.Answer), verdict.Reason),
				"return 0 for what cannot be read, and None for a row that is to be left out")
		}
	}
	if scored || none == "" {
		return nil
	}
	return fmt.Errorf("it scores none of the first rows of %s: %s", rows[0].File, none)
}

// find fills in what the recipe does not say of its data, and says it in a line. A recipe that
// has the hash of its data was opened before, and has what was found then.
func find(r *recipe.Recipe) (line string, err error) {
	task := &r.Task
	if task.SHA256 != "" || task.World.Given() { // a program of others reads rows as they are
		return "", nil
	}
	w := prompts.Wanted{Judged: r.Samples(), Verifier: task.Verifier, Options: task.Options}
	for _, st := range r.Stages {
		w.Imitated = w.Imitated || st.Kind == recipe.KindSFT
	}
	reading, err := prompts.Find(Parts(task), w)
	if err != nil || len(reading.Found) == 0 {
		return "", err
	}
	task.Verifier, task.Options = reading.Verifier, reading.Options
	if task.Data != "" {
		fill(&task.Columns, reading.Parts[0].Columns)
	} else {
		task.Sources = slices.Clone(task.Sources)
		for i := range task.Sources {
			fill(&task.Sources[i].Columns, reading.Parts[i].Columns)
		}
	}
	return reading.Line(), nil
}

// fill puts what was found of a data set into its keys.
func fill(c *recipe.Columns, found prompts.Columns) {
	c.Prompt, c.PromptTemplate, c.Answer, c.AnswerPattern = found.Prompt, found.Template, found.Answer, found.AnswerPattern
	if len(found.Others) > 0 {
		c.Columns = map[string]any{}
		for name, column := range found.Others {
			c.Columns[name] = column
		}
	}
}

// Parts are the data sets of a task.
func Parts(task *recipe.Task) []prompts.Part {
	sources := task.DataSets()
	parts := make([]prompts.Part, len(sources))
	for i, s := range sources {
		parts[i] = prompts.Part{Data: filepath.FromSlash(s.Data), Share: s.Share, Split: s.Split, EvalSplit: s.EvalSplit, HeldOut: s.HeldOut,
			Columns: prompts.Columns{Prompt: s.Prompt, Template: s.PromptTemplate, Answer: s.Answer, AnswerPattern: s.AnswerPattern, Others: namesOf(s.Columns.Columns)}}
		parts[i].Played = task.World.Given()
		if task.Data == "" {
			parts[i].Key = fmt.Sprintf("task.source.%d.", i)
		}
	}
	return parts
}

// namesOf are the names of columns, which the recipe has checked.
func namesOf(columns map[string]any) map[string]string {
	names := map[string]string{}
	for name, column := range columns {
		names[name], _ = column.(string)
	}
	return names
}

// readScripts reads the scripts of a stage, so that the complete recipe needs no
// other file. Of their paths only the names stay, which messages show: what a run
// writes does not depend on where its scripts were.
func readScripts(st *recipe.Stage, stage int, faults *recipe.Faults) bool {
	for i := range st.Verifiers {
		v := &st.Verifiers[i]
		if v.Starlark == "" || v.Source != "" || v.Verifier != "" {
			continue
		}
		text, err := verify.ReadScript(v.Starlark)
		if err != nil {
			faults.Fail(fmt.Sprintf("stage.%d.verifier.%d.starlark", stage, i), "%w", err)
			return false
		}
		v.Source, v.Starlark = text, path.Base(v.Starlark)
	}
	for i := range st.Verifiers {
		v := &st.Verifiers[i]
		if entry, err := verify.Lookup(v.Verifier); err == nil {
			if v.Options, err = entry.Complete(v.Options); err != nil {
				faults.Fail(fmt.Sprintf("stage.%d.verifier.%d.options", stage, i), "%w", err)
				return false
			}
		}
	}
	return true
}

// compile checks the reward of a stage and the verifiers that it declares, and that it has
// the values that the method reads of it.
func compile(st *recipe.Stage, stage int, played bool, faults *recipe.Faults) {
	program, err := st.Program()
	paid, other := st.Paid()
	for _, of := range []struct {
		key string
		*reward.Program
	}{{"reward", program}, {"propose.reward", paid}} {
		if of.Program == nil || played {
			continue
		}
		for _, fact := range of.Turns() {
			faults.Fail(fmt.Sprintf("stage.%d.%s", stage, of.key), "it reads %s, which only tasks that are played in turns have; the problems of this recipe's task have one answer", fact)
		}
	}
	if reads, unread := st.Reads(); err == nil && unread == nil {
		for _, fact := range reads {
			if name, of := strings.CutPrefix(fact, "reward."); of && !slices.Contains(program.Terms(), name) {
				faults.Fail(fmt.Sprintf("stage.%d.algorithm", stage), "it reads %s, but the reward names no such value; accepted: reward.NAME with %s", fact,
					cmp.Or(strings.Join(program.Terms(), ", "), "a name that the reward defines, such as brief in brief = if(tokens < 50, 1, 0); task + brief"))
			}
		}
	}
	told(err, stage, "reward", faults)
	if err == nil { // else the verifiers are told of already
		_, err = st.Measure()
		told(err, stage, "truth", faults)
		told(other, stage, "propose.reward", faults)
	}
}

// told makes faults of what is wrong with a formula of a reward, that of a key.
func told(err error, stage int, formula string, faults *recipe.Faults) {
	var wrong reward.Errors
	errors.As(err, &wrong)
	for _, e := range wrong {
		key := fmt.Sprintf("stage.%d.%s", stage, formula)
		if e.Verifier >= 0 {
			key = fmt.Sprintf("stage.%d.verifier.%d.%s", stage, e.Verifier, e.Key)
		}
		nearest := ""
		if e.Unknown != "" {
			nearest = settings.DidYouMean(e.Unknown, e.Known, "")
		}
		faults.Fail(key, "%w%s", e, nearest)
	}
}
