package record

import (
	"encoding/json"

	"github.com/rlzero/rlzero/verify"
)

// Files of a run folder.
const (
	MetricsFile     = "metrics.jsonl"
	TimingFile      = "timing.jsonl"
	CompletionsFile = "completions.jsonl"
	EvaluationsFile = "evaluations.jsonl"
	HeldOutFile     = "heldout.jsonl"
	TokensFile      = "tokens.jsonl"
	AlertsFile      = "alerts.jsonl"
	ScheduleFile    = "schedule.jsonl"   // of a run that has a stage with order = "arrival"
	CallsFile       = "calls.jsonl"      // of a run that has tools that are not pure
	JudgementsFile  = "judgements.jsonl" // of a run that has judges
	UpdatesFile     = "updates.jsonl"    // of a run that has a stage with several updates a step
	MadeFile        = "rows.jsonl"       // of a run that makes rows
)

// Logs are the logs that equal runs write alike, and that a receipt has hashes of.
var Logs = []string{MetricsFile, CompletionsFile, EvaluationsFile, HeldOutFile, TokensFile, AlertsFile}

// SomeLogs are likewise, of the runs that have them.
var SomeLogs = []string{ScheduleFile, UpdatesFile, CallsFile, JudgementsFile, MadeFile}

// Completion is a line of CompletionsFile: a completion that a step learned from.
type Completion struct {
	Step      int      `json:"step"`             // of the run, from 1 on
	Stage     string   `json:"stage"`            // its name
	PromptID  string   `json:"prompt_id"`        // of the problem
	Group     int      `json:"group"`            // in the step, from 0 on: the completions of one prompt
	Sample    int      `json:"sample"`           // in the group, from 0 on
	Prompt    string   `json:"prompt"`           // the problem's text
	Answer    string   `json:"answer,omitempty"` // the reference answer, where the problem has one
	Text      string   `json:"completion"`       // what the policy wrote
	Reward    *float64 `json:"reward"`           // what is trained on; null: not scored
	Verdict   string   `json:"verdict"`          // of the task: right, wrong, graded or not_scored
	Reason    string   `json:"reason"`           // of the verdict
	Advantage *float64 `json:"advantage"`        // of tokens that differ their mean; null: has none
	Tokens    int      `json:"tokens"`           // that the policy wrote, the end token included
	Stop      string   `json:"stop"`             // why it ended: eos, stop or length

	Terms     map[string]*float64 `json:"terms,omitempty"`      // of a composed reward; null: not scored
	NotScored string              `json:"not_scored,omitempty"` // why there is no reward

	Origin string `json:"origin,omitempty"` // "again", "hinted" or "foreign": of a second chance; "": the policy sampled it of the prompt

	Context map[string]json.RawMessage `json:"context,omitempty"` // what the prompt was written from besides: messages, tools

	Turns []Turn `json:"turns,omitempty"` // of an episode, whose completion is the last turn of the policy
	Limit string `json:"limit,omitempty"` // that ended it: turns, tokens; "": the world did

	Truth *float64 `json:"truth,omitempty"` // what the stage's truth says, which is not paid; absent: it has none, or says nothing

	Nodes  []Node  `json:"nodes,omitempty"`  // of its group's tree that the completion goes through; absent: the group has none
	Branch *Branch `json:"branch,omitempty"` // of a completion that goes on from a fork of the tree

	Seat string `json:"seat,omitempty"` // that the policy played: in an episode of several seats, whose prompt is what the seat was asked, or of a stage whose problems it writes: proposer or solver
	Game int    `json:"game,omitempty"` // number of the episode in the step, from 1: its seats have the same

	Against string `json:"against,omitempty"` // who was drawn to play the other seat
}

