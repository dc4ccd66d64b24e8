package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// breaking is a tool whose calls come to what a test says; dead is what its own test says.
type breaking struct {
	call func(text string) (world.Answer, error)
	dead error
}

func (breaking) Spec() world.Spec { return world.Spec{Name: "t", Text: "x", Effects: true} }

func (b breaking) Test(context.Context) error { return b.dead }

func (b breaking) Open(context.Context, verify.Problem) (world.Session, error) { return b, nil }

func (breaking) Close() error { return nil }

func (b breaking) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	return b.call(string(args))
}

// onceOnly is a journal that knows of calls that were begun and nothing of their answers.
type onceOnly struct{ begun map[[2]int]bool }

func (o onceOnly) Answer(a world.Asked, call func() (world.Answer, error)) (world.Answer, error) {
	at := [2]int{a.Turn, a.Number}
	if o.begun[at] {
		return world.Answer{}, world.ErrOnce
	}
	o.begun[at] = true
	return call()
}

func (o onceOnly) Knows(a world.Asked) bool { return o.begun[[2]int{a.Turn, a.Number}] }

func (onceOnly) Fault(int) (error, bool) { return nil, false }

func (onceOnly) Failed(int, error) error { return nil }

// diary is a journal of one episode in memory. Calls that are late come back beside others.
type diary struct {
	mu      sync.Mutex
	answers map[[2]int]world.Answer
	faults  map[int]error
}

func (d *diary) Answer(a world.Asked, call func() (world.Answer, error)) (world.Answer, error) {
	at := [2]int{a.Turn, a.Number}
	d.mu.Lock()
	known, there := d.answers[at]
	d.mu.Unlock()
	if there {
		return known, nil
	}
	answer, err := call()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.answers[at] = answer
	}
	return answer, err
}

func (d *diary) Knows(a world.Asked) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, there := d.answers[[2]int{a.Turn, a.Number}]
	return there
}

func (d *diary) Fault(turn int) (error, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	why, known := d.faults[turn]
	return why, known
}

func (d *diary) Failed(turn int, why error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[turn] = why
	return nil
}

