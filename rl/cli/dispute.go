package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/bus"
	"github.com/rlzero/rlzero/rl/fleet/verdict"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/verify"
)

// disputesDir is the folder of a run that keeps the results for which workers were
// refused: ITEM-WORKER.json for each, and DIGEST.safetensors for the weights.
const disputesDir = "disputes"

// maxDispute is the size of the largest ITEM.json that is read, maxWeights that of its
// weights.
const (
	maxDispute = 1 << 30
	maxWeights = 1 << 40
)

// disputeLine is a disputed item as a file.
type disputeLine struct {
	Worker  string          `json:"worker"`
	Why     string          `json:"why"`
	Trainer bus.Card        `json:"trainer"`
	Card    *bus.Card       `json:"worker_card,omitempty"` // of a worker of another machine
	Item    []byte          `json:"item"`                  // base64, as all bytes here
	Answer  []byte          `json:"answer"`
	Right   []byte          `json:"right"`             // null: the answer is malformed
	Spec    json.RawMessage `json:"spec,omitempty"`    // of the model, where the item is to be drawn
	Weights string          `json:"weights,omitempty"` // file beside this one, likewise
}

// save writes a disputed item into the run folder.
func (w *workers) save(d fleet.Dispute, spec []byte, note func(string)) error {
	line := disputeLine{Worker: d.Worker, Why: d.Why, Trainer: w.own, Item: d.Asked, Answer: d.Answer, Right: d.Right}
	if d.Asked == nil {
		line.Item, line.Spec, line.Weights = d.Item.Encode(), spec, hex.EncodeToString(d.Item.Weights[:8])+".safetensors"
	}
	if w.hub != nil {
		line.Card = w.hub.CardOf(d.Worker)
	}
	text, err := json.MarshalIndent(line, "", "  ")
	if err != nil {
		return err
	}
	// Several workers may be refused for one item: the canary is the same for all.
	by := sha256.Sum256(append([]byte(d.Worker+"\x00"), d.Answer...))
	id := sha256.Sum256(line.Item)
	name := fmt.Sprintf("%s/%x-%x.json", disputesDir, id[:8], by[:4])
	if line.Weights != "" {
		err = store.WriteBeside(store.OS(), w.dir, disputesDir+"/"+line.Weights, d.Weights)
	}
	if err == nil {
		err = store.WriteBeside(store.OS(), w.dir, name, append(text, '\n'))
	}
	if err != nil {
		return err
	}
	note("to compute the disputed item again, here or elsewhere: rlzero worker --item " + terminal.ShellWord(filepath.Join(w.dir, filepath.FromSlash(name))))
	return nil
}

// workersFile is the file of a run that keeps what it found out of its workers.
const workersFile = "workers.json"

// workersLine is that file.
type workersLine struct {
	Trusted map[string]int    `json:"trusted"` // version of the first weights by which a worker answered what nobody checked
	Refused map[string]string `json:"refused"` // workers of other machines, and why
}

// recall reads what an earlier part of the run found out of its workers, and keeps it up to
// date. A device of this machine that was refused is tried again.
func (w *workers) recall() error {
	var known workersLine
	file := filepath.Join(w.dir, workersFile)
	text, err := files.Read(file, maxDispute)
	if err == nil {
		err = json.Unmarshal(text, &known)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", lines.ErrInput, file, err)
	}
	if w.options.Trusted = known.Trusted; w.hub != nil {
		w.options.Refused = known.Refused
	}
	w.options.Remember = func(trusted map[string]int, refused map[string]string) error {
		if w.hub == nil { // those of other machines stay refused
			refused = known.Refused
		}
		text, err := json.MarshalIndent(workersLine{trusted, refused}, "", "  ")
		if err != nil {
			return err
		}
		return store.WriteBeside(store.OS(), w.dir, workersFile, append(text, '\n'))
	}
	return nil
}