// Node is a part of a completion in a tree: what the policy wrote up to where some completions go on
// otherwise.
type Node struct {
	Node   int    `json:"node"`           // its number in the tree of the group, as the fact node has it
	Parent int    `json:"parent"`         // number of the node before it; of those at the beginning, and of turns, that of what was read
	Tokens int    `json:"tokens"`         // that it has
	Text   string `json:"text,omitempty"` // that they are, in the first completion that goes through it
}

// Branch says how a completion that goes on from a fork was drawn.
type Branch struct {
	Number int `json:"number"` // in the step, from 0: its stream of random numbers
	After  int `json:"after"`  // tokens of the completion before the first that was drawn for it

	Without []int `json:"without,omitempty"` // ids that this first one could not be, since others go on with them
}

// Who speaks in an episode.
const (
	ByPolicy = "policy"
	ByWorld  = "world"
)

// Turn is what was said in an episode, by one side.
type Turn struct {
	By      string             `json:"by"`                // policy, world, or the name of another seat
	Text    string             `json:"text"`              // what was said
	Role    string             `json:"role,omitempty"`    // of the world, if it is not "user"
	Tokens  int                `json:"tokens,omitempty"`  // of the policy: its own, end token included
	Read    int                `json:"read,omitempty"`    // of the policy: tokens that it read then, before its next turn
	Summary bool               `json:"summary,omitempty"` // of the policy: it is a summary, which the world did not see
	Fresh   bool               `json:"fresh,omitempty"`   // of the policy: its context began anew before it
	Reward  float64            `json:"reward,omitempty"`  // of the policy: what the world paid
	State   string             `json:"state,omitempty"`   // after it
	Facts   map[string]float64 `json:"facts,omitempty"`   // that the world tells about it
	Calls   []Called           `json:"calls,omitempty"`   // of the policy: its calls of tools; what the world says next answers them
}

// Called is a call of a tool in a turn.
type Called struct {
	Tool   string          `json:"tool"`             // its name
	Args   json.RawMessage `json:"args,omitempty"`   // its arguments, an object; absent: they cannot be read
	Failed bool            `json:"failed,omitempty"` // it was a mistake, which its answer explains
}

// Answers are the calls that a line of an episode answers: one, where each call has an answer of its own. at is the
// place of what the world said.
func Answers(turns []Turn, at int) []Called {
	from, to := at, at // of what the world said to one turn
	for from > 0 && turns[from-1].By == ByWorld {
		from--
	}
	for to < len(turns) && turns[to].By == ByWorld {
		to++
	}
	if from == 0 || turns[at].By != ByWorld {
		return nil
	}
	calls := turns[from-1].Calls
	if len(calls) == to-from {
		return calls[at-from : at-from+1]
	}
	return calls
}

// Verdicts are those that a completion can have, in the order of Step.Counts.
var Verdicts = []string{"right", "wrong", "graded", "not_scored"}

// Tokens is a line of TokensFile: a completion of CompletionsFile, which has the same step,
// group and sample, token by token.
type Tokens struct {
	Step    int       `json:"step"`              // of the run, from 1 on
	Stage   string    `json:"stage"`             // its name
	Group   int       `json:"group"`             // as in completions.jsonl
	Sample  int       `json:"sample"`            // likewise
	Prompt  []int     `json:"prompt_ids"`        // tokens of the prompt
	IDs     []int     `json:"ids"`               // [token] that the policy wrote, end token included
	Read    []Read    `json:"read,omitempty"`    // what it read between its turns, in their order
	Text    []string  `json:"text"`              // [token] by itself: a part of a character is U+FFFD
	Logprob []float32 `json:"logprob"`           // [token] nats, as sampled
	Entropy []float32 `json:"entropy"`           // [token] nats, of the distribution it was drawn from
	Weight  []float32 `json:"weight"`            // [token] dLoss/dlogprob; below 0: made more likely; null: left out of the step's updates
	Clipped []int     `json:"clipped,omitempty"` // tokens, from 0, that have an advantage and no weight, but for those that another completion of the tree learned

	Parts map[string][]*float64 `json:"parts,omitempty"` // parts that the recipe writes, in the update that the completion was in: [token], or one value where a part has one for the completion; null: none
}

