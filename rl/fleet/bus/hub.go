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
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/verdict"
)

// Options say where a hub is and whom it lets in.
type Options struct {
	Listen  string                   // host:port of an embedded server; "": the Door's server is used
	Door    Door                     // its key is the trainer's
	Card    Card                     // of the trainer
	Mode    fleet.Mode               // in mode Draft nothing is verified by workers
	Allowed func() ([]string, error) // public keys of workers, asked every 2 s; nil: there are no keys
	Note    func(string)             // told of workers that come and go; called by several goroutines
}

// Hub is the trainer's end of the bus. It is a [fleet.TrainerSide].
type Hub struct {
	*fleet.Memory
	opt    Options
	nc     *nats.Conn
	server *embedded // nil: it is external
	place  place
	ctx    context.Context // ends with the hub
	stop   context.CancelFunc

	mu     sync.Mutex
	spec   []byte
	specID fleet.Digest
	peers  map[string]*peer
	deltas deltas
	policy fleet.Policy // as it was announced last
}

// peer is a worker that said hello.
type peer struct {
	card    Card
	heard   time.Time
	missed  int    // beats of the trainer since then: while it is stopped, it misses nothing
	item    []byte // in its hands; nil: none
	most    int    // bytes of its result
	partial []byte // what came of the result
	waits   context.CancelFunc
	done    int
	version int // of the weights by which it draws; -1: none yet
}

var _ fleet.TrainerSide = (*Hub)(nil)

// Open starts the embedded server, or reaches an external one. Workers wait until Serve.
func Open(o Options) (*Hub, error) {
	h := &Hub{Memory: fleet.NewMemory(), opt: o, peers: map[string]*peer{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	if err := h.open(); err != nil {
		h.Close()
		return nil, err
	}
	go h.watch()
	return h, nil
}

func (h *Hub) open() (err error) {
	own, err := nameOf(h.opt.Door.Key)
	if err != nil {
		return err
	}
	if h.opt.Listen != "" {
		var allowed []string
		if h.opt.Allowed != nil {
			if allowed, err = h.opt.Allowed(); err != nil {
				return err
			}
		}
		if h.server, err = embed(h.opt.Listen, defaultName, h.opt.Door.Key, allowed); err != nil {
			return err
		}
		h.opt.Door.URL = h.server.url()
	}
	if h.place, err = h.opt.Door.place(); err != nil {
		return err
	}
	if h.server != nil {
		inside := place{server: h.place.server, host: "localhost"} // no socket is between
		h.nc, err = Door{Key: h.opt.Door.Key}.connect(inside, own, nats.InProcessServer(h.server))
	} else if h.nc, err = h.opt.Door.connect(h.place, own); err == nil {
		err = h.alone(own)
	}
	if err != nil {
		return err
	}
	sub, err := h.nc.Subscribe(request(h.place.name, "*", "*"), h.answer)
	if err != nil {
		return err
	}
	if err := sub.SetPendingLimits(-1, pendingBytes); err != nil {
		return err
	}
	return h.nc.Flush()
}

// pendingBytes is how much of requests waits while the hub is busy: a part from each of
// some hundred workers.
const pendingBytes = 128 << 20

// alone makes sure that no other trainer has the fleet's name at a server.
func (h *Hub) alone(own string) error {
	_, err := h.nc.Request(request(h.place.name, own, verbWho), nil, time.Second)
	if err == nil {
		return hint.With(fmt.Errorf("another trainer has the fleet %q at %s", h.place.name, h.place.server), "add a name to the address: %s/NAME", h.place.server)
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) {
		return nil
	}
	return err
}

// URL is what workers are given.
func (h *Hub) URL() string { return h.opt.Door.URL }

// Serve lets the workers of a spec begin. Another spec than before sends all of them
// through hello again.
func (h *Hub) Serve(spec []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spec, h.specID = spec, sha256.Sum256(spec)
	for key, p := range h.peers {
		h.drop(key, p)
	}
}

// Announce implements [fleet.TrainerSide].
func (h *Hub) Announce(ctx context.Context, p fleet.Policy) error {
	h.mu.Lock()
	h.policy = p
	h.deltas.announce(p)
	h.mu.Unlock()
	return h.Memory.Announce(ctx, p)
}

// CardOf is what a worker says of itself, nil if it is not there.
func (h *Hub) CardOf(worker string) *Card {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.peers[worker]; p != nil {
		card := p.card
		return &card
	}
	return nil
}

// Slots is how many workers there are, and have been refused: see [fleet.Options].
func (h *Hub) Slots() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.policy.Refused)
	for key, p := range h.peers {
		if _, refused := h.policy.Refused[key]; !refused && p.card.Drafts {
			n++
		}
	}
	return n
}

// Judges is how many workers judge by an engine: see [fleet.Options].
func (h *Hub) Judges(engine string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for key, p := range h.peers {
		if _, refused := h.policy.Refused[key]; !refused && slices.Contains(slices.Collect(maps.Values(p.card.Verifies)), engine) {
			n++
		}
	}
	return n
}

