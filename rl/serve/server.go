package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/web"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/grammar"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/rl/chat"
)

// Adapter is a model more: the same matrices with an adapter ([model.Model.WithAdapter]).
type Adapter struct {
	Name    string // in requests
	Weights string // digest of the model's files and the adapter's
	Model   *model.Model
}

// Options say what is served, and how much of it at once.
type Options struct {
	Name    string         // of the model in requests
	Weights string         // digest of what the model was read from
	Engine  sample.Options // of each model
	Queue   int            // requests that wait or are answered, at most
	Lenient bool           // keys that are not known are passed over and named in a header
	System  string
	Chat    chat.Options

	Adapters []Adapter
}

// served is a model with its engine.
type served struct {
	name    string
	weights string // digest
	print   string // fingerprint of model, storage, arithmetic and device: with equal ones, equal requests have equal answers
	m       *model.Model
	engine  *sample.Engine
}

// Server answers the requests of OpenAI's clients with a model.
type Server struct {
	*served  // the model that is meant where a request names none
	adapters []*served
	o        Options
	names    names
	format   *chat.Format // nil: the model has no chat template
	noChat   error        // why
	calls    *chat.Calls  // how the template writes calls of tools; nil: in no known way

	knowsEffort bool // the template reads effortVariable

	vocabulary func() *grammar.Vocabulary // made when it is first asked for
	grammars   grammars

	created int64 // when the server began, seconds since 1970
	now     func() time.Time

	parsing  chan struct{}   // bodies that are parsed at once: a parsed one takes many times its bytes
	working  sync.WaitGroup  // calls of the engine
	inFlight atomic.Int64    // requests for completions
	streams  atomic.Int64    // of them, those that are streamed
	coming   atomic.Int64    // grows when a request has arrived, and when it is handed to the engine
	replies  [6]atomic.Int64 // by class of their status
	lost     chan error      // the device, once
}

