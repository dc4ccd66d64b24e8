package serve

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model/sample"
)

// TestEvents: parts of an answer that are written in pieces have the bytes of the answer.
func TestEvents(t *testing.T) {
	head := answer{ID: `cmpl-"1"`, Object: "text_completion", Created: 3, Model: "a<b>\u2028]}", Fingerprint: "f", Seed: 1 << 52}
	text, length, id := "é\x00\xff]}\n", "length", 2
	w := httptest.NewRecorder()
	out, err := chunksOf(head, &telling{}, &events{w: w})
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, c := range []choice{
		{},
		{Index: 3, Text: &text, Finish: &length, IDs: []int{1, 2}},
		{Delta: &delta{Content: &text, Calls: []toolCall{{Index: &id}}}, Logprobs: &chatLogprobs{Content: []chatLogprob{}}},
	} {
		if err := out.addChoice(c); err != nil {
			t.Fatal(err)
		}
		a := head
		a.Choices = []choice{c}
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "data: %s\n\n", data)
	}
	if w.Body.Len() > 0 {
		t.Errorf("%q is sent before it is to be", w.Body)
	}
	if err := out.send(); err != nil || w.Body.String() != want.String() || !w.Flushed {
		t.Errorf("%v: got\n%s\nwant\n%s", err, w.Body, want.String())
	}
}

// streaming begins a stream of n choices in a bubble of testing/synctest; end ends it.
func streaming(t *testing.T, s *Server, n int) (f *feed, w *counted, end func()) {
	q := newQuery(completionWire)
	q.on, q.stream, q.n, q.prompts, q.givesIDs = s.served, true, n, [][]int{{1}}, true
	f, w = newFeed(s.streamPace), &counted{ResponseRecorder: httptest.NewRecorder()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.streamed(t.Context(), w, s.newTelling(q, nil), f)
	}()
	synctest.Wait() // it counts as a stream
	return f, w, func() {
		f.end(nil)
		<-done
	}
}

// pulses has tokens of a stream come every 3 ms while others are streamed, and returns how
// many of them each writing had. The engine says nothing more after the last one.
func pulses(t *testing.T, s *Server, others int64, tokens int) (written []int) {
	synctest.Test(t, func(t *testing.T) {
		s.streams.Store(others)
		f, w, end := streaming(t, s, 1)
		for range tokens {
			f.tell(event{token: sample.Token{ID: 'a'}})
			time.Sleep(3 * time.Millisecond)
		}
		time.Sleep(slowestPace)
		synctest.Wait()
		written = slices.Clone(w.written)
		end()
		if !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
			t.Errorf("the stream ends in %s", w.Body)
		}
	})
	return written
}

// counted counts the tokens that are written at once.
type counted struct {
	*httptest.ResponseRecorder
	written []int
}

func (w *counted) Write(data []byte) (int, error) {
	w.written = append(w.written, strings.Count(string(data), `"token_ids"`))
	return w.ResponseRecorder.Write(data)
}

// TestPace: a stream that is alone is written token by token, one of many in parts; the first
// token comes at once, and none is kept back when no other follows.
func TestPace(t *testing.T) {
	s := plain(t, nil)
	for _, c := range []struct {
		others int64
		want   []int
	}{
		{0, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{5, []int{1, 2, 2, 2, 2, 1}},
		{19, []int{1, 7, 2}},
		{10_000, []int{1, 9}},
	} {
		if got := pulses(t, s, c.others, 10); !slices.Equal(got, c.want) {
			t.Errorf("beside %d streams: %v tokens are written at once, want %v", c.others, got, c.want)
		}
	}
}

// TestPaceGrows: a token that comes when a stream has had nothing for a while is written at
// once, though so many others have begun meanwhile that their pace would let it wait.
func TestPaceGrows(t *testing.T) {
	s := plain(t, nil)
	synctest.Test(t, func(t *testing.T) {
		f, w, end := streaming(t, s, 1)
		f.tell(event{token: sample.Token{ID: 'a'}})
		time.Sleep(5 * perStream)
		s.streams.Add(50)
		f.tell(event{token: sample.Token{ID: 'a'}})
		synctest.Wait()
		if !slices.Equal(w.written, []int{1, 1}) {
			t.Errorf("%v tokens are written, want each when it came", w.written)
		}
		s.streams.Add(-50)
		end()
	})
}

// TestSameStep: what the engine tells of a step when the reader has been woken for it, of the
// other choices of an answer, does not wait for the next step.
func TestSameStep(t *testing.T) {
	s := plain(t, nil)
	synctest.Test(t, func(t *testing.T) {
		f, w, end := streaming(t, s, 2)
		for choice := range 2 {
			f.tell(event{choice: choice, token: sample.Token{ID: 'a'}})
			synctest.Wait() // the reader was quicker than the engine
		}
		time.Sleep(3 * perStream)
		synctest.Wait()
		if !slices.Equal(w.written, []int{1, 1}) {
			t.Errorf("%v tokens are written, want one of each choice", w.written)
		}
		end()
	})
}

// TestGatherEnds: the engine waits for no request where none comes, and not for ever where
// they do not cease to.
func TestGatherEnds(t *testing.T) {
	s := serving(t, tiny(t, refdev.New()), nil)
	s.gather()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				s.coming.Add(1)
			}
		}
	}()
	s.gather()
	close(stop)
	<-stopped
}
