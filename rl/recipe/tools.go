package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/outside"
	"github.com/rlzero/rlzero/rl/world/tools"
)

// Tool is a tool that the policy may call before it answers.
type Tool struct {
	// the tool; rlzero tools lists them
	Tool string `toml:"tool" of:"tool"`

	// its name in calls; default: the name of the tool
	Name string `toml:"name" of:"tool"`

	// in place of tool: a server of the Model Context Protocol on its standard input and output, such as
	// ["node", "everything/index.js"], which runs with your rights; a word that names a file beside the
	// recipe means that file; its tools keep their names, in which other characters than letters, digits and
	// _ become _; there is no default: a table has this key or tool
	MCP []string `toml:"mcp" of:"mcp"`

	// the tools of the server that the policy may call; default: all that it lists
	Only []string `toml:"only" of:"mcp"`

	// names of variables of the environment that the server sees, besides PATH, HOME and the folder of
	// temporary files; values of 8 characters and more are cut out of what it says
	Env []string `toml:"env" of:"mcp" default:"[]"`

	// calls of the server change something outside, so that none is made twice
	Effects bool `toml:"effects" of:"mcp"`

	// in demonstrations of an sft stage the tool is called with this text, with members of the row in braces
	// such as "{question}" or "{id}", before an answer that is right; for pure tools; a model that is asked says
	// that answer there; "": demonstrations do not call it, and those of a stage with trains = that model never do
	Shown string `toml:"shown" of:"tool"`

	// with shown: share of the demonstrations that call it
	ShownShare float64 `toml:"shown_share" of:"tool" range:"[0,1]" default:"1"`

	// hash of the files that the tool reads, or that the command of the server names, in hexadecimal digits; the recipe of a run has it, and a run
	// whose files have changed is refused
	SHA256 string `toml:"sha256"`

	// tools of the server as it lists them, as JSON; the recipe of a run has it, and a run whose server lists
	// others is refused
	Listed string `toml:"listed" of:"mcp"`

	// settings of the tool; rlzero tools show NAME lists them
	Options tools.Options `toml:"options" of:"tool"` // validated
}

// Served says whether it stands for the tools of a server.
func (t Tool) Served() bool { return len(t.MCP) > 0 }

// Variant implements [settings.Variant].
func (t Tool) Variant() string {
	if t.Served() {
		return "mcp"
	}
	return "tool"
}

// Spec is that of the tool under its name; of a server it is empty, and so not pure.
func (t Tool) Spec() world.Spec {
	if t.Served() {
		return world.Spec{}
	}
	s := t.Options.Spec()
	s.Name = t.Name
	return s
}

// Asks is whom the tool asks, and how; nil: it asks no model.
func (t Tool) Asks() *tools.Whom {
	if o, asks := t.Options.(tools.Asking); asks {
		whom := o.Asks()
		return &whom
	}
	return nil
}

// Blocks says that the policy picks the blocks by which another model writes the answer: the one tool of the task takes
// whole turns.
func (t Task) Blocks() bool {
	return slices.ContainsFunc(t.Tools, func(t Tool) bool { _, blocks := t.Options.(*tools.BlocksOptions); return blocks })
}

// asking is whom a tool of the task asks, or its world, and the key that says so.
type asking struct {
	*tools.Whom
	key settings.Path
}

// asked is who is asked by the tools of the task, and by its world.
func (t Task) asked() (out []asking) {
	for i, tool := range t.Tools {
		if o := tool.Asks(); o != nil {
			out = append(out, asking{o, settings.Path{"task", "tool", strconv.Itoa(i), "options", "model"}})
		}
	}
	if w, asks := t.Settings.(tasks.Asker); asks {
		if setting, whom := w.Asks(); whom != nil {
			out = append(out, asking{whom, settings.Path{"task", "settings", setting}})
		}
	}
	return out
}

// WorldAsks is the key by which the world of the task asks a model; "": it does not.
func (t Task) WorldAsks(model string) string {
	for _, a := range t.asked() {
		if a.Model == model && a.key[1] == "settings" {
			return strings.Join(a.key, ".")
		}
	}
	return ""
}

// AskRoom is how many tokens the longest question to a model has with its answer, of those that tools or the world ask; 0:
// none asks it.
func (t Task) AskRoom(model string) int {
	room := 0
	for _, o := range t.asked() {
		if o.Model == model {
			room = max(room, o.Context)
		}
	}
	return room
}