// New makes a server. The model may not change while it is open.
func New(m *model.Model, o Options) (*Server, error) {
	s := &Server{served: &served{name: o.Name, weights: o.Weights, m: m}, o: o, names: names{m.Tokenizer}, now: time.Now, parsing: make(chan struct{}, 4), lost: make(chan error, 1)}
	s.created = s.now().Unix()
	vars, err := json.Marshal(o.Chat.Variables) // its keys are sorted
	if err != nil {
		return nil, err
	}
	s.noChat = errors.New("the model has no tokenizer")
	s.vocabulary = sync.OnceValue(func() *grammar.Vocabulary { return newVocabulary(m) })
	if m.Tokenizer != nil {
		s.format, s.noChat = chat.New(m.Tokenizer, m.Config.EOS, o.Chat)
	}
	if s.noChat != nil && len(o.Chat.Variables) > 0 {
		return nil, s.noChat // they are for chats
	}
	if s.format != nil {
		s.knowsEffort = s.format.Reads(effortVariable, "low", "medium", "high")
		if c, ok := s.format.Calls(); ok {
			s.calls = &c
		}
	}
	if s.o.Engine = engineFor(m, o.Engine, 1+len(o.Adapters)); o.Engine.CacheToken > 0 {
		if err := fits(m, m.Device().Caps(), s.o.Engine, 1+len(o.Adapters)); err != nil {
			return nil, fmt.Errorf("a key/value cache of %d tokens: %w", o.Engine.CacheToken, err)
		}
	}
	s.o.Engine.Gather = s.gather
	for _, a := range o.Adapters {
		s.adapters = append(s.adapters, &served{name: a.Name, weights: a.Weights, m: a.Model})
	}
	for _, one := range s.all() {
		one.print = fingerprint(one.m, fmt.Sprintf("%s\n%q\n%s", one.weights, o.System, vars))
		if one.engine, err = sample.NewEngine(one.m, s.o.Engine); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// all are the models, the one without an adapter of its own first.
func (s *Server) all() []*served { return append([]*served{s.served}, s.adapters...) }

// find is the model of a name; "" is the first. Another is refused.
func (s *Server) find(name string) (*served, *fault) {
	var names []string
	for _, one := range s.all() {
		if name == "" || name == one.name {
			return one, nil
		}
		names = append(names, strconv.Quote(one.name))
	}
	return nil, &fault{http.StatusNotFound, invalid, "model_not_found", "model", fmt.Sprintf("the model %q is not served here; accepted: %s", name[:min(len(name), maxShown)], strings.Join(names, ", "))}
}

// engineFor fills in what an engine's options leave open: the context of the model, as
// many draws as steps have rows, so that completions that were set back and those that are
// checked are read at once, and a cache, a half of it for prompts, that leaves half of the
// device's memory to others. Several models share it in equal parts.
func engineFor(m *model.Model, o sample.Options, models int) sample.Options {
	const pageTokens = 32
	o.Guides = m.Tokenizer != nil
	if o.Context == 0 {
		o.Context = m.Positions()
	}
	if o.StepRows == 0 {
		o.StepRows = max(256, 2*o.Sequences)
	}
	if o.Draws == 0 {
		o.Draws = o.StepRows
	}
	if o.CacheToken == 0 {
		caps := m.Device().Caps()
		for o.CacheToken = 2 * o.Sequences * o.Context; o.CacheToken > 2*o.Context; o.CacheToken /= 2 {
			plan, err := memory.Plan(m.Config, caps, memory.Use{Positions: m.Positions(), Engine: &o})
			if err != nil || plan.Total() <= caps.Memory/2 && plan.Bound.Bytes <= caps.MaxBinding {
				break
			}
		}
		o.CacheToken = max(o.CacheToken/models, 2*o.Context)
	}
	if o.Prefixes == 0 {
		o.Prefixes = o.CacheToken / pageTokens / 2
	}
	return o
}

// fits says whether a device has room for the engines of a model and of its adapters, each
// with a cache of its own.
func fits(m *model.Model, caps gpu.Caps, o sample.Options, engines int) error {
	use := memory.Use{Positions: m.Positions()}
	bare, err := memory.Plan(m.Config, caps, use)
	if err != nil {
		return err
	}
	use.Engine = &o
	plan, err := memory.Plan(m.Config, caps, use)
	if err != nil {
		return err
	}
	if more := engines - 1; more > 0 {
		plan.Add("engines of adapters", more*(plan.Total()-bare.Total()), fmt.Sprintf("%d, as large as the first", more))
	}
	return plan.Fits(caps)
}

// Chats says whether the server answers conversations, and if not, why.
func (s *Server) Chats() error { return s.noChat }

// Close frees the engine. Requests must have ended or been cancelled.
func (s *Server) Close() {
	s.working.Wait()
	for _, one := range s.all() {
		if one.engine != nil {
			one.engine.Close()
		}
	}
}

// Lost is told once when the device is lost: nothing can be answered from then on.
func (s *Server) Lost() <-chan error { return s.lost }

// route is an address and what answers it.
type route struct {
	method string
	do     func(s *Server, w http.ResponseWriter, r *http.Request) *fault
	wire   *wire // of its answers; nil: OpenAI's
}

// shape is that of the route's refusals.
func (rt route) shape() func(*fault) any {
	if rt.wire == nil {
		return refusal
	}
	return rt.wire.refuse
}

// completing answers requests of a wire format for completions.
func completing(format *wire) route {
	return route{http.MethodPost, func(s *Server, w http.ResponseWriter, r *http.Request) *fault { return s.complete(w, r, format) }, format}
}

func getting(do func(*Server, http.ResponseWriter, *http.Request) *fault) route {
	return route{http.MethodGet, do, nil}
}

func posting(do func(*Server, http.ResponseWriter, *http.Request) *fault) route {
	return route{http.MethodPost, do, nil}
}

// HealthPath is where a server tells that it lives.
const HealthPath = "/health"

var routes = map[string]route{
	"/v1/completions":      completing(completionWire),
	"/v1/chat/completions": completing(chatWire),
	"/v1/responses":        completing(responsesWire),
	"/v1/messages":         completing(messagesWire),
	"/v1/embeddings":       posting((*Server).embed),
	"/v1/check":            posting((*Server).check),
	"/v1/models":           getting((*Server).models),
	"/v1/models/{id...}":   getting((*Server).oneModel),
	"/tokenize":            posting((*Server).tokenize),
	"/detokenize":          posting((*Server).detokenize),
	HealthPath:             getting((*Server).health),
	"/version":             getting((*Server).version),
	"/metrics":             getting((*Server).metrics),
}

// Handler answers requests that passed the door.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	paths := strings.Join(slices.Sorted(maps.Keys(routes)), ", ")
	mux.HandleFunc("/", s.answered(posting(func(*Server, http.ResponseWriter, *http.Request) *fault {
		return &fault{http.StatusNotFound, invalid, "unknown_url", "", "there is nothing at this address; rlzero serve answers " + paths}
	})))
	for path, rt := range routes {
		do := rt.do
		rt.do = func(s *Server, w http.ResponseWriter, r *http.Request) *fault {
			if r.Method != rt.method && !(rt.method == http.MethodGet && r.Method == http.MethodHead) {
				w.Header().Set("Allow", rt.method)
				return &fault{http.StatusMethodNotAllowed, invalid, "", "", fmt.Sprintf("the method is %s; accepted: %s", r.Method, rt.method)}
			}
			return do(s, w, r)
		}
		mux.HandleFunc(path, s.answered(rt))
	}
	return mux
}

// answered writes the fault that a request ends in, if any.
func (s *Server) answered(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		nameRequest(w, r)
		status := http.StatusOK
		if f := rt.do(s, w, r); f != nil {
			status = f.status
			f.write(w, rt.shape())
		}
		s.replies[min(status/100, len(s.replies)-1)].Add(1)
	}
}

// requestName are names of requests that a client may choose.
var requestName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// nameRequest gives a request a name, for whoever reports a fault: that which its client chose, or a new one.
func nameRequest(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("X-Request-Id")
	if !requestName.MatchString(name) {
		name = fmt.Sprintf("req-%014x", web.Chance())
	}
	w.Header().Set("X-Request-Id", name)
}

// enter counts a request for completions in. The caller calls leave afterwards.
func (s *Server) enter() (leave func(), full *fault) {
	if n := s.inFlight.Add(1); n > int64(s.o.Queue) {
		s.inFlight.Add(-1)
		return nil, &fault{http.StatusTooManyRequests, "rate_limit_error", "queue_full", "", fmt.Sprintf("%d requests wait or are being answered, which is all that the server takes at once; try again later", s.o.Queue)}
	}
	return func() { s.inFlight.Add(-1) }, nil
}

// failed is an error of the engine as an answer. A device that is lost is told.
func (s *Server) failed(ctx context.Context, err error) *fault {
	f := faultOf(ctx, err)
	if f.code == codeLost {
		select {
		case s.lost <- err:
		default: // it was told before
		}
	}
	return f
}
