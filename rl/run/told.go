package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify/judge"
)

// asksOf is by what the line of a judge is known: an answer by its question and vote, wherever it is asked, and a
// fault by these and the completion, as another one may have more luck.
func asksOf(line record.Call) record.Call {
	key := record.Call{}
	if line.Fault != "" {
		key = placeOf(line)
	}
	key.Number, key.Tool, key.Args = line.Number, line.Tool, line.Args
	return key
}

// lacksAnswer says whether a call was not run, or a judge did not answer. That a server takes no such question is no
// answer either: it may be mended.
func lacksAnswer(line record.Call) bool {
	if _, judges := line.Judge(); !judges {
		return line.Fault != ""
	}
	said, err := saidBy(line)
	return err == nil && said.Fault != ""
}

// spoken is the answer of a judge's line.
type spoken struct {
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
	Ended  bool   `json:"ended"`

	Refused string `json:"refused,omitempty"` // why such a question is not taken
}

// Said implements [panel.Journal].
func (c *calls) Said(model string, q panel.Query, vote int, by random.Key, ask func() (judge.Said, error)) (judge.Said, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return judge.Said{}, err
	}
	sum := sha256.Sum256(text)
	line := record.Call{Purpose: int(by.Purpose), Stage: by.Stage, Step: by.Step, Stream: by.Stream, Number: vote, Tool: record.JudgeTool + model, Args: hex.EncodeToString(sum[:])}
	asked := line
	c.mu.Lock()
	known, there := c.toldOf(asked)
	c.mu.Unlock()
	if there {
		return saidBy(known)
	}
	if c.only != "" {
		return judge.Said{}, fmt.Errorf("%w of run %s has no answer of %s to question %.12s", world.ErrJournal, c.only, model, line.Args)
	}
	said, err := ask()
	if err != nil {
		return said, err
	}
	answer := spoken{Text: said.Text, Tokens: said.Tokens, Ended: said.Ended}
	if line.Fault = said.Fault; said.Refused { // wherever it is asked
		line.Fault, answer.Refused = "", said.Fault
	}
	if line.Fault == "" {
		if text, err = json.Marshal(answer); err != nil {
			return said, err
		}
		line.Answer = string(text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, there := c.toldOf(asked); there { // by who asked meanwhile
		return saidBy(known)
	}
	if err := c.append(&line, false); err != nil {
		return said, err
	}
	c.told[asksOf(line)] = line
	return said, nil
}

// toldOf is what is known of a judge's line without its answer: first that there was none here. c.mu is
// held.
func (c *calls) toldOf(line record.Call) (known record.Call, there bool) {
	fault := line
	fault.Fault = "some"
	if known, there = c.told[asksOf(fault)]; !there {
		known, there = c.told[asksOf(line)]
	}
	return known, there
}

// saidBy is what the line of a judge says.
func saidBy(line record.Call) (judge.Said, error) {
	if line.Fault != "" {
		return judge.Said{Fault: line.Fault}, nil
	}
	var a spoken
	if err := json.Unmarshal([]byte(line.Answer), &a); err != nil {
		return judge.Said{}, fmt.Errorf("%w has an answer that is none: %w", world.ErrJournal, err)
	}
	return judge.Said{Text: a.Text, Tokens: a.Tokens, Ended: a.Ended, Fault: a.Refused, Refused: a.Refused != ""}, nil
}