// asksModels checks whom the tools of the task ask, and its world.
func (d decoder) asksModels(r *Recipe) {
	for _, asked := range r.Task.asked() {
		name := asked.Model
		m, known := r.Models[name]
		accepted := append([]string{PolicyModel}, r.ModelNames()...)
		var problem error
		switch {
		case name == PolicyModel && asked.key[1] == "settings":
			problem = errors.New("nothing teaches the policy what the world asks; accepted: a model of [models] with path or family")
		case name == PolicyModel && r.Task.Blocks():
			problem = errors.New("the policy picks the blocks, and another model writes them; accepted: a model of [models] with path or family")
		case name == PolicyModel:
			for k := range r.Stages {
				if st := &r.Stages[k]; !st.Skip && r.Models[st.Learner()].Logits != "" {
					problem = fmt.Errorf("stage %s draws by a sum of logits, and one model is asked; accepted: a model of [models] with path", st.Name)
				}
			}
		case !known:
			problem = hint.With(fmt.Errorf("there is no such model%s", settings.DidYouMean(name, accepted, "")), "a table [models.%s] with path = \"FOLDER\"; a tool ask can ask policy, too", "expert")
		case name == ReferenceModel:
			problem = errors.New("the reference is asked for log-probs; accepted: policy, or a model of a name of its own with path or family")
		case m.URL != "":
			problem = errors.New("a model behind an address answers judges alone; accepted: policy, or a model of [models] with path or family")
		case m.Path == "" && !m.Fresh():
			problem = errors.New("evaluations before and after every stage ask it too, while it changes as the run goes on; accepted: policy, or a model of [models] with path or family")
		case m.Head:
			problem = errors.New("a model with a head scores, and does not answer; accepted: one without head")
		case m.Prompt != "":
			problem = errors.New("it reads the question alone; take prompt out of [models." + name + "]")
		}
		if problem != nil {
			d.Fail(asked.key, "%s = %q: %w", d.Name(asked.key), name, problem)
		}
	}
}

// imitatesAnswers refuses stages in which the policy imitates answers, where another model writes them.
func (d decoder) imitatesAnswers(r *Recipe) {
	for i := range r.Stages {
		st := &r.Stages[i]
		if !r.Task.Blocks() || st.Skip || st.Kind != KindSFT || st.OfRows() || r.Models[st.Learner()].Fresh() {
			continue
		}
		p := settings.Path{"stage", strconv.Itoa(i), "kind"}
		err := fmt.Errorf("%s = %q: what it imitates are answers, and with the tool blocks %s picks the blocks by which another model writes them", d.Name(p), st.Kind, st.Learner())
		d.Fail(p, "%w", hint.With(err, "trains = \"%s\" lets a model from random weights learn to write", r.Task.Tools[0].Asks().Model))
	}
}

// Specs are those of the tool, or of the tools of a server, which are known once they are listed.
func (t Tool) Specs() []world.Spec {
	if !t.Served() {
		return []world.Spec{t.Spec()}
	}
	specs, err := outside.Specs(cmp.Or(t.Listed, "[]"), t.Effects)
	if err != nil { // what is listed has been checked
		panic(err)
	}
	return specs
}

// Ways in which calls are written.
const (
	CallsTemplate = "template" // as the model's chat template writes them
	CallsTags     = "tags"     // between tags with the name of the tool
)

// defaultTurns is how many turns an episode with tools has where the recipe does not say.
const defaultTurns = 4

// outsideSeconds is how long a program of others has for a turn where the recipe does not say.
const outsideSeconds = 60

// toolKeys are keys of a task that say something of its tools.
var toolKeys = []string{"calls", "max_calls", "reply_bytes"}

// Played says whether the task is played in turns: its problems are episodes, of this program or of others, or
// tools are called before they are answered.
func (t Task) Played() bool { return t.Episodic() != nil || len(t.Tools) > 0 || t.World.Given() }

// TurnFacts are the names of what is told of a turn.
func (t Task) TurnFacts() []string {
	if e := t.Episodic(); e != nil {
		return e.TurnFacts()
	}
	if len(t.Tools) > 0 {
		if t.Blocks() {
			return tools.BlockFacts()
		}
		return world.CallFacts(t.Specs()...)
	}
	return t.World.Facts
}

// TurnTokens is how long a completion of a task with demonstrations may be, in tokens. With tools it may be
// as long as an episode: how long a call is, only the policy knows. The number of a block is one token.
func (t Task) TurnTokens() int {
	if t.Blocks() {
		return 1
	}
	if len(t.Tools) > 0 {
		return t.Episode.Tokens
	}
	return t.Demonstrator().CompletionTokens()
}