// Read is what the policy read in an episode before it went on.
type Read struct {
	Before int    `json:"before"`          // place in the ids of the token that follows
	IDs    []int  `json:"ids"`             // its tokens
	Text   string `json:"text"`            // the same as text
	Fresh  bool   `json:"fresh,omitempty"` // they are the whole context: nothing that stands before them is read any more
}

// Evaluation is a line of EvaluationsFile: the first sample of one of the first held-out
// problems.
type Evaluation struct {
	Step    int    `json:"step"`       // of the run after which it was measured
	Stage   string `json:"stage"`      // the stage's name
	Prompt  string `json:"prompt"`     // the problem's text
	Text    string `json:"completion"` // what the policy wrote
	Verdict string `json:"verdict"`    // of the task
	Reason  string `json:"reason"`     // of the verdict

	Context map[string]json.RawMessage `json:"context,omitempty"` // as in Completion
	Turns   []Turn                     `json:"turns,omitempty"`   // likewise
}

// HeldOut is a line of HeldOutFile: the result of each held-out problem of an evaluation. The order
// of problems is the same in every run with the same task.
type HeldOut struct {
	Step     int       `json:"step"`     // of the run after which it was measured
	Stage    string    `json:"stage"`    // the stage's name
	Samples  int       `json:"samples"`  // of each problem
	Problems []Outcome `json:"problems"` // in an order that every run with the task has
}

// Outcome is the result of one problem. Completions that were not scored are left out.
type Outcome struct {
	Scored int     `json:"scored"`           // completions with a verdict
	Right  int     `json:"right"`            // of them
	Score  float64 `json:"score"`            // sum over them
	Voted  bool    `json:"voted,omitempty"`  // their answers were counted
	Elects bool    `json:"elects,omitempty"` // the commonest of them is right
}

// Update is a line of UpdatesFile: one update of the weights, of several in a step.
type Update struct {
	Step     int     `json:"step"`      // of the run, from 1 on
	Stage    string  `json:"stage"`     // its name
	Update   int     `json:"update"`    // of the step, from 1 on
	Groups   []int   `json:"groups"`    // with a completion in it, in the order of training; replayed ones are numbered after those of CompletionsFile
	Tokens   int     `json:"tokens"`    // trained
	Loss     float64 `json:"loss"`      // that was minimised
	GradNorm float64 `json:"grad_norm"` // before it is clipped
}

// Schedule is a line of ScheduleFile: the groups that a step learned from, in the order of the
// step.
type Schedule struct {
	Step   int       `json:"step"`   // of the run, from 1 on
	Stage  string    `json:"stage"`  // its name
	Groups []Arrived `json:"groups"` // in the order of the step
}

// Arrived is a group that a step learned from.
type Arrived struct {
	Step    int `json:"step"`    // whose prompt it has: of the run, from 1 on
	Prompt  int `json:"prompt"`  // its place there, from 0 on
	Version int `json:"version"` // of the weights that drew it: updates since the run began
}

// Judgement is a line of JudgementsFile: what a judge said to a question about a completion of
// CompletionsFile, which has the same step, group and sample.
type Judgement struct {
	Step     int    `json:"step"`     // of the run, from 1 on
	Stage    string `json:"stage"`    // its name
	Group    int    `json:"group"`    // as in completions.jsonl
	Sample   int    `json:"sample"`   // likewise
	Verifier string `json:"verifier"` // that asked; "task" for the task's own
	verify.Opinion
}

// Writer writes the lines of one log.
type Writer[L any] struct{ append func(v any) error }

// NewWriter writes each line with append, such as the Append of a store.Log.
func NewWriter[L any](append func(v any) error) Writer[L] { return Writer[L]{append} }

// Append writes a line.
func (w Writer[L]) Append(line L) error { return w.append(line) }
