package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rlzero/rlzero/rl/fleet"
)

// Verbs of requests.
const (
	verbHello = "hello"
	verbTake  = "take"
	verbPart  = "part"
	verbGet   = "get"
	verbDelta = "delta"
	verbBeat  = "beat"
	verbWho   = "who"
	verbLeave = "leave"
)

const (
	partBytes = 512 << 10              // of results and weights in one message; servers accept 1 MiB by default
	beatEvery = 2 * time.Second        // a worker says that it is there
	goneAfter = 3                      // beats of the trainer: a worker that says nothing for more of them is gone
	takeWait  = 5 * time.Second        // a request for an item is answered after so long, with none if there is none
	sayEvery  = 100 * time.Millisecond // the end of the run is said again to workers that have not left
	replyWait = 5 * time.Second        // longer than a reply to any other request takes
)

// defaultName is that of a fleet that was given none.
const defaultName = "run"

// inbox is the prefix of the subjects on which a worker gets replies.
func inbox(key string) string { return "_INBOX_" + key }

// request is the subject of a worker's requests.
func request(name, key, verb string) string { return "rl." + name + "." + key + "." + verb }

// say is the subject of what a hub says to all.
func say(name string) string { return "rl." + name + ".say" }

// asked is the worker and the verb of a request's subject.
func asked(subject string) (key, verb string) {
	if parts := strings.Split(subject, "."); len(parts) == 4 {
		return parts[2], parts[3]
	}
	return "", ""
}

// status is the first byte of a reply.
type status byte

const (
	statusOK       status = iota // what was asked for follows
	statusNothing                // there is no item now
	statusRefused                // the worker is refused; the reason follows
	statusGone                   // these weights are no longer the policy's
	statusStranger               // say hello first
	statusBad                    // the request is malformed; the reason follows
)

// errStranger: the trainer does not know the worker; it was started again, or heard
// nothing of the worker for too long.
var errStranger = errors.New("the trainer does not know this worker")

// errNothing: there is no item.
var errNothing = errors.New("there is no item")

// parse takes a reply apart.
func parse(reply []byte) ([]byte, error) {
	if len(reply) == 0 {
		return nil, errors.New("the trainer's reply is empty")
	}
	body := reply[1:]
	switch status(reply[0]) {
	case statusOK:
		return body, nil
	case statusNothing:
		return nil, errNothing
	case statusRefused:
		return nil, fmt.Errorf("%w: %s", fleet.ErrRefused, body)
	case statusGone:
		return nil, fleet.ErrGone
	case statusStranger:
		return nil, errStranger
	}
	return nil, fmt.Errorf("the trainer answers: %.200q", body)
}

// Card is what a worker or a trainer says of itself.
type Card struct {
	Release    string `json:"release"`    // of the program
	System     string `json:"system"`     // such as linux/amd64
	Device     string `json:"device"`     // for people
	Arithmetic string `json:"arithmetic"` // devices with equal texts compute equal bits
	Numerics   string `json:"numerics"`   // version of the arithmetic: one that drafts has the trainer's

	Drafts   bool              `json:"drafts"`             // it draws completions
	Verifies map[string]string `json:"verifies,omitempty"` // by verifier, the engine that it judges by, see package verdict
	Lacks    map[string]string `json:"lacks,omitempty"`    // by verifier, why it cannot judge
}

// does is what the worker answers, as carriers know it.
func (c Card) does() []string {
	out := slices.Sorted(maps.Values(c.Verifies))
	if c.Drafts {
		out = append(out, "")
	}
	return out
}

// Offers tells what a worker does, for people.
func (c Card) Offers() string {
	var out []string
	if c.Drafts {
		out = append(out, "draft")
	}
	if len(c.Verifies) > 0 {
		out = append(out, "verify ("+strings.Join(slices.Sorted(maps.Keys(c.Verifies)), ", ")+")")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Lacks)) {
		out = append(out, fmt.Sprintf("not %s: %s", name, c.Lacks[name]))
	}
	return strings.Join(out, ", ")
}

// Presence is what a hub knows of a worker.
type Presence struct {
	Worker  string  `json:"worker"`
	Card    Card    `json:"card"`
	Class   string  `json:"class"`             // same, near or other bits than the trainer's; "": not known yet
	Mode    string  `json:"mode"`              // how its completions are used: exact or draft; "": not at all
	Version int     `json:"version"`           // of the weights by which it drew last; -1: by none
	Busy    bool    `json:"busy"`              // it has an item
	Done    int     `json:"done"`              // items
	Silent  float64 `json:"silent"`            // seconds since it was heard
	Refused string  `json:"refused,omitempty"` // why; it may be gone
}

// A part is total u64, offset u64, bytes; a request for one is digest [32], offset u64.
// Numbers are little-endian.
const partHead = 16

func encodePart(data []byte, offset int) []byte {
	end := min(len(data), offset+partBytes)
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint64(b, uint64(offset))
	return append(b, data[offset:end]...)
}

func decodePart(b []byte) (total, offset int, data []byte, err error) {
	if len(b) < partHead {
		return 0, 0, nil, errors.New("a part is cut short")
	}
	t, o := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if data = b[partHead:]; t > maxBytes || o > t || uint64(len(data)) > t-o || len(data) == 0 {
		return 0, 0, nil, fmt.Errorf("a part of %d bytes at %d of %d", len(data), o, t)
	}
	return int(t), int(o), data, nil
}

// maxBytes bounds what is sent in parts: weights of a model that no machine has.
const maxBytes = 1 << 42