// Specs are those of the tools that are called by name.
func (t Task) Specs() []world.Spec {
	var specs []world.Spec
	if t.Blocks() { // nobody calls it by its name
		return nil
	}
	for _, tool := range t.Tools {
		specs = append(specs, tool.Specs()...)
	}
	return specs
}

// Vocabulary is that of a fresh model for the task: the demonstrator's, and what calls between tags
// and their answers need besides.
func (t Task) Vocabulary() []string {
	v := t.Demonstrator().Vocabulary()
	if t.Calls != CallsTags {
		return v
	}
	for _, spec := range t.Specs() {
		for _, c := range strings.Split("</>"+world.Unread+spec.Name, "") {
			if !slices.Contains(v, c) {
				v = append(v, c)
			}
		}
	}
	return v
}

// turnsTaken refuses keys about calls where a tool takes whole turns. A resolved recipe has their defaults.
func (d decoder) turnsTaken(task *Task, at settings.Path) {
	var usual Task
	settings.SetDefaults(&usual, "")
	for i, other := range []bool{task.Calls != usual.Calls, task.MaxCalls != usual.MaxCalls, task.ReplyBytes != usual.ReplyBytes} {
		if key := toolKeys[i]; other && task.Blocks() {
			d.Fail(at.With(key), "%s does not go with blocks, which takes whole turns: leave it out", d.Name(at.With(key)))
		}
	}
}

// tools reads the tools of a task, and refuses what says something of tools where there are none.
func (d decoder) tools(task *Task, t map[string]any, at settings.Path) {
	value, there := t["tool"]
	tables := settings.Tables(value)
	if there && len(tables) == 0 {
		d.WrongType(at.With("tool"), value, "tables headed [[task.tool]]")
		return
	}
	if len(tables) == 0 {
		for _, key := range toolKeys {
			if _, given := t[key]; given {
				d.Fail(at.With(key), "%s goes with tools, of which the task has none: add [[task.tool]]", d.Name(at.With(key)))
			}
		}
		return
	}
	if task.Episodic() != nil {
		d.Fail(at.With("tool"), "%s does not go with task %s, which is played in turns and says what is answered in them; accepted: tasks whose problems have one answer", d.Name(at.With("tool")), task.Name)
		return
	}
	for i, table := range tables {
		d.tool(task, table, at.With("tool").With(strconv.Itoa(i)))
	}
	d.turnsTaken(task, at)
	if task.Blocks() && len(tables) > 1 {
		d.Fail(at.With("tool"), "%s: the tool blocks takes whole turns, and none is left for another tool; accepted: blocks alone", d.Name(at.With("tool")))
	}
}

// tool reads one tool.
func (d decoder) tool(task *Task, table map[string]any, at settings.Path) {
	var tool Tool
	settings.SetDefaults(&tool, "")
	before := d.Failed()
	if d.Decode(&tool, table, at, "options"); table["mcp"] != nil {
		if d.Failed() == before {
			d.server(task, tool, table, at)
		}
		return
	}
	for _, f := range settings.Fields(&tool) {
		if _, given := table[f.Key]; given && !f.Of(tool.Variant()) {
			d.Fail(at.With(f.Key), "%s goes with mcp, the command of a server", d.Name(at.With(f.Key)))
		}
	}
	entry, known := tools.Lookup(tool.Tool)
	switch {
	case d.Failed() > before:
		return
	case tool.Tool == "":
		d.Fail(at, "%s has no tool; accepted: mcp = the command of a server, or tool = one of %s", d.Name(at), strings.Join(tools.Names(), ", "))
		return
	case !known:
		d.Fail(at.With("tool"), "%s = %q is not known%s", d.Name(at.With("tool")), tool.Tool, settings.DidYouMean(tool.Tool, tools.Names(), "rlzero tools lists them all"))
		return
	}
	if tool.Name == "" {
		tool.Name = tool.Tool
	}
	place := at.With("name")
	if _, written := table["name"]; !written {
		place = at
	}
	if !world.ToolName(tool.Name) {
		d.Fail(place, "%s = %q is not accepted; accepted: letters, digits and _, at most 64, a letter or _ first", d.Name(at.With("name")), tool.Name)
		return
	}
	if slices.ContainsFunc(task.Specs(), func(s world.Spec) bool { return s.Name == tool.Name }) {
		d.Fail(place, "%w", hint.With(fmt.Errorf("two tools are called %q", tool.Name), `give one of them another name: name = "%s2"`, tool.Name))
		return
	}
	options, ok := table["options"].(map[string]any)
	if value, there := table["options"]; there && !ok {
		d.WrongType(at.With("options"), value, "a table")
		return
	}
	tool.Options = entry.Options()
	d.Decode(tool.Options, options, at.With("options"))
	if d.Failed() > before {
		return
	}
	for _, f := range settings.Fields(tool.Options) {
		if name, given := options[f.Key].(string); given && name != "" && slices.Contains(entry.Paths, f.Key) {
			if err := settings.Set(tool.Options, f.Key, strconv.Quote(d.absolute(at.With("options").With(f.Key), name))); err != nil {
				d.Fail(at.With("options").With(f.Key), "%w", err)
			}
		}
	}
	d.check(tool.Options.Validate(), at.With("options"))
	if column := tool.Spec().Leaves; column != "" {
		if i := slices.IndexFunc(task.Tools, func(t Tool) bool { return t.Spec().Leaves == column }); i >= 0 {
			d.Fail(place, "tools %s and %s both leave what they did to the column %q of a row, and one would undo the other; accepted: another column for each", task.Tools[i].Name, tool.Name, column)
		}
	}
	d.shown(task, tool, at.With("shown"))
	if d.Failed() == before {
		task.Tools = append(task.Tools, tool)
	}
}

