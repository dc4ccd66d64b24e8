//go:build !js

package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/rl/world"
)

// process is a program that speaks the protocol, with the episodes that it holds.
type process struct {
	*child
	hello Hello
	clock time.Duration // until its first line, and for rows

	mu       sync.Mutex
	waiting  map[string]*asked
	late     map[string]int // ids of answers that nobody waits for any more, and how many of each
	episodes int
	last     int // id of an episode
	answered int
}

// asked is a request whose answer is waited for.
type asked struct {
	answer chan heard
	before int // answers that the program had given when it was asked
}

// heard is what came of a request.
type heard struct {
	answer answer
	err    error
}

// start starts a program and reads its first line, for which it has so long.
func start(ctx context.Context, c Command, clock time.Duration) (*process, error) {
	made, err := begin(c, MaxLine)
	if err != nil {
		return nil, err
	}
	p := &process{child: made, clock: clock, waiting: map[string]*asked{}, late: map[string]int{}}
	greeted := make(chan error, 1)
	go func() {
		first := true
		p.serve(func(line []byte) error {
			if !first {
				return p.heard(line)
			}
			first = false
			var err error
			p.hello, err = parseHello(line)
			greeted <- err
			return err
		})
	}()
	ctx, cancel := awake.WithTimeout(ctx, clock, fmt.Errorf("it says nothing for %v; %s", clock, helloForm))
	defer cancel()
	select {
	case err = <-greeted:
	case <-p.dead:
		if err = p.err; errors.Is(err, errEnded) {
			err = fmt.Errorf("%w before its first line; %s", err, helloForm)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		p.end(err)
		return nil, err
	}
	return p, nil
}

// heard gives an answer to whom it is for. An error ends the program.
func (p *process) heard(line []byte) error {
	a, wrong := parseAnswer(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered++
	if w := p.waiting[a.ID]; w != nil {
		delete(p.waiting, a.ID)
		if wrong != nil {
			wrong = fmt.Errorf("%w: %w", world.ErrSpoken, wrong)
		}
		w.answer <- heard{a, wrong}
		return nil
	}
	if p.late[a.ID] > 0 {
		if p.late[a.ID]--; p.late[a.ID] == 0 {
			delete(p.late, a.ID)
		}
		return nil
	}
	if wrong == nil {
		wrong = fmt.Errorf("it answers with the id %q, for which nothing was asked", a.ID)
	}
	if len(p.waiting) == 1 { // nobody else can have provoked it
		for _, w := range p.waiting {
			w.answer <- heard{err: fmt.Errorf("%w: %w", world.ErrSpoken, wrong)}
		}
		clear(p.waiting)
	}
	return wrong
}

// ask asks the program something and waits for the answer. Where that is late, the program is ended, unless it
// has answered something else since: then it is the episode's answer that is late, and is dropped when it comes.
func (p *process) ask(ctx context.Context, r request) (answer, error) {
	w := &asked{answer: make(chan heard, 1)}
	p.mu.Lock()
	w.before = p.answered
	p.waiting[r.ID] = w
	p.mu.Unlock()
	line := r.line()
	if len(line) > MaxLine {
		p.drop(r.ID)
		return answer{}, fmt.Errorf("what it is asked has %d bytes; accepted: at most %d", len(line), MaxLine)
	}
	p.send(line)
	var h heard
	select {
	case h = <-w.answer:
	case <-p.dead:
		select {
		case h = <-w.answer: // it came before the end
		default:
			h.err = p.err
		}
	case <-ctx.Done():
		h.err = context.Cause(ctx)
		if p.drop(r.ID) == w.before {
			p.end(fmt.Errorf("it answers nothing: %w", h.err))
		}
	}
	if h.err == nil {
		h.err = h.answer.broken()
	}
	return h.answer, h.err
}

// drop gives up waiting for an answer, and tells how many the program has given.
func (p *process) drop(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[id] != nil {
		delete(p.waiting, id)
		p.late[id]++
	}
	return p.answered
}

// enter is an id for an episode; "": the program holds as many as it can.
func (p *process) enter() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.episodes == p.hello.AtOnce {
		return ""
	}
	p.episodes++
	p.last++
	return strconv.Itoa(p.last)
}

// leave says that an episode is over. Nobody waits for the answer.
func (p *process) leave(id string) {
	p.mu.Lock()
	p.episodes--
	p.late[id]++
	unanswered := len(p.late)
	p.mu.Unlock()
	if most := 4*p.hello.AtOnce + maxUnanswered; unanswered > most {
		p.end(fmt.Errorf("it does not answer: %d answers to close and to what took too long are missing; accepted: at most %d", unanswered, most))
	}
	p.send(request{ID: id, Op: "close"}.line())
}

// maxUnanswered is how many answers may be missing that nobody waits for, besides some for each episode.
const maxUnanswered = 64

// maxProcesses is how many processes of a program run at once that episodes share, and how many that an episode or the
// canary has for itself: where a step fills all that are shared, an episode can still be tried alone.
const maxProcesses = 64

// Most is how many episodes of a program may be played at once.
func (h Hello) Most() int { return maxProcesses * h.AtOnce }

// programs are the processes of a program.
type programs struct {
	command Command
	clock   time.Duration         // that a process has until its first line, for each answer to rows, and, besides a turn, to begin the canary
	hello   atomic.Pointer[Hello] // nil: none has been started

	mu      sync.Mutex
	shared  []*process
	alone   []*process
	coming  int           // processes that start, and that episodes will share
	apart   int           // that start for one episode
	waiting int           // episodes, for one that will be shared
	came    chan struct{} // closed when the next one has started, or has not
	closed  bool
}

// errClosed is that the run is over.
var errClosed = errors.New("the program is not used any more")

// enter is a process with room for an episode, and the id of that; alone: it gets no other.
func (s *programs) enter(ctx context.Context, alone bool) (*process, string, error) {
	for {
		p, id, came, err := s.room(alone)
		switch {
		case p != nil || err != nil:
			return p, id, err
		case came == nil:
			return s.start(ctx, alone)
		}
		select {
		case <-came:
		case <-ctx.Done():
			s.mu.Lock()
			if s.came == came {
				s.waiting--
			}
			s.mu.Unlock()
			return nil, "", context.Cause(ctx)
		}
	}
}

// room is a process with room, or what to wait for until there may be one; neither: the caller has to start one,
// for which there is a place.
func (s *programs) room(alone bool) (p *process, id string, came chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared, s.alone = living(s.shared), living(s.alone)
	if !alone {
		for _, p := range s.shared {
			if id := p.enter(); id != "" {
				return p, id, nil, nil
			}
		}
	}
	hello := s.hello.Load()
	switch {
	case s.closed:
		return nil, "", nil, errClosed
	case alone && len(s.alone)+s.apart == maxProcesses:
		return nil, "", nil, fmt.Errorf("%w: %d processes have an episode each that is tried alone; accepted: at most that many", world.ErrUnable, maxProcesses)
	case alone:
		s.apart++
	case s.coming > 0 && (hello == nil || s.waiting < s.coming*(hello.AtOnce-1)):
		s.waiting++
		return nil, "", s.came, nil
	case len(s.shared)+s.coming < maxProcesses:
		s.coming++
	default:
		return nil, "", nil, fmt.Errorf("%w: %d processes hold as many episodes as they can, at_once = %d each; accepted: at most that many, so a larger at_once or smaller steps", world.ErrUnable, maxProcesses, hello.AtOnce)
	}
	return nil, "", nil, nil
}

// start starts a process in the place that there is for it, for an episode.
func (s *programs) start(ctx context.Context, alone bool) (*process, string, error) {
	p, err := start(ctx, s.command, s.clock)
	s.mu.Lock()
	defer s.mu.Unlock()
	if alone {
		s.apart--
	} else {
		s.coming--
		close(s.came)
		s.came, s.waiting = make(chan struct{}), 0
	}
	if err != nil {
		return nil, "", err
	}
	if s.closed {
		p.end(errClosed)
		return nil, "", errClosed
	}
	if !s.hello.CompareAndSwap(nil, &p.hello) && *s.hello.Load() != p.hello {
		p.end(errors.New("it changes"))
		return nil, "", fmt.Errorf("its first line says %+v, and said %+v before", p.hello, *s.hello.Load())
	}
	if alone {
		s.alone = append(s.alone, p)
	} else {
		s.shared = append(s.shared, p)
	}
	return p, p.enter(), nil
}

// living are the processes that are not over.
func living(all []*process) []*process {
	var out []*process
	for _, p := range all {
		select {
		case <-p.dead:
		default:
			out = append(out, p)
		}
	}
	return out
}

// close ends all processes.
func (s *programs) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var work sync.WaitGroup
	for _, p := range append(s.shared, s.alone...) {
		work.Go(p.child.close)
	}
	work.Wait()
}

// rows are the problems that the program has, in order.
func (p *process) rows(ctx context.Context) (all []json.RawMessage, err error) {
	bytes := 0
	for {
		ctx, cancel := awake.WithTimeout(ctx, p.clock, fmt.Errorf("it does not answer rows for %v", p.clock))
		a, err := p.ask(ctx, request{Op: "rows", From: new(len(all))})
		cancel()
		if err != nil {
			return nil, err
		}
		if len(a.Rows) == 0 {
			return all, nil
		}
		for _, raw := range a.Rows {
			if n := deep(raw); n > maxDepth {
				return nil, fmt.Errorf("row %d is nested %d deep; accepted: at most %d", len(all), n, maxDepth)
			}
			if bytes += len(raw); len(all) == maxRows || bytes > maxRowBytes {
				return nil, fmt.Errorf("it has more than %d rows, or of more than %d bytes; accepted: at most that many", maxRows, maxRowBytes)
			}
			all = append(all, raw)
		}
	}
}

// Bounds of the rows of a program.
const (
	maxRows     = 1 << 20
	maxRowBytes = 1 << 30
)
