package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Task is a family of problems at one difficulty. The implementations are
// pointers to structs whose fields are the settings (toml tags; default, unit
// and range beside each); [New] makes one with its defaults.
type Task interface {
	// Name is the family's name, such as "countdown".
	Name() string
	// Validate returns a *settings.Error for each setting that is not accepted,
	// joined. The other methods need settings that passed.
	Validate() error
	// Difficulty says in one sentence what the problems are under the present
	// settings.
	Difficulty() string
	// Draw is a random problem of a split.
	Draw(r *random.Rand, split Split) verify.Problem
	// Verify judges a completion without <eos>; ended tells that it ended in
	// <eos> rather than at a length limit.
	Verify(row verify.Problem, completion string, ended bool) verify.Verdict

	instruction() string // the system message of Chat
}

// Demonstrator is a Task over a fixed vocabulary that can show how an answer looks: a
// model can learn it from random weights.
type Demonstrator interface {
	Task
	// Demonstration is a completion to imitate, without <eos>, for a row that
	// Draw returned; the error is for any other row. It has the right form
	// (Valid); the settings say how often it is right.
	Demonstration(r *random.Rand, row verify.Problem) (string, error)
	// Valid tells whether a completion has the form of an answer, with right
	// calculations, whatever its result.
	Valid(row verify.Problem, completion string, ended bool) bool
	// Vocabulary lists the tokens of every prompt and demonstration in a fixed
	// order; a token's place is its id. It begins with "<pad>", "<eos>".
	Vocabulary() []string
	// PromptTokens is the length in tokens of the longest prompt. Shorter ones are only in a mixture, and in
	// countdown_search with fewest. CompletionTokens is that of the longest demonstration with its <eos>.
	PromptTokens() int
	CompletionTokens() int
}

// Episodic is a Task whose problems are episodes of several turns. Its world judges them while
// they are played. Verify sees a completion alone, an episode of one turn: it is wrong where no one turn
// can be right.
type Episodic interface {
	Task
	world.World
	world.Players
	// Turns are those that an episode has at most.
	Turns() int
	// TurnFacts are the names of [world.Reply.Facts], in order. Every reply has all of them, or none.
	TurnFacts() []string
	// EpisodeTokens is the length in tokens of the longest valid episode of a [Demonstrator], without
	// its prompt: turns with their end tokens, and replies. PromptTokens is that of what stands before
	// the first turn, and CompletionTokens that of one turn.
	EpisodeTokens() int
}

// Family is a registered kind of task.
type Family struct {
	Name    string
	Summary string      // one line
	Doc     string      // problem, settings and rules, for "rlzero tasks show NAME"
	New     func() Task // with default settings
	// Curriculum are the ways to make the problems harder; nil: the settings have
	// no order.
	Curriculum []Attribute

	at func(level int) Task // see Level; nil without a curriculum
}

// Level is the family's task with every attribute of its curriculum at a level,
// counted from 0; attributes with fewer levels stay at their last. Without a
// curriculum it is the task with default settings.
func (f Family) Level(level int) Task {
	if f.at == nil {
		return f.New()
	}
	return f.at(level)
}

var families = map[string]Family{}

// register adds a family and its verifier "task:NAME". Called from init.
func register(f Family, verifier verify.Entry) {
	families[f.Name] = f
	verifier.Name = "task:" + f.Name
	verify.Register(verifier)
}

// Families are all kinds of tasks, ordered by name.
func Families() []Family {
	var all []Family
	for _, name := range slices.Sorted(maps.Keys(families)) {
		all = append(all, families[name])
	}
	return all
}

// Worlds are the families whose problems are played in turns, ordered by name.
func Worlds() []Family {
	return slices.DeleteFunc(Families(), func(f Family) bool {
		_, played := f.New().(Episodic)
		return !played
	})
}

// Lookup finds a family by name; the error's hint has the nearest name.
func Lookup(name string) (Family, error) {
	f, ok := families[name]
	if !ok {
		return f, hint.Unknown("task", name, slices.Sorted(maps.Keys(families)), "rlzero tasks")
	}
	return f, nil
}

// New is the named task with its default settings.
func New(name string) (Task, error) {
	f, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	return f.New(), nil
}

// Split is a part of all problems.
type Split int

const (
	Train   Split = iota // 15 of 16 problems
	HeldOut              // the others, for evaluation only
)

// String is "train" or "held-out".
func (s Split) String() string {
	if s == HeldOut {
		return "held-out"
	}
	return "train"
}

// heldOutShare: one problem in so many is held out.
const heldOutShare = 16

// SplitOf is the split of the problem with this canonical form.
func SplitOf(id string) Split {
	if crc32.ChecksumIEEE([]byte(id))%heldOutShare == 0 {
		return HeldOut
	}
	return Train
}