// TestToolFaults: what comes of an episode whose tool fails, by whose doing it is. What a policy wrote is
// scored, and what no policy can help is not. Who knows the journal comes to the same without the tool.
func TestToolFaults(t *testing.T) {
	lost, dead := errors.New("lost"), errors.New("2 and 2 are 5")
	const (
		whole   = "0:q 1:a. 4:+| 1:aa. 4:+| 1:aaa. "
		mistake = "0:q 1:a. 4:+| 1:aa. 4:-| 1:aaa. "
		refused = "0:q 1:a. 4:+| 1:aa. 4:" + world.Unanswered + "| 1:aaa. "
		broken  = "0:q 1:a. 4:+| 1:aa. "
	)
	for _, x := range []struct {
		name   string
		dead   error
		breaks func(n int) (world.Answer, error) // the n-th time that the second turn calls; late: an hour
		kept   bool                              // by a journal that makes no call twice
		want   string
		reason string // it is not scored; "": it is
		failed float64
	}{
		{name: "a mistake", breaks: func(int) (world.Answer, error) { return world.Answer{Text: "-", Failed: true}, nil }, want: mistake, failed: 1},
		{name: "once", breaks: func(n int) (world.Answer, error) {
			if n == 1 {
				return world.Answer{}, lost
			}
			return world.Answer{Text: "+"}, nil
		}, want: whole},
		{name: "always", breaks: func(int) (world.Answer, error) { return world.Answer{}, lost }, want: refused, failed: 1},
		{name: "a panic", breaks: func(int) (world.Answer, error) { panic("lost") }, want: refused, failed: 1},
		{name: "over the clock", breaks: func(int) (world.Answer, error) { time.Sleep(time.Hour); return world.Answer{}, nil }, want: refused, failed: 1},
		{name: "it is broken", dead: dead, breaks: func(int) (world.Answer, error) { return world.Answer{}, lost }, want: broken,
			reason: "the world failed: tool t: lost; nor does it play what it should: tool t: 2 and 2 are 5"},
		{name: "nothing can be run", breaks: func(int) (world.Answer, error) { return world.Answer{}, world.ErrUnable }, want: broken,
			reason: "the world failed: tool t: " + world.ErrUnable.Error()},
		{name: "it is not called twice", kept: true, breaks: func(int) (world.Answer, error) { return world.Answer{}, lost }, want: broken,
			reason: "the world failed: tool t: " + world.ErrOnce.Error()},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var counting sync.Mutex
				second, calls := 0, 0
				tool := breaking{dead: x.dead, call: func(args string) (world.Answer, error) {
					counting.Lock()
					if calls++; calls <= 0 {
						t.Errorf("it is called though the journal knows: %s", args)
					}
					if args != `"a"` {
						second++
					}
					n := second
					counting.Unlock()
					if args == `"a"` {
						return world.Answer{Text: "+"}, nil
					}
					return x.breaks(n)
				}}
				w := world.Tooled{Tools: []world.Tool{tool}, Judge: func(_ verify.Problem, answer string, ended bool) verify.Verdict {
					return verify.Accept(answer, "", "it answers")
				}, Read: func(text string, _ []world.Spec) []world.Call {
					if len(text) > 2 {
						return nil
					}
					return []world.Call{{Tool: "t", Args: json.RawMessage(`"` + text + `"`)}}
				}}
				var encoded []string
				c := playing(w, 9, 999, nil, &encoded)
				c.Episodes.Clock = 2 * time.Second
				known := &diary{answers: map[[2]int]world.Answer{}, faults: map[int]error{}}
				c.Episodes.Journal = func(random.Key, bool) world.Journal { return known }
				if x.kept {
					c.Episodes.Journal = func(random.Key, bool) world.Journal { return onceOnly{map[[2]int]bool{}} }
				}
				groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{})
				if err != nil {
					t.Fatal(err)
				}
				v := groups[0].Paths[0].Verdict()
				if got := pathText(&groups[0], 0); got != x.want || (v.Verdict == verify.NotScored) != (x.reason != "") || x.reason != "" && (v.Reason != x.reason || v.Rule != ToolRule+"t") {
					t.Errorf("%q, %+v; want %q, %s", got, v, x.want, x.reason)
				}
				if x.reason == "" {
					if facts := groups[0].Turns(0)[1].Turn.Facts; facts[world.FactCalls] != 1 || facts[world.FactFailed] != x.failed {
						t.Errorf("facts of the turn: %v", facts)
					}
				}
				time.Sleep(2 * time.Hour)
				if x.kept {
					return
				}
				counting.Lock()
				calls = -99
				counting.Unlock()
				if groups, err = c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{}); err != nil {
					t.Fatal(err)
				}
				if got, again := pathText(&groups[0], 0), groups[0].Paths[0].Verdict(); got != x.want || again.Verdict != v.Verdict || again.Reason != v.Reason || again.Rule != v.Rule {
					t.Errorf("by the journal %q, %+v; want %q, %+v", got, again, x.want, v)
				}
			})
		})
	}
}

// catching is a tool whose process has to start, and has to be told of the calls that a journal answered.
type catching struct {
	start time.Duration
	again time.Duration // for each such call
}

func (catching) Spec() world.Spec { return world.Spec{Name: "t", Text: "x"} }

func (catching) Test(context.Context) error { return nil }

func (c catching) Open(context.Context, verify.Problem) (world.Session, error) {
	return &caught{catching: c}, nil
}

type caught struct {
	catching
	started bool
	behind  int
}

func (*caught) Close() error { return nil }

func (c *caught) Told(json.RawMessage, world.Answer) { c.behind++ }

