package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/world"
)

// calls is the journal of a run: what tools answered that are not pure, and judges behind addresses. A line stands in its log
// before its answer is used. It stays where the run goes back to a checkpoint: the steps that are done
// again are told the same, and nothing is called twice that has an effect.
//
// Its lines are in the order in which calls were answered, which is another in every run. When the run
// ends they are put into that of the calls.
type calls struct {
	mu    sync.Mutex
	log   *store.Log
	sum   string                      // of the last line
	known map[record.Call]record.Call // what earlier processes wrote, by place: an answer, or an intent without one
	told  map[record.Call]record.Call // what judges answered, by question, and that they did not, by question and place
	only  string                      // run that is repeated without its tools; "": tools are called
}

// placeOf is where a call stands in the run: a line without what it says.
func placeOf(c record.Call) record.Call {
	return record.Call{Purpose: c.Purpose, Stage: c.Stage, Step: c.Step, Stream: c.Stream, Greedy: c.Greedy, Turn: c.Turn, Number: c.Number}
}

// comesAt says whether a line may be of a position or what comes after it. No line that is has a smaller step.
func comesAt(line record.Call, from train.Position) bool {
	return line.Stage > from.Stage || line.Stage == from.Stage && line.Step >= from.Step
}

// open reads what a run folder has of calls, from a position on, and opens the log.
func (c *calls) open(folder *store.Run, from train.Position) (err error) {
	c.known, c.told = map[record.Call]record.Call{}, map[record.Call]record.Call{}
	file := filepath.Join(folder.Dir(), record.CallsFile)
	c.sum, err = record.EachCall(file, func(line record.Call) error {
		if _, judges := line.Judge(); judges {
			c.told[asksOf(line)] = line
		} else if comesAt(line, from) {
			c.known[placeOf(line)] = line
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return asWritten(err)
	}
	c.log, err = folder.Journal(record.CallsFile)
	return err
}

// forget leaves lines out of the journal of a run. outdated is told of each with all of them.
func forget(folder *store.Run, outdated func(all []record.Call) (func(record.Call) bool, error)) error {
	all, err := allCalls(filepath.Join(folder.Dir(), record.CallsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	leave, err := outdated(all)
	if err != nil {
		return err
	}
	n := len(all)
	if all = slices.DeleteFunc(all, leave); len(all) == n {
		return nil
	}
	text, err := record.CallsText(all)
	if err != nil {
		return err
	}
	return folder.WriteFile(record.CallsFile, text)
}

// allCalls are the lines of a journal.
func allCalls(file string) (all []record.Call, err error) {
	if _, err = record.EachCall(file, func(line record.Call) error { all = append(all, line); return nil }); err != nil {
		return nil, asWritten(err)
	}
	return all, nil
}

// asWritten is the error of a journal that is not as it was written.
func asWritten(err error) error {
	return hint.With(fmt.Errorf("%w: %w", lines.ErrInput, err), "put the file back as it was: without it calls would be made twice")
}

// close closes the log.
func (c *calls) close() {
	if c.log != nil {
		c.log.Close()
	}
}

// sync makes durable what was answered so far: a checkpoint stands on it.
func (c *calls) sync() error {
	if c.log == nil {
		return nil
	}
	c.mu.Lock() // calls of steps that are drawn ahead may be answered just now
	defer c.mu.Unlock()
	return c.log.Sync()
}

// settle puts the lines of a run that ends into the order of the calls.
func (c *calls) settle(folder *store.Run) error {
	if c.log == nil {
		return nil
	}
	c.mu.Lock()
	err := c.log.Close()
	c.mu.Unlock()
	if err != nil {
		return err
	}
	text, err := sorted(filepath.Join(folder.Dir(), record.CallsFile))
	if err != nil {
		return err
	}
	return folder.WriteFile(record.CallsFile, text)
}

// sorted is the text of a journal with its lines in the order of the calls.
func sorted(file string) ([]byte, error) {
	all, err := allCalls(file)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, record.Call.Compare)
	return record.CallsText(all)
}

// of is the journal of the episode of a key.
func (c *calls) of(key random.Key, greedy bool) world.Journal {
	return &episodeCalls{calls: c, place: record.Call{Purpose: int(key.Purpose), Stage: key.Stage, Step: key.Step, Stream: key.Stream, Greedy: greedy}, own: map[record.Call]record.Call{}}
}

// episodeCalls is the part of the journal that is about one episode.
type episodeCalls struct {
	*calls
	place record.Call
	own   map[record.Call]record.Call // what this process wrote
}

// asked is a call as a line without what it says, and where that stands.
func (e *episodeCalls) asked(a world.Asked) (place, line record.Call) {
	sum := sha256.Sum256(a.Args)
	line = e.place
	line.Turn, line.Number = a.Turn, a.Number
	place = line
	line.Tool, line.Args = a.Tool, hex.EncodeToString(sum[:])
	return place, line
}

// Knows implements [world.Journal].
func (e *episodeCalls) Knows(a world.Asked) bool {
	_, there, err := e.find(e.asked(a))
	return there || err != nil || e.only != ""
}

// Answer implements [world.Journal].
func (e *episodeCalls) Answer(a world.Asked, call func() (world.Answer, error)) (world.Answer, error) {
	place, line := e.asked(a)
	if known, there, err := e.find(place, line); there || err != nil {
		return said(known, err)
	}
	if e.only != "" {
		return world.Answer{}, fmt.Errorf("%w of run %s has no answer to call %d of turn %d, of %s", world.ErrJournal, e.only, a.Number, a.Turn, a.Tool)
	}
	if a.Effects {
		intent := line
		intent.Intent = true
		if err := e.write(place, intent, true); err != nil {
			return world.Answer{}, err
		}
	}
	answer, err := call()
	if err != nil {
		return answer, err
	}
	line.Answer, line.Failed = answer.Text, answer.Failed
	if err := e.write(place, line, a.Effects); err != nil {
		return world.Answer{}, err
	}
	known, _, err := e.find(place, line)
	return said(known, err)
}

// Fault implements [world.Journal].
func (e *episodeCalls) Fault(turn int) (why error, known bool) {
	place := e.place
	place.Turn = turn
	e.mu.Lock()
	defer e.mu.Unlock()
	line, known := e.own[place]
	if !known {
		line, known = e.known[place]
	}
	if !known || line.Refused {
		return nil, known
	}
	return world.KnownFault(line.Tool, line.Fault), true
}

// Failed implements [world.Journal].
func (e *episodeCalls) Failed(turn int, why error) error {
	if e.log == nil { // no tool needs a journal
		return nil
	}
	line := e.place
	line.Turn = turn
	place := line
	if line.Refused = why == nil; why != nil {
		line.Fault = why.Error()
	}
	if tool := (*world.ToolError)(nil); errors.As(why, &tool) {
		line.Tool = tool.Tool
	}
	return e.write(place, line, false)
}

// find is what is known of a call.
func (e *episodeCalls) find(place, line record.Call) (known record.Call, there bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, there = e.own[place]; !there {
		known, there = e.known[place]
	}
	if there && (known.Tool != line.Tool || known.Args != line.Args) {
		err = fmt.Errorf("%w has another call in this place: the run does not repeat what it did. Stage %d, step %d, episode %d, turn %d, call %d: %s with arguments %.12s, and the journal has %s with %.12s",
			world.ErrJournal, line.Stage, line.Step, line.Stream, line.Turn, line.Number, line.Tool, line.Args, known.Tool, known.Args)
	}
	return known, there, err
}

// said is the answer of what is known.
func said(known record.Call, err error) (world.Answer, error) {
	if err == nil && known.Intent {
		err = world.ErrOnce
	}
	if err != nil {
		return world.Answer{}, err
	}
	return world.Answer{Text: known.Answer, Failed: known.Failed}, nil
}

// write appends a line, unless an answer is there. synced makes it durable.
func (e *episodeCalls) write(place, line record.Call, synced bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, there := e.own[place]; there && !known.Intent { // a call that took too long has come back since
		return nil
	}
	place.Number = 0
	if _, failed := e.own[place]; failed { // or has come back too late for its turn
		return nil
	}
	place.Number = line.Number
	if err := e.append(&line, synced); err != nil {
		return err
	}
	e.own[place] = line
	return nil
}

// append writes a line, which gets its sum.
func (c *calls) append(line *record.Call, synced bool) (err error) {
	if *line, err = line.Chained(c.sum); err == nil {
		err = c.log.Append(*line)
	}
	if err == nil && synced {
		err = c.log.Sync()
	}
	if err != nil {
		return fmt.Errorf("%w cannot be written: %w", world.ErrJournal, err)
	}
	c.sum = line.Sum
	return nil
}

// openCalls opens the journal, if the task has tools, or the run judges, that need one.
func (o *opening) openCalls() error {
	if !o.parts.Recipe.Remembers() {
		return nil
	}
	switch {
	case o.Replay != "":
		o.calls.only = o.Replay
	case Repeats(o.Dir):
		o.calls.only = o.Dir
	}
	if err := forget(o.folder, o.outdated); err != nil {
		return err
	}
	return o.calls.open(o.folder, o.run.state.At)
}

// outdated says which lines a run that is resumed does not go by.
func (o *opening) outdated(all []record.Call) (func(record.Call) bool, error) {
	at := o.run.state.At
	// sinceCheckpoint says whether a call was made after the checkpoint, which has the steps that are drawn ahead.
	sinceCheckpoint := func(c record.Call) bool {
		if c.Stage == at.Stage && ofAttack(c) { // which are tried as a stage begins
			return !o.run.state.Began
		}
		_, past := o.moment(c)
		return c.Stage > at.Stage || c.Stage == at.Stage && past >= 2*at.Step
	}
	if o.run.longer != nil && slices.ContainsFunc(o.run.longer.changes, func(c recipe.Change) bool { return lengthOf(o.parts.Recipe, c.Key) == at.Stage }) {
		// Another length may mean another learning rate, and so other calls.
		for _, line := range all {
			if line.Intent && line.Step != train.AfterStage && sinceCheckpoint(line) {
				return nil, hint.With(fmt.Errorf("%w: run %s has called %s, which has effects, after its last checkpoint, so that it cannot go on with another length there", lines.ErrInput, o.Dir, line.Tool),
					"resume it as it is until its next checkpoint: rlzero train --resume --run %s", terminal.ShellWord(o.Dir))
			}
		}
		return sinceCheckpoint, nil
	}
	if o.calls.only != "" {
		return func(record.Call) bool { return false }, nil
	}
	stage, newest := 0, math.MinInt // the last moment that is known to be past
	for _, line := range all {
		if line.Stage > stage {
			stage, newest = line.Stage, math.MinInt
		}
		if _, past := o.moment(line); line.Stage == stage {
			newest = max(newest, past)
		}
	}
	return func(line record.Call) bool { // what had no answer may have one now, unless something stands on it
		if !lacksAnswer(line) || !sinceCheckpoint(line) {
			return false
		}
		moment, _ := o.moment(line)
		return ofAttack(line) || line.Stage == stage && moment >= newest
	}, nil
}

// ofAttack says whether a call asks a judge about an attack, which nobody drew.
func ofAttack(c record.Call) bool {
	_, judges := c.Judge()
	return judges && c.Purpose == int(random.Judge)
}

// moment is where in its stage a call stands: 2n before the update of step n, 2n+1 after it. past is the
// last moment before it that is over by then: with a lag, steps are drawn ahead of updates.
func (o *opening) moment(c record.Call) (moment, past int) {
	if c.Step == train.AfterStage {
		return math.MaxInt, math.MaxInt
	}
	step, after := train.StepOf(random.Purpose(c.Purpose), c.Step)
	if after {
		return 2*step + 1, 2*step + 1
	}
	lag := 0
	if c.Stage < len(o.parts.Recipe.Stages) {
		lag = o.parts.Recipe.Stages[c.Stage].Lag
	}
	return 2 * step, 2 * max(0, step-lag)
}

// copyCalls begins the journal as that of the run that is repeated.
func (o *opening) copyCalls(from string) error {
	text, err := sorted(filepath.Join(from, record.CallsFile))
	if err == nil {
		err = o.folder.WriteFile(record.CallsFile, text)
	}
	return err
}