// server reads a server of tools.
func (d decoder) server(task *Task, tool Tool, table map[string]any, at settings.Path) {
	before := d.Failed()
	for _, f := range settings.Fields(&tool) {
		if _, given := table[f.Key]; given && !f.Of("mcp") {
			d.Fail(at.With(f.Key), "%s does not go with mcp, whose server says what its tools are", d.Name(at.With(f.Key)))
		}
	}
	command := at.With("mcp")
	if !tool.Served() {
		d.Fail(command, `%s is empty; accepted: the program of the server and its arguments, such as ["node", "server.js"]`, d.Name(command))
		return
	}
	tool.MCP = d.words(command, tool.MCP)
	d.names(at.With("env"), tool.Env, variableName, variableNames)
	if _, err := outside.Specs(cmp.Or(tool.Listed, "[]"), tool.Effects); err != nil {
		d.Fail(at.With("listed"), "%s: %w", d.Name(at.With("listed")), err)
	}
	settings.Clear(&tool)
	if d.Failed() == before {
		task.Tools = append(task.Tools, tool)
	}
}

// shown checks how demonstrations call a tool.
func (d decoder) shown(task *Task, tool Tool, at settings.Path) {
	switch {
	case tool.Shown == "":
	case task.Demonstrator() == nil:
		d.Fail(at, "%s needs a task with demonstrations, which %s does not have: an sft stage on rows imitates calls that stand in their messages", d.Name(at), task.label())
	case !tool.Spec().Pure:
		d.Fail(at, "%s needs a tool that is pure, and %s is not: a run that is resumed would call it again for the same demonstrations", d.Name(at), tool.Tool)
	case tool.Spec().Text == "":
		d.Fail(at, "%s needs a tool whose calls are a text, and those of %s are objects", d.Name(at), tool.Tool)
	}
}

// leaves refuses verifiers of a stage where a tool leaves a column of a row: they would read the row as it
// was before the tool was called.
func (d decoder) leaves(s *Stage, task Task, at settings.Path) {
	for _, t := range task.Tools {
		if t.Spec().Leaves != "" && len(s.Verifiers) > 0 {
			d.Fail(at.With("verifier"), "%s does not go with tool %s: what it leaves is judged by the verifier of the task alone; accepted: task.verifier", d.Name(at.With("verifier")), t.Name)
		}
	}
}

// calledFirst refuses an episode in which a demonstration with all calls that are shown has no turn left for
// its answer.
func (d decoder) calledFirst(task Task, at settings.Path) {
	shown := 0
	for _, t := range task.Tools {
		if t.Shown != "" {
			shown++
		}
	}
	if shown > 0 && shown >= task.Episode.Turns {
		p := at.With("turns")
		d.Fail(p, "%s = %d leaves no turn for the answer after the calls of demonstrations; accepted: at least %d, one for each of the %d tools with shown and one for the answer", d.Name(p), task.Episode.Turns, shown+1, shown)
	}
}

// Remembers says whether runs have a journal of calls: a tool is not pure, as those of servers are, or a program of
// others plays, which may fail when it is asked again.
func (t Task) Remembers() bool {
	return t.World.Given() || slices.ContainsFunc(t.Tools, func(t Tool) bool { return !t.Spec().Pure })
}
