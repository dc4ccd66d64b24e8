package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// opened is the world of the program of the tests, tried with a problem.
func opened(t *testing.T, facts []string, modes ...string) World {
	t.Helper()
	w := New(program(t, modes...), facts)
	t.Cleanup(w.Close)
	if err := w.Try(t.Context(), verify.Problem{ID: "a", Question: "a?"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	return w
}

func begun(t *testing.T, w world.World) world.Episode {
	t.Helper()
	e, _, err := w.Begin(t.Context(), verify.Problem{ID: "7", Question: "q?", Metadata: map[string]json.RawMessage{"most": json.RawMessage("31")}}, random.At(1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func told(t *testing.T, e world.Episode, turn int, text string) world.Reply {
	t.Helper()
	r, err := e.Step(t.Context(), world.Turn{Text: text, At: turn})
	if err != nil {
		t.Fatalf("turn %q: %v", text, err)
	}
	return r
}

// TestProtocol: what a program says of itself and of an episode comes through, and what it is told.
func TestProtocol(t *testing.T) {
	w := opened(t, []string{"left"}, "rows", "judges")
	if h, err := w.Hello(); err != nil || h != (Hello{1, "test", true, true, 64, true, true}) {
		t.Errorf("%+v, %v", h, err)
	}
	rows, err := w.Rows(t.Context())
	if err != nil || len(rows) != 3 || string(rows[2]) != `{"hidden":3}` {
		t.Errorf("%s, %v", rows, err)
	}
	e := begun(t, w)
	for i, x := range []struct {
		text string
		want world.Reply
	}{
		{"5 <b> \u2028", world.Reply{Messages: []world.Message{{Role: "user", Text: "1: 5 <b> \u2028"}}}},
		{"row", world.Reply{Messages: []world.Message{{Role: "user", Text: `{"id":"7","most":31,"question":"q?"}`}}}},
		{"facts", world.Reply{Messages: []world.Message{{Role: "user", Text: "."}}, Facts: map[string]float64{"left": 3}, State: "s", Reward: -1}},
	} {
		if r := told(t, e, i+1, x.text); !reflect.DeepEqual(r, x.want) {
			t.Errorf("%q: %+v, want %+v", x.text, r, x.want)
		}
	}
	v, err := world.Ended(t.Context(), e)
	if err != nil || v.Score != 0.3 || v.Verdict != verify.Graded {
		t.Errorf("judged as %+v, %v", v, err)
	}
	if r := told(t, e, 4, "win"); r.Verdict == nil || r.Verdict.Verdict != verify.Right || r.Verdict.Reason != "won" || r.Reward != 0.5 {
		t.Errorf("%+v", r)
	}
	if r := told(t, begun(t, w), 1, "lose"); r.Verdict == nil || r.Verdict.Verdict != verify.Wrong {
		t.Errorf("%+v", r)
	}
	if r := told(t, begun(t, w), 1, "skip"); r.Verdict == nil || r.Verdict.Verdict != verify.NotScored || r.Verdict.Reason != "no idea" {
		t.Errorf("%+v", r)
	}
	unjudged := begun(t, opened(t, nil))
	told(t, unjudged, 1, "x")
	if v, err := world.Ended(t.Context(), unjudged); err != nil || v.Verdict != verify.Wrong || v.Reason != world.NotOver {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestChance: equal dice are equal texts, others are others.
func TestChance(t *testing.T) {
	w := opened(t, nil)
	chance := func(index uint64) string {
		e, _, err := w.Begin(t.Context(), verify.Problem{}, random.At(1, 2, index))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		return told(t, e, 1, "chance").Messages[0].Text
	}
	if a, b, c := chance(1), chance(1), chance(2); a != b || a == c || len(a) != 32 {
		t.Errorf("%s, %s, %s", a, b, c)
	}
}

// TestSideBySide: many episodes in one pipe, more than one process holds, each told what is its own.
func TestSideBySide(t *testing.T) {
	w := opened(t, nil, "at_once=5")
	var work sync.WaitGroup
	for i := range 18 {
		e := begun(t, w)
		work.Go(func() {
			for turn := range 20 {
				text := fmt.Sprint(i, "-", turn)
				r, err := e.Step(t.Context(), world.Turn{Text: text})
				if want := fmt.Sprintf("%d: %s", turn+1, text); err != nil || r.Messages[0].Text != want {
					t.Errorf("%+v, %v, want %s", r, err, want)
					return
				}
			}
		})
	}
	work.Wait()
	if n := len(w.programs.shared); n != 4 {
		t.Errorf("%d processes for 18 episodes of which one holds 5", n)
	}
}

// TestForks: a copy goes on from where it was made, and the original as if there were none.
func TestForks(t *testing.T) {
	e := begun(t, opened(t, nil)).(*episode)
	told(t, e, 1, "a")
	copied, err := e.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	for _, who := range []world.Episode{copied, e} {
		if r := told(t, who, 2, "b"); r.Messages[0].Text != "2: b" {
			t.Errorf("%+v", r)
		}
	}
}

// TestRefusedPrograms: what cannot be a world says why.
func TestRefusedPrograms(t *testing.T) {
	for want, c := range map[string]Command{
		`"/no/such/program" cannot be started`:                                 {Words: []string{"/no/such/program"}},
		`the program has ended (exit status 3): no such game before its first`: program(t, "gone"),
		`its first line is "hi": it is not one JSON object; accepted: {"proto`: program(t, "hello=hi"),
		`its first line has protocol 2; accepted: 1`:                           program(t, `hello={"protocol":2,"name":"a","pure":true,"forks":true,"at_once":1}`),
		`its first line has no "pure"; accepted:`:                              program(t, `hello={"protocol":1,"name":"a","forks":true,"at_once":1}`),
		`unknown key "pur"; did you mean pure?`:                                program(t, `hello={"protocol":1,"name":"a","pur":true,"forks":true,"at_once":1}`),
		`has at_once 0; accepted: 1 to 65536`:                                  program(t, `hello={"protocol":1,"name":"a","pure":true,"forks":true,"at_once":0}`),
		`has the name "a b"; accepted: letters`:                                program(t, `hello={"protocol":1,"name":"a b","pure":true,"forks":true,"at_once":1}`),
		`the key "pure" is there twice`:                                        program(t, `hello={"protocol":1,"name":"a","pure":true,"pure":false,"forks":true,"at_once":1}`),
		`the variable RLZERO_NONE, which`:                                      {Words: program(t).Words, Env: []string{"RLZERO_NONE"}},
	} {
		w := New(c, nil)
		if _, err := w.Hello(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		w.Close()
	}
}

// TestHello: a program that says nothing of copies has none.
func TestHello(t *testing.T) {
	h, err := parseHello([]byte(`{"protocol":1,"name":"a","pure":true,"at_once":2}`))
	if err != nil || h != (Hello{Protocol: 1, Name: "a", Pure: true, AtOnce: 2}) {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestTold: whoever starts a program is told of it before, of each process, with what a terminal would obey escaped.
func TestTold(t *testing.T) {
	var told []string
	c := program(t, "at_once=1", "a\x1b[2J\nb")
	c.Told = func(command string) { told = append(told, command) }
	w := New(c, nil)
	t.Cleanup(w.Close)
	if len(told) > 0 {
		t.Errorf("told of %q, and nothing starts", told)
	}
	begun(t, w)
	begun(t, w)
	if want := c.Words[0] + ` world at_once=1 'a\x1b[2J\nb'`; !slices.Equal(told, []string{want, want}) {
		t.Errorf("told of %q, want %q twice", told, want)
	}
	c.Words = []string{"/no/such/program"}
	c.Env = []string{"RLZERO_NONE"}
	if _, err := New(c, nil).Hello(); err == nil || len(told) != 2 {
		t.Errorf("told of %q, %v", told, err)
	}
}

// TestSpoken: an answer that has no meaning is the program's fault, and the other episodes go on.
func TestSpoken(t *testing.T) {
	w := opened(t, []string{"left"})
	beside := begun(t, w)
	for want, line := range map[string]string{
		`unknown key "mesages"; did you mean messages?`:     `{"id":"ID","mesages":[]}`,
		`the key "state" is there twice`:                    `{"id":"ID","state":"a","state":"b"}`,
		"no messages and no verdict":                        `{"id":"ID"}`,
		"a verdict has the score 1.5; accepted: 0 to 1":     `{"id":"ID","verdict":{"score":1.5}}`,
		`the verdict "right" goes with the score 0.5`:       `{"id":"ID","verdict":{"score":0.5,"verdict":"right"}}`,
		`unknown field "scor"`:                              `{"id":"ID","verdict":{"scor":1}}`,
		`has the role "system"; accepted: user, tool`:       `{"id":"ID","messages":[{"role":"system","text":"a"}]}`,
		"an answer has the facts right; accepted: none, or": `{"id":"ID","messages":[{"text":"a"}],"facts":{"right":1}}`,
		"a state has 5000 bytes; accepted: at most 4096":    `{"id":"ID","messages":[{"text":"a"}],"state":"` + strings.Repeat("a", 5000) + `"}`,
		"an answer has 65 messages; accepted: at most 64":   `{"id":"ID","messages":[` + strings.Repeat(`{"text":"a"},`, 64) + `{"text":"a"}]}`,
		`cannot unmarshal string into`:                      `{"id":"ID","fresh":"yes"}`,
		"cannot unmarshal number 1e999":                     `{"id":"ID","reward":1e999,"messages":[{"text":"a"}]}`,
		"rows answer begin or step":                         `{"id":"ID","rows":[{}]}`,
	} {
		e := begun(t, w)
		if _, err := e.Step(t.Context(), world.Turn{Text: "say " + line}); !errors.Is(err, world.ErrSpoken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", line, err, want)
		}
	}
	if r := told(t, beside, 1, "x"); r.Messages[0].Text != "1: x" {
		t.Errorf("the episode beside them: %+v", r)
	}
}

// TestDeaths: a program that ends, floods or says what nobody asked for is ended with a reason, and the next
// episode has a new one.
func TestDeaths(t *testing.T) {
	w := opened(t, nil)
	for text, want := range map[string]string{
		"die now":            `the program has ended (exit status 5): killed by "die now"`,
		"flood":              "it says a line of more than 1048576 bytes; accepted: at most that many",
		"chatter":            `it answers with the id "x", for which nothing was asked`,
		"say none":           "it is not one JSON object",
		`say {"id":"999"}`:   `it answers with the id "999", for which nothing was asked`,
		`say {"state":"on"}`: `it answers with the id "", for which nothing was asked`,
	} {
		e, beside := begun(t, w), begun(t, w)
		if _, err := e.Step(t.Context(), world.Turn{Text: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if _, err := beside.Step(t.Context(), world.Turn{Text: "x"}); err == nil || errors.Is(err, world.ErrSpoken) {
			t.Errorf("%s: the episode beside it: %v, want a fault that may be another's", text, err)
		}
		if r := told(t, begun(t, w), 1, "x"); r.Messages[0].Text != "1: x" {
			t.Errorf("%s: after it %+v", text, r)
		}
	}
}

// TestLate: of a program that is alive only the episode is given up whose answer is late; one that answers
// nothing is ended.
func TestLate(t *testing.T) {
	w := opened(t, nil)
	late, beside := begun(t, w).(*episode), begun(t, w)
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over its clock")
	came := make(chan error)
	go func() {
		_, err := late.Step(ctx, world.Turn{Text: "never"})
		came <- err
	}()
	for late.process.unanswered() == 0 { // it has been asked
		told(t, beside, 1, "x")
	}
	told(t, beside, 1, "x")
	cancel(over)
	if err := <-came; !errors.Is(err, over) {
		t.Error(err)
	}
	// What it says of that turn now is dropped.
	told(t, beside, 1, fmt.Sprintf(`say {"id":"%s","messages":[{"text":"late"}]}`+"\n"+`{"id":"ID","messages":[{"text":"b"}]}`, late.id))
	if r := told(t, beside, 1, "y"); !strings.HasSuffix(r.Messages[0].Text, ": y") {
		t.Errorf("%+v", r)
	}
	hanging := begun(t, w).(*episode)
	short, end := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, over)
	defer end()
	if _, err := hanging.Step(short, world.Turn{Text: "hang"}); !errors.Is(err, over) {
		t.Error(err)
	}
	<-hanging.process.dead
	if _, err := beside.Step(t.Context(), world.Turn{Text: "x"}); err == nil || !strings.Contains(err.Error(), "it answers nothing: over its clock") {
		t.Error(err)
	}
}

// unanswered is how many answers are waited for.
func (p *process) unanswered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// TestVariables: a program sees the variables that are named and the usual ones, and their values are cut out of
// what it says.
func TestVariables(t *testing.T) {
	t.Setenv("RLZERO_TOKEN", `secret"word`)
	t.Setenv("RLZERO_SHORT", "word")
	t.Setenv("RLZERO_OTHER", "unseen-word")
	c := program(t)
	c.Env = []string{"RLZERO_TOKEN", "RLZERO_SHORT"}
	w := New(c, nil)
	t.Cleanup(w.Close)
	e := begun(t, w)
	for name, want := range map[string]string{"RLZERO_TOKEN": "[RLZERO_TOKEN]", "RLZERO_SHORT": "word", "RLZERO_OTHER": "", "PATH": os.Getenv("PATH")} {
		if r := told(t, e, 1, "variable "+name); r.Messages[0].Text != want {
			t.Errorf("%s is %q, want %q", name, r.Messages[0].Text, want)
		}
	}
}

// TestDigest: it changes with the files that a command names, and not with where they lie.
func TestDigest(t *testing.T) {
	digest := func(words ...string) string {
		sum, err := Command{Words: words}.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "world.py")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	a := digest("python3", write("a"))
	for what, b := range map[string]string{"another text": digest("python3", write("b")), "another program": digest("python", write("a")), "another argument": digest("python3", write("a"), "-x")} {
		if a == b {
			t.Errorf("%s has the same digest", what)
		}
	}
	if a != digest("python3", write("a")) {
		t.Error("the same file elsewhere has another digest")
	}
}

// scripted draws for the sample with a stream what its script says, turn by turn; ids are bytes, and 0 ends a
// turn.
type scripted map[uint32][]string

func (s scripted) Sample(_ context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		turn := strings.Count(text(r.Prompt), "|")
		for j := range r.N {
			d := r.Drawn("policy", 0, j)
			script := s[d.Key.Stream]
			ids := append(ids(script[min(turn, len(script)-1)]), 0)
			out[i] = append(out[i], rollout.Segment{Author: rollout.Policy, IDs: ids, Logprob: make([]float32, len(ids)), Entropy: make([]float32, len(ids)), Drawn: d, Stop: rollout.EOS})
		}
	}
	return out, nil
}

func ids(text string) []int {
	var out []int
	for _, b := range []byte(text) {
		out = append(out, int(b))
	}
	return out
}

func text(ids []int) string {
	var b []byte
	for _, id := range ids {
		b = append(b, byte(id))
	}
	return string(b)
}

// spelled writes texts as their bytes, with a bar after each message.
type spelled struct{}

func (spelled) Prompt(p verify.Problem) ([]int, error) { return ids(p.Question), nil }

func (spelled) Decode(ids []int) string { return text(ids) }

func (s spelled) Begin(p verify.Problem, m []world.Message) ([]int, error) {
	more, err := s.Next(true, m)
	return append(ids(p.Question), more...), err
}

func (spelled) Next(_ bool, said []world.Message) ([]int, error) {
	var out []int
	for _, m := range said {
		out = append(out, ids(m.Text+"|")...)
	}
	return out, nil
}

// diary is a journal of one episode in memory.
type diary struct {
	mu      sync.Mutex
	answers map[[2]int]world.Answer
	faults  map[int]error
	calls   int
}

func (d *diary) Answer(a world.Asked, call func() (world.Answer, error)) (world.Answer, error) {
	at := [2]int{a.Turn, a.Number}
	d.mu.Lock()
	known, there := d.answers[at]
	d.mu.Unlock()
	if there {
		return known, nil
	}
	got, err := call()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if err == nil {
		d.answers[at] = got
	}
	return got, err
}

func (d *diary) Knows(a world.Asked) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, there := d.answers[[2]int{a.Turn, a.Number}]
	return there
}

func (d *diary) Fault(turn int) (error, bool) {
	why, known := d.faults[turn]
	return why, known
}

func (d *diary) Failed(turn int, why error) error {
	d.faults[turn] = why
	return nil
}

// TestWhoseFault: what comes of an episode whose program misbehaves, by whose doing it is, while an episode of
// another sample in the same process wins. What a policy wrote is scored, and what no policy can help is
// not; nobody loses an episode by what another wrote.
func TestWhoseFault(t *testing.T) {
	refused := world.Unanswered
	for _, x := range []struct {
		name  string
		turn  string
		reply string // to that turn; "": there is none
		why   string // the episode is not scored; "": it wins in its next turn
		clock time.Duration
	}{
		{name: "no fault", turn: "x", reply: "2: x"},
		{name: "it always dies", turn: "die", reply: refused},
		{name: "it dies once", turn: "once FILE", reply: "again"},
		{name: "it hangs", turn: "hang", reply: refused, clock: 300 * time.Millisecond},
		{name: "it never answers", turn: "never", reply: refused, clock: 300 * time.Millisecond},
		{name: "it floods", turn: "flood", reply: refused},
		{name: "it says it broke", turn: "error", reply: refused},
		{name: "nothing works any more", turn: "poor FILE", why: "nor does it play what it should"},
		{name: "a malformed answer", turn: `say {"id":"ID","reward":"much"}`, why: world.ErrSpoken.Error()},
		{name: "an answer for nobody", turn: `say {"id":"none"}`, why: `it answers with the id "none", for which nothing was asked`},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "file")
			modes := []string{}
			if strings.HasPrefix(x.turn, "poor") {
				modes = append(modes, "poor="+file)
			}
			w := opened(t, nil, modes...)
			turn := strings.ReplaceAll(x.turn, "FILE", file)
			script := scripted{0: {"a", turn, "win"}, 1: {"a", "b", "c", "d", "win"}}
			journals := map[uint32]*diary{}
			for s := range script {
				journals[s] = &diary{answers: map[[2]int]world.Answer{}, faults: map[int]error{}}
			}
			c := rollout.Collector{Sampler: script, Renderer: spelled{}, Episodes: &rollout.Episodes{World: w, Renderer: spelled{}, Turns: 9, Tokens: 9999, Clock: x.clock, Start: StartClock,
				Dice:    func(k random.Key, _ random.Purpose) *random.Rand { return random.At(0, 0, uint64(k.Stream)) },
				Journal: func(k random.Key, _ bool) world.Journal { return journals[k.Stream] }}}
			dead := strings.HasPrefix(x.turn, "poor") // for all episodes
			for try := range 2 {                      // the second goes by the journal
				if dead && try == 1 {
					break
				}
				groups, err := c.Collect(t.Context(), []verify.Problem{{ID: "p", Question: "q"}}, 2, rollout.Params{MaxTokens: 999}, random.Key{})
				if err != nil {
					t.Fatal(err)
				}
				paths := groups[0].Paths
				if v := paths[1].Verdicts[0]; (v.Verdict == verify.Right) == dead {
					t.Errorf("the other sample: %+v", v)
				}
				turns := groups[0].Turns(0)
				got := turns[1].Turn.Reply
				switch v := paths[0].Verdicts[0]; {
				case x.why != "" && (v.Verdict != verify.NotScored || !strings.Contains(v.Reason, x.why)):
					t.Errorf("%+v, want not scored: %s", v, x.why)
				case x.why == "" && v.Verdict != verify.Right:
					t.Errorf("%+v", v)
				case x.why == "" && (len(got) != 1 || got[0].Text != x.reply):
					t.Errorf("the turn is told %+v, want %q", got, x.reply)
				}
			}
		})
	}
}

// TestImpure: a journal keeps what a program says that is not pure. It is not asked again for what is known,
// and catches up where something is not.
func TestImpure(t *testing.T) {
	w := opened(t, nil, "impure")
	j := &diary{answers: map[[2]int]world.Answer{}, faults: map[int]error{}}
	play := func(w world.World, turns ...string) (replies []string) {
		e := begun(t, w)
		for i, text := range turns {
			replies = append(replies, told(t, e, i+1, text).Messages[0].Text)
		}
		return replies
	}
	first := play(w.Through(j), "a", "b", "c")
	if j.calls != 4 {
		t.Errorf("%d calls", j.calls)
	}
	gone := New(Command{Words: []string{"/no/such/program"}}, nil)
	if again := play(gone.Through(j), "a", "b", "c"); !slices.Equal(again, first) || j.calls != 4 {
		t.Errorf("%q, want %q", again, first)
	}
	delete(j.answers, [2]int{3, 1})
	again := play(w.Through(j), "a", "b", "c")
	if !slices.Equal(again[:2], first[:2]) || j.calls != 5 || !strings.HasPrefix(again[2], "3 of ") || again[2] == first[2] {
		t.Errorf("%q, before %q", again, first)
	}
}

// TestCatchUp: an episode catches up before a turn that the journal does not know, or a verdict, and not before one that
// it knows or that the program has no answer to.
func TestCatchUp(t *testing.T) {
	for _, x := range []struct {
		modes []string
		next  int // turn; 0: the verdict
		known bool
		asks  bool
	}{
		{[]string{"impure", "judges"}, 3, true, false},
		{[]string{"impure", "judges"}, 3, false, true},
		{[]string{"impure", "judges"}, 0, true, false},
		{[]string{"impure", "judges"}, 0, false, true},
		{[]string{"impure"}, 0, false, false},
	} {
		w := opened(t, nil, x.modes...)
		said := world.Answer{Text: `{"messages":[{"text":"said"}]}`}
		j := &diary{answers: map[[2]int]world.Answer{{0, 1}: said, {1, 1}: said, {2, 1}: said}, faults: map[int]error{}}
		next, at := (*world.Turn)(nil), [2]int{2, 2}
		if x.next > 0 {
			next, at = &world.Turn{Text: "c", At: x.next}, [2]int{x.next, 1}
		}
		if x.known {
			j.answers[at] = said
		}
		e := begun(t, w.Through(j)).(*episode)
		told(t, e, 1, "a")
		told(t, e, 2, "b")
		if e.process != nil || len(e.behind) != 2 {
			t.Fatalf("%d turns behind", len(e.behind))
		}
		if err := e.CatchUp(t.Context(), next); err != nil {
			t.Error(err)
		}
		if asks := e.process != nil; asks != x.asks || (len(e.behind) == 0) != x.asks || j.calls != 0 {
			t.Errorf("%v: it is asked: %v; %d turns behind, and the journal has %d new answers", x, asks, len(e.behind), j.calls)
		}
	}
}

// TestClocks: a program that is silent where it begins, is asked for its rows or begins an episode is given up, with what
// it is late with.
func TestClocks(t *testing.T) {
	t.Parallel()
	const short = 300 * time.Millisecond
	silent := New(program(t, "silent"), nil)
	silent.programs.clock = short
	t.Cleanup(silent.Close)
	if _, err := silent.Hello(); err == nil || !strings.Contains(err.Error(), "it says nothing for 300ms; accepted: {") {
		t.Errorf("its first line: %v", err)
	}
	late := New(program(t, "late=rows", "late=begin"), nil)
	t.Cleanup(late.Close)
	p, _, err := late.programs.enter(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	late.programs.clock, p.clock = short, short
	if err := late.Try(t.Context(), verify.Problem{}, time.Millisecond); err == nil || !strings.Contains(err.Error(), "it does not begin an episode within 301ms") {
		t.Errorf("an episode: %v", err)
	}
	late = New(program(t, "late=rows"), nil)
	t.Cleanup(late.Close)
	if p, _, err = late.programs.enter(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	p.clock = short
	if _, err := late.Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "it does not answer rows for 300ms") {
		t.Errorf("rows: %v", err)
	}
	s := server(t, "mute=server/discover")
	s.clock = short
	if _, err := s.List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "it does not begin within 300ms") {
		t.Errorf("a server: %v", err)
	}
	if testing.Short() { // what follows waits for seconds, as a busy machine may take one to begin
		return
	}
	s = server(t, "mute=tools/list")
	s.clock = 10 * time.Second // in which it begins
	if _, err := s.List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "it does not list its tools within 10s") {
		t.Errorf("the tools of a server: %v", err)
	}
}

// TestPlaces: where a step fills all processes that episodes share, the canary and an episode that is tried alone have
// places of their own, and those have a bound too.
func TestPlaces(t *testing.T) {
	full := &programs{came: make(chan struct{})}
	full.hello.Store(&Hello{AtOnce: 1})
	process := func() *process {
		return &process{child: &child{dead: make(chan struct{})}, episodes: 1, hello: Hello{AtOnce: 1}}
	}
	for range maxProcesses {
		full.shared = append(full.shared, process())
	}
	if _, _, _, err := full.room(false); !errors.Is(err, world.ErrUnable) || !strings.Contains(err.Error(), "64 processes hold as many episodes as they can, at_once = 1 each") {
		t.Errorf("one more that is shared: %v", err)
	}
	for n := range maxProcesses {
		if p, _, came, err := full.room(true); p != nil || came != nil || err != nil {
			t.Fatalf("%d are alone: %v", n, err)
		}
		full.apart--
		full.alone = append(full.alone, process())
	}
	if _, _, _, err := full.room(true); !errors.Is(err, world.ErrUnable) || !strings.Contains(err.Error(), "64 processes have an episode each that is tried alone") {
		t.Errorf("one more alone: %v", err)
	}
	close(full.shared[0].dead)
	if _, _, _, err := full.room(false); err != nil || full.coming != 1 {
		t.Errorf("a place that is free again: %v", err)
	}
}

// TestStartBesideSteps: while a process starts, episodes of others are answered, and an episode that waits for it
// ends with its context.
func TestStartBesideSteps(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	w := New(program(t, "at_once=1", "slow="+slow), nil)
	defer w.Close()
	e, _, err := w.Begin(t.Context(), verify.Problem{}, canaryDice())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(slow, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	begun := make(chan error)
	go func() {
		_, _, err := w.Begin(ctx, verify.Problem{}, canaryDice())
		begun <- err
	}()
	for starting := 0; starting == 0; { // until the other process starts
		runtime.Gosched()
		w.programs.mu.Lock()
		starting = w.programs.coming
		w.programs.mu.Unlock()
	}
	if _, err := e.Step(t.Context(), world.Turn{Text: "a"}); err != nil {
		t.Error(err)
	}
	cancel(over)
	if err := <-begun; !errors.Is(err, over) {
		t.Error(err)
	}
	e.Close()
}

// TestShareWhatStarts: episodes that begin at once share one process, if that holds them.
func TestShareWhatStarts(t *testing.T) {
	w := New(program(t, "at_once=4"), nil)
	defer w.Close()
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			if _, _, err := w.Begin(t.Context(), verify.Problem{}, canaryDice()); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if n := len(w.programs.shared); n != 2 {
		t.Errorf("%d processes; want 2", n)
	}
}
