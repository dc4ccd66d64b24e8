package tasks

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// TestMixture: the tasks of a mixture come with their shares, their problems are their own in the same
// split, in one vocabulary, and are judged by their own verifiers.
func TestMixture(t *testing.T) {
	m := validated(t, &mixture{Of: "countdown numbers=2 max_number=20; chain_sum terms=3 careless=0.1; composition; countdown_search", Shares: "4, 2, 1, 0"})
	ids := map[string]bool{}
	for i, token := range m.Vocabulary() {
		if ids[token] || i < 2 && token != []string{"<pad>", "<eos>"}[i] {
			t.Errorf("token %d of the vocabulary is %q", i, token)
		}
		ids[token] = true
	}
	judge, err := verify.New("task:mixture", nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1400
	drawn := map[string]int{}
	longest := [2]int{}
	for i := range n {
		split, r := Split(i%2), random.At(5, 6, uint64(i))
		row := m.Draw(r, split)
		var kind string
		if found, err := row.Field("kind", &kind); !found || err != nil {
			t.Fatalf("row %+v has no kind: %v", row, err)
		}
		if own, of := strings.CutPrefix(row.ID, kind+":"); !of || SplitOf(own) != split {
			t.Fatalf("%q was drawn for the other split, or its id does not begin with its task", row.ID)
		}
		drawn[kind]++
		said, err := m.Demonstration(r, row)
		if err != nil || !m.Valid(row, said, true) {
			t.Fatalf("%s: %q is not valid, %v", row.Question, said, err)
		}
		for j, text := range []string{row.Question, said} {
			tokens := token.FindAllString(text, -1)
			longest[j] = max(longest[j], len(tokens)+j) // with the end of a demonstration
			if unknown := slices.IndexFunc(tokens, func(s string) bool { return !ids[s] }); unknown >= 0 {
				t.Fatalf("%q holds %q, which is not in the vocabulary", text, tokens[unknown])
			}
		}
		own, err := verify.New("task:"+kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{said, row.Answer, "0=1", ""} {
			if got, want := judge.Verify(row, text).Verdict, own.Verify(row, text).Verdict; got != want {
				t.Errorf("%s %q is %s, and %s by its own verifier", row.Question, text, got, want)
			}
		}
		if got, want := m.Verify(row, said, true).Verdict, judge.Verify(row, said).Verdict; got != want {
			t.Errorf("%s %q is %s by the task and %s by its verifier", row.Question, said, got, want)
		}
	}
	if longest[0] != m.PromptTokens() || longest[1] > m.CompletionTokens() { // a search is hardly ever as long as it may be
		t.Errorf("at most %v tokens, promised are %d and %d", longest, m.PromptTokens(), m.CompletionTokens())
	}
	for kind, share := range map[string]float64{"countdown": 4.0 / 7, "chain_sum": 2.0 / 7, "composition": 1.0 / 7, "countdown_search": 0} {
		if got := float64(drawn[kind]) / n; math.Abs(got-share) > binomialBound(share, n) {
			t.Errorf("%s has the share %.3f, want %.3f", kind, got, share)
		}
	}
	foreign := verify.Problem{ID: "1", Answer: "1", Metadata: metadata(map[string]any{"kind": "gcd"})}
	if _, err := m.Demonstration(random.At(1, 1, 1), foreign); err == nil || judge.Verify(foreign, "1").Verdict != verify.NotScored || m.Verify(foreign, "1", true).Verdict != verify.NotScored {
		t.Error("a row of another task is demonstrated or scored")
	}
}

// TestMixtureIDs: problems of two tasks are different ones, though each task alone gives them the same ID.
func TestMixtureIDs(t *testing.T) {
	m := validated(t, &mixture{Of: "countdown numbers=2 max_number=6 max_total=12; countdown_search numbers=2 max_number=6 max_total=12"})
	rows, err := Rows(m, Train, 1, 64) // of the 33 problems of each one is held out
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, row := range rows {
		kinds[KindOf(m, row)]++
	}
	if kinds["countdown"] != 32 || kinds["countdown_search"] != 32 {
		t.Errorf("of each task there should be 32 problems: %v", kinds)
	}
}

// bareTask is a task whose rows share their metadata.
type bareTask struct {
	*Countdown
	shared map[string]json.RawMessage
}

func (b bareTask) Draw(*random.Rand, Split) verify.Problem {
	return verify.Problem{ID: "1", Metadata: b.shared}
}

// TestMixtureMetadata: the kind of a row is no part of what its task drew, which may have no metadata.
func TestMixtureMetadata(t *testing.T) {
	for i, shared := range []map[string]json.RawMessage{nil, metadata(map[string]any{"target": 1})} {
		m := &mixture{Of: fmt.Sprint("bare ", i)}
		blends.Store(*m, &blend{parts: []Demonstrator{bareTask{defaultCountdown(), shared}}, upTo: []float64{1}})
		t.Cleanup(func() { blends.Delete(*m) })
		before := maps.Clone(shared)
		row := m.Draw(random.At(1, 1, 1), Train)
		if KindOf(m, row) != "countdown" || len(row.Metadata) != len(shared)+1 || !reflect.DeepEqual(shared, before) {
			t.Errorf("%+v, and the task's own is %v", row, shared)
		}
	}
}

// TestMixtureFaults: what is no mixture is told with what was found and what is accepted.
func TestMixtureFaults(t *testing.T) {
	for want, m := range map[string]mixture{
		`of = "countdown" is out of range; accepted: 2 to 32 tasks with ; between them`:                 {Of: "countdown"},
		`accepted: a task before and after each ;`:                                                      {Of: "countdown; "},
		`unknown task "contdown"; did you mean countdown?`:                                              {Of: "contdown; chain_sum"},
		`names countdown twice; accepted: each task once`:                                               {Of: "countdown; countdown numbers=2"},
		`"numbers" is no setting; accepted: KEY=VALUE`:                                                  {Of: "countdown numbers; chain_sum"},
		`task countdown: unknown key nmbers; did you mean numbers?`:                                     {Of: "countdown nmbers=2; chain_sum"},
		`task countdown: max_total = 3 is out of range`:                                                 {Of: "countdown max_total=3; chain_sum"},
		`task gcd cannot be a part`:                                                                     {Of: "gcd; chain_sum"},
		`accepted: chain_sum, composition, countdown, countdown_search, program, rewrite, table, trace`: {Of: "nim; chain_sum"},
		`task mixture cannot be a part`:                                                                 {Of: "mixture; chain_sum"},
		`shares = "1" is out of range; accepted: 2 numbers with commas between them`:                    {Of: "countdown; chain_sum", Shares: "1"},
		`shares = "1, x" is out of range; accepted: numbers from 0 to 1e9`:                              {Of: "countdown; chain_sum", Shares: "1, x"},
		`shares = "1, -1" is out of range`:                                                              {Of: "countdown; chain_sum", Shares: "1, -1"},
		`shares = "1, nan" is out of range`:                                                             {Of: "countdown; chain_sum", Shares: "1, nan"},
		`shares = "0, 0" is out of range; accepted: a share above 0`:                                    {Of: "countdown; chain_sum", Shares: "0, 0"},
	} {
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v\nwant %s", m, err, want)
		}
	}
}