// End tells all workers that the run has ended, until they have left or are silent: one whose
// connection has just broken hears it once it is back. One that beats and stays is told for
// (goneAfter+2)*beatEvery. Without End they wait for the run to be continued.
func (h *Hub) End() error {
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		if err := h.nc.Publish(say(h.place.name), nil); err != nil {
			return err
		}
		if err := h.nc.FlushTimeout(replyWait); err != nil {
			return err
		}
		if !h.any() || time.Since(began) > (goneAfter+2)*beatEvery {
			return nil
		}
	}
}

// any says whether a worker is there, a refused one too.
func (h *Hub) any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.peers) > 0
}

// Close ends the hub and the embedded server.
func (h *Hub) Close() {
	h.stop()
	h.Memory.Close()
	if h.nc != nil {
		h.nc.Close()
	}
	if h.server != nil {
		h.server.Close()
	}
}

// watch gives up workers that are silent, and looks whether keys are still allowed.
func (h *Hub) watch() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		}
		h.mu.Lock()
		for key, p := range h.peers {
			if p.missed++; p.missed > goneAfter {
				h.drop(key, p)
				h.note("worker %s is silent: others do its work", key)
			}
		}
		h.mu.Unlock()
		if h.server != nil && h.opt.Allowed != nil {
			h.guard()
		}
	}
}

// guard lets in whom the server may let in now.
func (h *Hub) guard() {
	allowed, err := h.opt.Allowed()
	if err != nil {
		h.note("the keys of workers could not be read again, and stay as they were: %v", err)
		return
	}
	h.server.allow(allowed)
}

// drop forgets a worker and offers what it had again. h.mu is held.
func (h *Hub) drop(key string, p *peer) {
	h.giveBack(p)
	if p.waits != nil {
		p.waits()
	}
	delete(h.peers, key)
}

// giveBack offers the item in a worker's hands again. h.mu is held.
func (h *Hub) giveBack(p *peer) {
	if p.item != nil {
		h.Offer(h.ctx, p.item) // it never fails
		p.item, p.partial = nil, nil
	}
}

func (h *Hub) note(format string, args ...any) {
	if h.opt.Note != nil {
		h.opt.Note(fmt.Sprintf(format, args...))
	}
}

// answer answers a request.
func (h *Hub) answer(m *nats.Msg) {
	key, verb := asked(m.Subject)
	if m.Reply != "" && !strings.HasPrefix(m.Reply, inbox(key)+".") {
		return // it asks for a reply to somebody else
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch verb {
	case verbHello:
		h.hello(m, key)
		return
	case verbWho:
		h.who(m)
		return
	}
	p := h.peers[key]
	if p == nil {
		h.reply(m, statusStranger, nil)
		return
	}
	p.heard, p.missed = time.Now(), 0
	switch verb {
	case verbTake:
		h.take(m, key, p)
	case verbPart:
		h.part(m, key, p)
	case verbGet:
		h.get(m)
	case verbDelta:
		h.delta(m, key)
	case verbLeave:
		h.drop(key, p)
		h.note("worker %s leaves", key)
	}
}

// reply answers a request, and tells what cannot be sent, such as a message that is too long. If the
// server is not there, the worker asks again.
func (h *Hub) reply(m *nats.Msg, s status, body []byte) {
	if err := send(m, s, body); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		h.note("an answer of %d bytes to a worker cannot be sent: %v", len(body), err)
	}
}

// send answers a request.
func send(m *nats.Msg, s status, body []byte) error {
	if m.Reply == "" {
		return nil
	}
	return m.Respond(append([]byte{byte(s)}, body...))
}

// maxCard is the size of the largest hello that is read.
const maxCard = 16 << 10

// hello gets to know a worker, or says why it cannot take part. h.mu is held.
func (h *Hub) hello(m *nats.Msg, key string) {
	var card Card
	if len(m.Data) > maxCard || json.Unmarshal(m.Data, &card) != nil {
		h.reply(m, statusBad, []byte("this is not a hello of rlzero"))
		return
	}
	if why := h.unfit(key, card); why != "" {
		h.reply(m, statusRefused, []byte(why))
		return
	}
	if h.spec == nil {
		h.reply(m, statusStranger, nil)
		return
	}
	if old := h.peers[key]; old != nil {
		h.drop(key, old)
	} else {
		h.note("worker %s joins: %s; %s", key, card.Device, card.Offers())
	}
	h.Forget(key) // it may have another device now
	h.peers[key] = &peer{card: card, heard: time.Now(), version: -1}
	h.reply(m, statusOK, h.specID[:])
}