// HeldOutSeed is the seed of the test set.
const HeldOutSeed = 12345

// The streams of this package's own draws, which are none of a run's (see
// package rl). A run may use the same seed: its training draws cannot meet the
// held-out problems all the same.
const (
	streamHeldOut  = 0
	streamSample   = 1
	streamProbe    = 2
	streamTrain    = 3
	streamConstant = 4
)

// drawer is what problems are drawn from: a Task, or the lines of a file.
type drawer interface {
	Name() string
	Draw(r *random.Rand, split Split) verify.Problem
}

// HeldOutRows is the test set: the first n different held-out problems of one
// fixed seed, so that the first rows of a bigger set are the smaller set. The
// error says that the settings have fewer.
func HeldOutRows(t drawer, n int) ([]verify.Problem, error) { return Rows(t, HeldOut, HeldOutSeed, n) }

// Rows are the first n different problems of a split and a seed. The error says
// that the settings have fewer.
func Rows(t drawer, split Split, seed uint64, n int) ([]verify.Problem, error) {
	stream := uint64(streamTrain)
	if split == HeldOut {
		stream = streamHeldOut
	}
	// One problem left among m equally likely ones is drawn once in m draws. They
	// are not equally likely, hence the generous factor.
	const patience = 20
	seen := map[string]bool{}
	var rows []verify.Problem
	for i, last := 0, 0; len(rows) < n; i++ {
		if i-last > patience*len(rows)+10_000 {
			return nil, hint.With(fmt.Errorf("task %s has only %d different %s problems with these settings, but %d are asked for", t.Name(), len(rows), split, n), moreProblems)
		}
		row := t.Draw(random.At(seed, stream, uint64(i)), split)
		if !seen[row.ID] {
			seen[row.ID], last = true, i
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Samples are n training rows for "rlzero tasks show NAME", each with a
// demonstration; a task that is no [Demonstrator] shows the reference answer.
func Samples(t Task, n int) (rows []verify.Problem, demonstrations []string, err error) {
	demonstrator, _ := t.(Demonstrator)
	for i := range n {
		r := random.At(HeldOutSeed, streamSample, uint64(i))
		row := t.Draw(r, Train)
		demonstration := row.Answer
		if demonstrator != nil {
			if demonstration, err = demonstrator.Demonstration(r, row); err != nil {
				return nil, nil, err
			}
		}
		rows, demonstrations = append(rows, row), append(demonstrations, demonstration)
	}
	return rows, demonstrations, nil
}

// moreProblems is the hint where settings leave too few problems.
const moreProblems = "allow larger numbers, or more of them"

// maxProbes bounds the draws that prove that settings have problems at all.
const maxProbes = 100_000

// probe returns an error unless attempt, one try at a problem, finds one of each
// split. With that, Draw ends with probability 1 under these settings.
func probe(attempt func(r *random.Rand) (verify.Problem, bool)) error {
	var found [2]bool
	r := random.At(HeldOutSeed, streamProbe, 0)
	for range maxProbes {
		if row, ok := attempt(r); ok {
			if found[SplitOf(row.ID)] = true; found[Train] && found[HeldOut] {
				return nil
			}
		}
	}
	return hint.With(errors.New("these settings leave no training problems or no held-out problems"), moreProblems)
}

// draw tries until a problem of the split comes up.
func draw(r *random.Rand, split Split, attempt func(r *random.Rand) (verify.Problem, bool)) verify.Problem {
	for {
		if row, ok := attempt(r); ok && SplitOf(row.ID) == split {
			return row
		}
	}
}

// vocabulary is the token list of the tasks over whole numbers: <pad>, <eos>,
// the symbols, one token per number 0 to max.
func vocabulary(max int) []string {
	tokens := []string{"<pad>", "<eos>", "+", "-", "=", ">", ":"}
	for n := range max + 1 {
		tokens = append(tokens, strconv.Itoa(n))
	}
	return tokens
}

// Unended is the verdict on a completion that was cut off.
func Unended(completion string) verify.Verdict {
	return verify.Reject(completion, verify.FormRunningTotal, "the completion does not end within its length limit")
}

// taskVerifier is the named verifier with fixed options; of the options given
// only "extract" is accepted.
func taskVerifier(name string, options json.RawMessage, fixed map[string]any) (verify.Verifier, error) {
	var o struct {
		Extract string `toml:"extract"`
	}
	if err := verify.DecodeOptions(options, &o); err != nil {
		return nil, err
	}
	if o.Extract != "" {
		fixed["extract"] = o.Extract
	}
	return verify.New(name, fixed)
}

// metadata builds a row's Metadata; the values are such that JSON cannot fail.
func metadata(values map[string]any) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for key, value := range values {
		raw, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		out[key] = raw
	}
	return out
}
