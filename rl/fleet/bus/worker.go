package bus

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/fleet"
)

// Engine is what a worker computes with.
type Engine interface {
	fleet.Engine
	Close()
}

// Worker is a machine that takes part in runs of others.
type Worker struct {
	Door Door
	Card Card
	Open func(spec []byte) (Engine, error) // makes the engine of a run; not called of one that does not draft
	Note func(string)                      // told what people should know
}

// Work takes part until the context ends, the run has ended (nil) or the trainer refuses
// the worker (fleet.ErrRefused). It waits for a trainer that is not there, and for one
// that was killed.
func (w Worker) Work(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c, err := dial(ctx, w.Door, w.Note)
	if err != nil {
		return err
	}
	defer c.leave()
	if _, err := c.nc.Subscribe(say(c.place.name), func(*nats.Msg) { end(fleet.ErrClosed) }); err != nil {
		return err
	}
	go c.beat(ctx)
	err = w.work(ctx, c)
	if context.Cause(ctx) == fleet.ErrClosed {
		return nil
	}
	return err
}

func (w Worker) work(ctx context.Context, c *client) error {
	card, err := json.Marshal(w.Card)
	if err != nil {
		return err
	}
	var engine Engine
	defer func() {
		if engine != nil {
			engine.Close()
		}
	}()
	var opened fleet.Digest
	for {
		id, err := c.hello(ctx, card)
		if err != nil {
			return err
		}
		if id != opened && !w.Card.Drafts {
			opened = id
			w.note("takes part in the run at %s", c.place.server)
		}
		if id != opened {
			spec, err := c.fetch(ctx, id, maxSpec)
			if errors.Is(err, errStranger) || errors.Is(err, fleet.ErrGone) {
				continue
			}
			if err != nil {
				return err
			}
			if sha256.Sum256(spec) != id {
				return errors.New("the run's spec was damaged on its way")
			}
			if engine != nil {
				engine.Close()
				engine = nil
			}
			if engine, err = w.Open(spec); err != nil {
				return err
			}
			opened = id
			w.note("takes part in the run at %s", c.place.server)
		}
		var draws fleet.Engine
		if engine != nil {
			draws = engine
		}
		if err := fleet.Work(ctx, c, c.name, draws, slices.Collect(maps.Values(w.Card.Verifies))...); !errors.Is(err, errStranger) {
			return err
		}
	}
}

func (w Worker) note(format string, args ...any) {
	if w.Note != nil {
		w.Note(fmt.Sprintf(format, args...))
	}
}

// Who are the workers of the fleet at a server.
func Who(ctx context.Context, d Door) ([]Presence, error) {
	p, err := d.place()
	if err != nil {
		return nil, err
	}
	own, err := nameOf(d.Key)
	if err != nil {
		return nil, err
	}
	nc, err := d.connect(p, own)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, replyWait)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, request(p.name, own, verbWho), nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, hint.With(fmt.Errorf("no trainer is at %s", p.server), "start one with rlzero train --workers")
	}
	if err != nil {
		return nil, err
	}
	body, err := parse(m.Data)
	if err != nil {
		return nil, err
	}
	var list []Presence
	return list, json.Unmarshal(body, &list)
}

// nameOf is what a machine is called: the public half of its key, or of one by chance.
func nameOf(k Key) (string, error) {
	if k.pair == nil {
		var err error
		if k, _, err = NewKey(); err != nil {
			return "", err
		}
	}
	return k.Public(), nil
}

// client is a worker's end of the bus. It is a [fleet.WorkerSide] for one worker.
type client struct {
	nc    *nats.Conn
	place place
	name  string
	tell  func(string)

	held    []byte // weights, as fetched last
	heldID  fleet.Digest
	whole   time.Duration // the last fetch of all bytes took
	changed time.Duration // that of a difference took; 0: none was fetched
	fetched int           // weights

	mu    sync.Mutex
	abort context.CancelFunc // of the request in flight: after a reconnect there will be no reply
	again bool               // the connection was lost: say hello before the next item
}

var _ fleet.WorkerSide = (*client)(nil)

// maxSpec is the size of the largest spec that is read: vocabularies have some 20 MB.
const maxSpec = 256 << 20

// Waits between tries, growing. The last is short: a trainer that goes on with a run may be
// done with it in seconds, and a worker that missed it waits for ever.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = time.Second
)

// dial reaches the server, however long that takes.
func dial(ctx context.Context, d Door, tell func(string)) (*client, error) {
	p, err := d.place()
	if err != nil {
		return nil, err
	}
	c := &client{place: p, tell: tell}
	if c.name, err = nameOf(d.Key); err != nil {
		return nil, err
	}
	err = c.retry(ctx, func() (final bool, err error) {
		c.nc, err = d.connect(p, c.name, nats.ReconnectHandler(func(*nats.Conn) { c.reconnected() }))
		return err == nil || errors.Is(err, ErrShut) || errors.Is(err, errOtherServer), err
	})
	return c, err
}