func (c *caught) CatchUp(context.Context) error {
	if !c.started {
		time.Sleep(c.start)
		c.started = true
	}
	time.Sleep(time.Duration(c.behind) * c.again)
	c.behind = 0
	return nil
}

func (c *caught) Call(ctx context.Context, args json.RawMessage) (world.Answer, error) {
	if err := c.CatchUp(ctx); err != nil {
		return world.Answer{}, err
	}
	time.Sleep(c.again)
	return world.Answer{Text: string(args)}, nil
}

// TestCatchUpClock: a tool that starts and catches up after a run goes on has the time of a beginning and of the turns
// before for that, beside the time of its turn. Where that is not enough no turn is to blame.
func TestCatchUpClock(t *testing.T) {
	const played = "0:q 1:a. 4:1| 1:aa. 4:2| 1:aaa. 4:3| 1:aaaa. "
	for _, x := range []struct {
		name   string
		tool   catching
		want   string
		reason string // it is not scored; "": it is
	}{
		{name: "in time", tool: catching{59 * time.Second, 2 * time.Second}, want: played},
		{name: "never", tool: catching{time.Hour, 2 * time.Second}, want: "0:q 1:a. 4:1| 1:aa. 4:2| 1:aaa. ",
			reason: "the world failed: it does not catch up: it takes too long: more than 1m9s"},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world.Tooled{Tools: []world.Tool{x.tool}, Judge: func(_ verify.Problem, answer string, _ bool) verify.Verdict {
					return verify.Accept(answer, "", "it answers")
				}, Read: func(text string, _ []world.Spec) []world.Call {
					if len(text) > 3 {
						return nil
					}
					return []world.Call{{Tool: "t", Args: json.RawMessage(strconv.Itoa(len(text)))}}
				}}
				var encoded []string
				c := playing(w, 9, 999, nil, &encoded)
				c.Episodes.Clock, c.Episodes.Start = 3*time.Second, time.Minute
				known := &diary{answers: map[[2]int]world.Answer{{1, 1}: {Text: "1"}, {2, 1}: {Text: "2"}}, faults: map[int]error{}}
				c.Episodes.Journal = func(random.Key, bool) world.Journal { return known }
				groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{})
				if err != nil {
					t.Fatal(err)
				}
				v := groups[0].Paths[0].Verdict()
				if got := pathText(&groups[0], 0); got != x.want || (v.Verdict == verify.NotScored) != (x.reason != "") || x.reason != "" && v.Reason != x.reason {
					t.Errorf("%q, %+v; want %q, %s", got, v, x.want, x.reason)
				}
				if why, fault := known.faults[3]; fault != (x.reason != "") || fault && why == nil {
					t.Errorf("the journal has the faults %v", known.faults)
				}
				time.Sleep(3 * time.Hour)
			})
		})
	}
}

// TestJournalFails: a journal that cannot be written, or that is another one, ends the run, whatever the
// tool.
func TestJournalFails(t *testing.T) {
	w := world.Tooled{Tools: []world.Tool{breaking{}}, Read: func(string, []world.Spec) []world.Call {
		return []world.Call{{Tool: "t", Args: json.RawMessage(`"a"`)}}
	}}
	var encoded []string
	c := playing(w, 9, 999, nil, &encoded)
	c.Episodes.Journal = func(random.Key, bool) world.Journal { return unwritten{} }
	if _, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 2, Params{MaxTokens: 8}, random.Key{}); !errors.Is(err, world.ErrJournal) {
		t.Errorf("%v", err)
	}
}

type unwritten struct{}

func (unwritten) Knows(world.Asked) bool { return true }

func (unwritten) Fault(int) (error, bool) { return nil, false }

func (unwritten) Failed(int, error) error { return world.ErrJournal }

func (unwritten) Answer(world.Asked, func() (world.Answer, error)) (world.Answer, error) {
	return world.Answer{}, world.ErrJournal
}