// unfit says why a worker cannot take part; "" if it can. h.mu is held.
func (h *Hub) unfit(key string, c Card) string {
	own := h.opt.Card
	switch why := h.policy.Refused[key]; {
	case why != "":
		return why
	case len(c.does()) == 0:
		return "this worker can neither draft nor verify: this machine has none of the engines that its verifiers need"
	case c.Release != own.Release:
		return fmt.Sprintf("this worker is rlzero %s, and the trainer is rlzero %s: install the trainer's release", c.Release, own.Release)
	case c.Drafts && c.Numerics != own.Numerics:
		return fmt.Sprintf("this worker computes by numerics version %s, and the trainer by %s: start one of them with another --tier", c.Numerics, own.Numerics)
	case h.opt.Mode == fleet.Draft && !c.Drafts:
		return "this worker only verifies, and this trainer only has drafts drawn: start the trainer with --workers-mode exact"
	}
	return ""
}

// take gives an item to a worker once there is one. h.mu is held.
func (h *Hub) take(m *nats.Msg, key string, p *peer) {
	h.giveBack(p) // it did not get it, or does not want it
	if p.waits != nil {
		p.waits()
	}
	ctx, cancel := context.WithTimeout(h.ctx, takeWait)
	p.waits = cancel
	go func() {
		defer cancel()
		data, err := h.Memory.Take(ctx, key, p.card.does()...)
		h.mu.Lock()
		defer h.mu.Unlock()
		switch why := h.policy.Refused[key]; {
		case errors.Is(err, fleet.ErrRefused):
			h.reply(m, statusRefused, []byte(why))
			return
		case err != nil:
			h.reply(m, statusNothing, nil)
			return
		case ctx.Err() != nil: // it is gone, or asks again
			h.Offer(h.ctx, data)
			return
		}
		if p.most, err = mostOf(data); err != nil { // too large for a worker: the fleet computes it when nobody answers
			h.reply(m, statusNothing, nil)
			return
		}
		if _, verdicts := verdict.Release(data); !verdicts {
			p.version = h.policy.Version
		}
		p.item, p.partial = data, nil
		h.reply(m, statusOK, data)
	}()
}

// mostOf is the size of the largest result that an item can have.
func mostOf(data []byte) (int, error) {
	if _, verdicts := verdict.Release(data); verdicts {
		item, err := verdict.Decode(data)
		return item.MaxAnswer(), err
	}
	item, err := fleet.DecodeItem(data)
	return item.MaxResultBytes(), err
}

// part takes a part of the result of the item that a worker has. h.mu is held.
func (h *Hub) part(m *nats.Msg, key string, p *peer) {
	if p.item == nil { // a reply was lost, or nobody asked
		h.reply(m, statusOK, nil)
		return
	}
	total, offset, data, err := decodePart(m.Data)
	switch {
	case err != nil: // for the fleet to judge
		p.partial, total = m.Data, len(m.Data)
	case offset > len(p.partial):
		h.reply(m, statusBad, fmt.Appendf(nil, "a part at %d, after %d bytes", offset, len(p.partial)))
		return
	default:
		p.partial = append(p.partial[:offset], data...)
	}
	if len(p.partial) == total || len(p.partial) > p.most {
		h.Deliver(h.ctx, key, p.partial) // it never fails
		p.item, p.partial = nil, nil
		p.done++
	}
	h.reply(m, statusOK, nil)
}

// get sends a part of the spec or of the weights. h.mu is held.
func (h *Hub) get(m *nats.Msg) {
	if len(m.Data) != sha256.Size+8 {
		h.reply(m, statusBad, []byte("a request for a part is 40 bytes long"))
		return
	}
	want := fleet.Digest(m.Data[:sha256.Size])
	data := h.spec
	if want == h.deltas.id {
		data = h.deltas.data
	} else if want != h.specID {
		var err error
		if data, err = h.Fetch(h.ctx, want, maxBytes); err != nil {
			h.reply(m, statusGone, nil)
			return
		}
	}
	offset := binary.LittleEndian.Uint64(m.Data[sha256.Size:])
	if offset >= uint64(len(data)) {
		h.reply(m, statusBad, fmt.Appendf(nil, "a part at %d of %d", offset, len(data)))
		return
	}
	h.reply(m, statusOK, encodePart(data, int(offset)))
}

// who lists the workers. h.mu is held.
func (h *Hub) who(m *nats.Msg) {
	list := []Presence{}
	for _, key := range slices.Sorted(maps.Keys(h.peers)) {
		p, class := h.peers[key], h.policy.Known[key]
		why, mode := h.policy.Refused[key], ""
		switch {
		case why != "":
			class = "other"
		case p.card.Drafts && h.policy.Mode == fleet.Exact && class == "same":
			mode = string(fleet.Exact)
		case p.card.Drafts:
			mode = string(fleet.Draft)
		}
		list = append(list, Presence{key, p.card, class, mode, p.version, p.item != nil, p.done, time.Since(p.heard).Seconds(), why})
	}
	for _, key := range slices.Sorted(maps.Keys(h.policy.Refused)) {
		if h.peers[key] == nil {
			list = append(list, Presence{Worker: key, Class: "other", Version: -1, Refused: h.policy.Refused[key]})
		}
	}
	data, err := json.Marshal(list)
	if err != nil { // of plain values
		panic(err)
	}
	h.reply(m, statusOK, data)
}