// retry tries until an outcome is final. What is in the way is told once.
func (c *client) retry(ctx context.Context, try func() (final bool, err error)) error {
	told := c.tell == nil
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		final, err := try()
		if final {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if pause == lastPause && !told {
			told = true
			c.tell(fmt.Sprintf("waits for the trainer at %s: %v", c.place.server, err))
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// inFlight ends the request in flight and names what ends the next one.
func (c *client) inFlight(abort context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abort != nil {
		c.abort()
	}
	c.abort = abort
}

// reconnected ends the request in flight, and lets the worker join anew.
func (c *client) reconnected() {
	c.inFlight(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again = true
}

// joinsAgain says whether the worker has to say hello before its next item.
func (c *client) joinsAgain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.again
	c.again = false
	return again
}

// ask sends a request until there is a reply.
func (c *client) ask(ctx context.Context, verb string, body []byte, wait time.Duration) (out []byte, err error) {
	err = c.retry(ctx, func() (final bool, err error) {
		one, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		c.inFlight(cancel)
		m, err := c.nc.RequestWithContext(one, request(c.place.name, c.name, verb), body)
		if errors.Is(err, nats.ErrConnectionClosed) && ctx.Err() == nil {
			return true, fmt.Errorf("%w: the server at %s no longer accepts the key of this worker", fleet.ErrRefused, c.place.server)
		}
		if err != nil {
			return false, err
		}
		out, err = parse(m.Data)
		return true, err
	})
	return out, err
}

// hello makes the worker known, and learns which spec the run has.
func (c *client) hello(ctx context.Context, card []byte) (id fleet.Digest, err error) {
	err = c.retry(ctx, func() (final bool, err error) {
		out, err := c.ask(ctx, verbHello, card, replyWait)
		if errors.Is(err, errStranger) {
			return false, errors.New("its run has not begun yet")
		}
		if err == nil && len(out) != len(id) {
			err = errors.New("the reply to hello has an unknown form")
		}
		copy(id[:], out)
		return true, err
	})
	return id, err
}

// beat says that the worker is there.
func (c *client) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.nc.Publish(request(c.place.name, c.name, verbBeat), nil) // the next one may arrive
		case <-ctx.Done():
			return
		}
	}
}

// leave gives back what the worker has.
func (c *client) leave() {
	c.nc.Publish(request(c.place.name, c.name, verbLeave), nil)
	c.nc.FlushTimeout(time.Second) // else the trainer finds out by the silence
	c.nc.Close()
}

// Take implements [fleet.WorkerSide]. What the worker does is on its card.
func (c *client) Take(ctx context.Context, _ string, _ ...string) ([]byte, error) {
	for {
		if c.joinsAgain() {
			return nil, errStranger
		}
		item, err := c.ask(ctx, verbTake, nil, takeWait+replyWait)
		if !errors.Is(err, errNothing) {
			return item, err
		}
	}
}

// tryOther is how many weights come the quicker way until the other one is tried again.
const tryOther = 16

// Fetch implements [fleet.WorkerSide]. Weights come as the difference from the last ones where
// the trainer has it, or whole, whichever took less time: over a slow wire bytes count, and
// over a quick one it takes longer to make a difference than to send all.
func (c *client) Fetch(ctx context.Context, want fleet.Digest, most int) ([]byte, error) {
	began, took := time.Now(), &c.changed
	data, err := []byte(nil), fleet.ErrGone
	c.fetched++
	if slower := c.changed > c.whole; slower == (c.fetched%tryOther == 0) {
		data, err = c.fetchDelta(ctx, want, most)
	}
	waited := time.Since(began)
	if errors.Is(err, fleet.ErrGone) {
		began, took = time.Now(), &c.whole
		data, err = c.fetch(ctx, want, most)
	}
	if err == nil {
		if took == &c.whole && c.whole > 0 && waited > c.whole { // for a difference that is none, or no shorter than all
			c.changed = waited + time.Since(began)
		}
		c.held, c.heldID, *took = data, want, time.Since(began)
	}
	return data, err
}

// fetch is what has a digest.
func (c *client) fetch(ctx context.Context, want fleet.Digest, most int) ([]byte, error) {
	var all []byte
	for {
		body, err := c.ask(ctx, verbGet, binary.LittleEndian.AppendUint64(want[:], uint64(len(all))), replyWait)
		if err != nil {
			return nil, err
		}
		total, offset, data, err := decodePart(body)
		if err == nil && total > most {
			err = fmt.Errorf("%d bytes, of which a worker accepts at most %d", total, most)
		}
		if err == nil && offset != len(all) {
			err = fmt.Errorf("a part at %d in place of %d", offset, len(all))
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, data...); len(all) == total {
			return all, nil
		}
	}
}

// Deliver implements [fleet.WorkerSide].
func (c *client) Deliver(ctx context.Context, _ string, result []byte) error {
	for offset := 0; offset < len(result); offset += partBytes {
		if _, err := c.ask(ctx, verbPart, encodePart(result, offset), replyWait); err != nil {
			return err
		}
	}
	return nil
}