// repeatItem draws a disputed item on a device of this machine and tells whose answer that
// is.
func repeatItem(c *cli.Context, file string) error {
	var d disputeLine
	text, err := files.Read(file, maxDispute)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if _, verdicts := verdict.Release(d.Item); err == nil && verdicts {
		return d.judgeAgain(c, file)
	}
	var item fleet.Item
	if err == nil {
		item, err = fleet.DecodeItem(d.Item)
	}
	if err == nil && d.Weights != filepath.Base(d.Weights) {
		err = fmt.Errorf("weights is %q; accepted: the name of a file beside this one", d.Weights)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", lines.ErrInput, file, err)
	}
	weights, err := files.Read(filepath.Join(filepath.Dir(file), d.Weights), maxWeights)
	if err == nil && item.Weights != fleet.Digest(sha256.Sum256(weights)) {
		err = fmt.Errorf("%s is not the file with which the item was drawn: its SHA-256 differs", d.Weights)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	dev, err := openDevice(c)
	if err != nil {
		return err
	}
	defer dev.Close()
	engine, err := openCopy(d.Spec, c.String("model"), dev)
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := engine.Load(weights); err != nil {
		return err
	}
	ctx, done := interruptible(c)
	defer done()
	drawn, err := fleet.Draw(ctx, item, engine)
	if err != nil {
		return err
	}
	d.show(c, item.ID().String(), cardOf(dev.Caps()))
	return d.compare(c, item, drawn)
}

// show tells why an item is disputed, and what the machines are.
func (d *disputeLine) show(c *cli.Context, id string, own bus.Card) {
	fmt.Fprintf(c.App.Writer, "item %s: %s\n", id, terminal.Message(d.Why))
	for _, who := range []struct {
		name string
		card *bus.Card
	}{{"trainer", &d.Trainer}, {"worker " + d.Worker, d.Card}, {"here", &own}} {
		if who.card != nil {
			fmt.Fprintf(c.App.Writer, "%s: rlzero %s, %s, %s\n", terminal.Message(who.name), terminal.Message(who.card.Release), terminal.Message(who.card.System), terminal.Message(who.card.Arithmetic))
		}
	}
}

// errOtherVerdict: a disputed verdict is another here than the trainer's.
var errOtherVerdict = errors.New("the verdicts computed here differ from the trainer's")

// judgeAgain judges a disputed item on this machine and tells whose verdicts it comes to.
func (d *disputeLine) judgeAgain(c *cli.Context, file string) error {
	item, err := verdict.Decode(d.Item)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", lines.ErrInput, file, err)
	}
	ctx, done := interruptible(c)
	defer done()
	here := item.Judge(ctx)
	own := bus.Card{Release: Version, System: system}
	own.Verifies, own.Lacks = verdict.Engines()
	own.Arithmetic = cmp.Or(own.Verifies[item.Engine.Verifier], own.Lacks[item.Engine.Verifier])
	id := sha256.Sum256(d.Item)
	d.show(c, hex.EncodeToString(id[:8]), own)
	sure := slices.DeleteFunc(slices.Clone(here), func(v *verify.Verdict) bool { return v == nil })
	if len(sure) == 0 {
		return fmt.Errorf("nothing can be judged here: the item asks for %s, this machine has %s, and no program ended within its limits of time and memory", terminal.Message(item.Engine.Release), cmp.Or(terminal.Message(own.Arithmetic), "no such engine"))
	}
	equal := true
	for _, who := range []struct {
		name   string
		answer []byte
	}{{"the worker", d.Answer}, {"the trainer", d.Right}} {
		if who.answer == nil {
			continue
		}
		compared := 0
		all, err := item.Read(who.answer)
		found := ""
		if err != nil {
			found = fmt.Sprintf("a malformed answer: %v", err)
		}
		for k, v := range all {
			if v == nil || here[k] == nil {
				continue
			}
			compared++
			if !v.Agrees(*here[k]) {
				found = fmt.Sprintf("completion %d is %s with score %v, and here %s with %v", k+1, v.Verdict, v.Score, here[k].Verdict, here[k].Score)
				equal = equal && who.name == "the worker"
				break
			}
		}
		found = cmp.Or(found, fmt.Sprintf("the same verdicts as here, in the %d of %d where neither met a limit", compared, len(here)))
		fmt.Fprintf(c.App.Writer, "%s judged: %s\n", who.name, found)
	}
	if !equal {
		return errOtherVerdict
	}
	return nil
}

// errOtherDraw: a disputed item is drawn otherwise here than by the trainer.
var errOtherDraw = errors.New("the completions drawn here are not the trainer's")

// compare holds what is drawn here against both answers of a dispute.
func (d *disputeLine) compare(c *cli.Context, item fleet.Item, here fleet.Result) error {
	tell := func(who string, answer []byte) (equal bool) {
		found := "the same completions as here, to the bit"
		r, err := item.Decode(answer, math.MaxInt32)
		if err != nil {
			found = fmt.Sprintf("a malformed result: %v", err)
		} else if differs := r.Differs(here); differs != "" {
			found = differs + " from what is drawn here"
		} else {
			equal = true
		}
		fmt.Fprintf(c.App.Writer, "%s drew: %s\n", who, found)
		return equal
	}
	tell("the worker", d.Answer)
	if d.Right != nil && !tell("the trainer", d.Right) {
		return errOtherDraw
	}
	return nil
}
