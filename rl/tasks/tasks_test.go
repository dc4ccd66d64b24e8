package tasks

import (
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

// validated is t after Validate.
func validated[T Task](t *testing.T, task T) T {
	t.Helper()
	if err := task.Validate(); err != nil {
		t.Fatal(err)
	}
	return task
}

func countdownTiny() *Countdown {
	return &Countdown{Numbers: 4, MaxNumber: 22, MaxTotal: 45, Aimed: 0.3}
}
func countdownBlind() *Countdown {
	return &Countdown{Numbers: 3, MaxNumber: 30, MaxTotal: 60, Aimed: 0}
}
func chainSumTiny() *chainSum { return &chainSum{Terms: 4, MaxNumber: 20, MaxTotal: 40, Careless: 0.4} }

// someTasks are the demo's three and the corners of the settings.
func someTasks() map[string]Demonstrator {
	return map[string]Demonstrator{
		"countdown-tiny":  countdownTiny(),
		"countdown-blind": countdownBlind(),
		"chain-sum-tiny":  chainSumTiny(),
		"countdown-small": &Countdown{Numbers: 2, MaxNumber: 9, MaxTotal: 9, Aimed: 1},
		"countdown-large": &Countdown{Numbers: 8, MaxNumber: 999, MaxTotal: 9999, Aimed: 0.5},
		"chain-sum-small": &chainSum{Terms: 2, MaxNumber: 9, MaxTotal: 17, Careless: 1},
		"chain-sum-large": &chainSum{Terms: 8, MaxNumber: 999, MaxTotal: 1997, Careless: 0.5},
		"composition":     defaultComposition(),
		"program":         defaultProgram(),
		"program-large":   &coding{MaxFactor: 99, MaxTotal: 999, Careless: 1},
		"trace":           defaultTrace(),
		"trace-small":     &trace{MaxFactor: 3, MaxTotal: 9, Careless: 1},
		"composed-small":  &composition{Letters: 2, MinDepth: 1, MaxDepth: 1},
		"guess":           defaultGuess(),
		"sums":            defaultSums(),
		"sums-large":      &sums{Terms: 8, Digits: 3, Most: 10, Called: 1},
		"grid":            worldOf("grid").(Demonstrator),
		"rooms":           worldOf("rooms").(Demonstrator),
		"nim":             worldOf("nim").(Demonstrator),
		"tictactoe":       worldOf("tictactoe").(Demonstrator),
		"critic":          worldOf("critic").(Demonstrator),
		"critic-large":    worldOf("critic", "steps=8", "faults=8", "max_total=999", "max_number=99").(Demonstrator),
		"shop":            worldOf("shop").(Demonstrator),
		"shop-large":      worldOf("shop", "articles=9", "features=6", "values=9", "turns=7").(Demonstrator),
		"forms":           worldOf("forms").(Demonstrator),
		"forms-large":     worldOf("forms", "pages=9", "fields=4", "values=2", "turns=27").(Demonstrator),
		"repair":          worldOf("repair").(Demonstrator),
		"repair-large":    worldOf("repair", "lines=4", "largest_result=999", "turns=4").(Demonstrator),
		"library":         defaultLibrary(),
		"library-judged":  worldOf("library", "judged=true", "lies=0.3", "talk=2", "hops=1", "show=2").(Demonstrator),
		"library-routes":  worldOf("library", "routes=true", "hops=3").(Demonstrator),
		"rewrite":         defaultRewrite(),
		"rewrite-small":   &rewrite{Things: 8, Relations: 3, Noise: 4, Talk: 1, Aimed: 1},
		"table":           defaultTable(),
		"table-queries":   &tabled{Rows: 9, Most: 999, Words: 0, Careless: 1},
		"table-words":     &tabled{Rows: 2, Most: 3, Words: 1, Careless: 0},
		"guess-recap":     &guess{Size: 3, Largest: 99, Most: 2, Recap: true, Aimed: 1},
		"composed-large":  &composition{Letters: 16, MinDepth: 3, MaxDepth: 8, ShownDepth: 8},
	}
}

// worldOf is the named world with some settings put in place of its own, each as KEY=VALUE.
func worldOf(name string, sets ...string) Episodic {
	t, err := New(name)
	if err != nil {
		panic(err)
	}
	for _, set := range sets {
		key, value, _ := strings.Cut(set, "=")
		if err := Set(t, key, value); err != nil {
			panic(err)
		}
	}
	return t.(Episodic)
}

// binomialBound is how far a share of n independent draws of probability p may
// lie from p: six standard deviations, which chance exceeds once in 5e8.
func binomialBound(p float64, n int) float64 { return 6 * math.Sqrt(p*(1-p)/float64(n)) }

func TestDefaultsAreTheDemo(t *testing.T) {
	for name, want := range map[string]Task{"countdown": countdownTiny(), "chain_sum": chainSumTiny()} {
		got, err := New(name)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	if _, err := New("countdwn"); err == nil || !strings.HasPrefix(err.Error(), `unknown task "countdwn"`) {
		t.Errorf("unknown name: %v", err)
	}
	for _, f := range Families() {
		if f.Summary == "" || !strings.HasPrefix(f.Doc, f.Name) || f.New().Name() != f.Name {
			t.Errorf("family %q: its text begins with its name, as its task's name is", f.Name)
		}
		// Every setting stands in the text with its default.
		settings := reflect.TypeOf(f.New()).Elem()
		if field, ok := settings.FieldByName("Settings"); ok {
			settings = field.Type
		}
		for i := range settings.NumField() {
			if key := settings.Field(i).Tag.Get("toml"); key == "" || !regexp.MustCompile(`(?m)^`+key+` .*Default `).MatchString(f.Doc) {
				t.Errorf("family %q: its text does not explain the setting %q", f.Name, key)
			}
		}
	}
}

func TestAtIsAFunctionOfItsArguments(t *testing.T) {
	first := func(seed, stream, index uint64) uint64 { return random.At(seed, stream, index).Uint64() }
	if once, again := first(1, 2, 3), first(1, 2, 3); once != again {
		t.Error("equal arguments give different numbers")
	}
	seen := map[uint64]bool{}
	for a := range uint64(20) {
		for b := range uint64(20) {
			for c := range uint64(20) {
				seen[first(a, b, c)] = true
			}
		}
	}
	if len(seen) != 20*20*20 {
		t.Errorf("%d different first numbers of 8000 streams", len(seen))
	}
	// As first released: a change would change every run's problems.
	if got := first(1, 2, 3); got != 0x2e0b01069a72faa3 {
		t.Errorf("the first number of (1, 2, 3) is %#x", got)
	}
}

func TestBetweenIsUniform(t *testing.T) {
	const n = 60_000
	for _, bounds := range [][2]int{{1, 6}, {-3, 3}, {5, 5}} {
		count := map[int]int{}
		r := random.At(1, 0, 0)
		for range n {
			count[r.Between(bounds[0], bounds[1])]++
		}
		p := 1 / float64(bounds[1]-bounds[0]+1)
		if len(count) != bounds[1]-bounds[0]+1 {
			t.Errorf("%v: values %v", bounds, count)
		}
		for value, k := range count {
			if got := float64(k) / n; value < bounds[0] || value > bounds[1] || math.Abs(got-p) > binomialBound(p, n) {
				t.Errorf("%v: %d has the share %.4f, want %.4f", bounds, value, got, p)
			}
		}
	}
	for _, p := range []float64{0, 0.3, 1} {
		r, hits := random.At(2, 0, 0), 0
		for range n {
			if r.Chance(p) {
				hits++
			}
		}
		if got := float64(hits) / n; math.Abs(got-p) > binomialBound(p, n) {
			t.Errorf("chance %g came up with the share %g", p, got)
		}
	}
}

var token = regexp.MustCompile(`\d+|\S`)

// TestDraws: rows keep to their split, are a function of their key, are made of
// the vocabulary's tokens in the promised number, and their demonstrations have
// the right form.
func TestDraws(t *testing.T) {
	for name, task := range someTasks() {
		validated(t, task)
		ids := map[string]bool{}
		for _, token := range task.Vocabulary() {
			if ids[token] {
				t.Errorf("%s: token %q twice in the vocabulary", name, token)
			}
			ids[token] = true
		}
		if v := task.Vocabulary(); v[0] != "<pad>" || v[1] != "<eos>" {
			t.Errorf("%s: the vocabulary begins with %q", name, v[:2])
		}
		check := func(what, text string) int {
			tokens := token.FindAllString(text, -1)
			for _, token := range tokens {
				if !ids[token] {
					t.Errorf("%s: %s %q holds %q, which is not in the vocabulary", name, what, text, token)
				}
			}
			return len(tokens)
		}
		longest := 0
		for i := range 300 {
			split := Split(i % 2)
			r := random.At(1, 7, uint64(i))
			row := task.Draw(r, split)
			if heldOut := crc32.ChecksumIEEE([]byte(row.ID))%16 == 0; heldOut != (split == HeldOut) {
				t.Fatalf("%s: %q was drawn for split %d", name, row.ID, split)
			}
			demonstration, err := task.Demonstration(r, row)
			if err != nil {
				t.Fatal(err)
			}
			if n := check("prompt", row.Question); n != task.PromptTokens() {
				t.Errorf("%s: prompt %q has %d tokens, promised are %d", name, row.Question, n, task.PromptTokens())
			}
			longest = max(longest, check("demonstration", demonstration))
			if !task.Valid(row, demonstration, true) {
				t.Errorf("%s: %s demonstration %q is not valid", name, row.Question, demonstration)
			}
			if task.Valid(row, demonstration, false) || task.Verify(row, demonstration, false).Verdict != verify.Wrong {
				t.Errorf("%s: a completion that does not end was accepted", name)
			}
			again := random.At(1, 7, uint64(i))
			row2 := task.Draw(again, split)
			if demonstration2, _ := task.Demonstration(again, row2); !reflect.DeepEqual(row, row2) || demonstration != demonstration2 {
				t.Errorf("%s: draw %d differs from itself", name, i)
			}
		}
		if longest+1 != task.CompletionTokens() {
			t.Errorf("%s: the longest demonstration has %d tokens with its end, promised are %d", name, longest+1, task.CompletionTokens())
		}
		if _, err := task.Demonstration(random.At(1, 7, 0), verify.Problem{ID: "foreign", Answer: "1"}); err == nil {
			t.Errorf("%s: demonstrates a row of another task", name)
		}
		if task.Difficulty() == "" {
			t.Errorf("%s: no difficulty", name)
		}
	}
}

// TestSplitsNeverMeet draws 10,000 rows of each split of each demo task.
func TestSplitsNeverMeet(t *testing.T) {
	for name, task := range map[string]Task{"countdown-tiny": countdownTiny(), "countdown-blind": countdownBlind(), "chain-sum-tiny": chainSumTiny()} {
		var seen [2]map[string]bool
		for _, split := range []Split{Train, HeldOut} {
			seen[split] = map[string]bool{}
			for i := range 10_000 {
				seen[split][task.Draw(random.At(3, uint64(split), uint64(i)), split).ID] = true
			}
		}
		for id := range seen[HeldOut] {
			if seen[Train][id] {
				t.Errorf("%s: %q was drawn for both splits", name, id)
			}
		}
		test, err := HeldOutRows(task, 512)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range test {
			if seen[Train][row.ID] || SplitOf(row.ID) != HeldOut {
				t.Errorf("%s: %q of the test set is not held out", name, row.ID)
			}
		}
	}
}

func TestHeldOutRows(t *testing.T) {
	task := countdownTiny()
	rows, err := HeldOutRows(task, 512)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row.ID] = true
	}
	if len(seen) != 512 {
		t.Errorf("%d different problems, want 512", len(seen))
	}
	if again, _ := HeldOutRows(task, 100); !reflect.DeepEqual(again, rows[:100]) {
		t.Error("a smaller test set is not the beginning of a bigger one")
	}
	// The first problems by name: another test set would make figures of
	// different versions incomparable.
	var first []string
	for _, row := range rows[:4] {
		first = append(first, row.Question)
	}
	if want := []string{"11 6 5 1 > 23:", "14 4 3 2 > 23:", "21 11 2 1 > 9:", "18 17 7 4 > 12:"}; !slices.Equal(first, want) {
		t.Errorf("the test set begins with %q, want %q", first, want)
	}
	small := &Countdown{Numbers: 2, MaxNumber: 9, MaxTotal: 9}
	if _, err := HeldOutRows(validated(t, small), 20); err == nil || !strings.Contains(err.Error(), "different held-out problems") {
		t.Errorf("more problems than there are: %v", err)
	}
}

func TestSamples(t *testing.T) {
	for _, f := range Families() {
		task := validated(t, f.New())
		rows, demonstrations, err := Samples(task, 3)
		if err != nil || len(rows) != 3 || len(demonstrations) != 3 {
			t.Fatalf("%s: %d rows, %d demonstrations, %v", f.Name, len(rows), len(demonstrations), err)
		}
		for i := range rows {
			if demonstrator, ok := task.(Demonstrator); ok && !demonstrator.Valid(rows[i], demonstrations[i], true) {
				t.Errorf("%s: sample %q %q", f.Name, rows[i].Question, demonstrations[i])
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		task Task
		want string
	}{
		{&Countdown{Numbers: 1, MaxNumber: 22, MaxTotal: 45}, "numbers = 1 is out of range; accepted: a whole number from 2 to 8"},
		{&Countdown{Numbers: 9, MaxNumber: 22, MaxTotal: 45}, "numbers = 9"},
		{&Countdown{Numbers: 4, MaxNumber: 0, MaxTotal: 45}, "max_number = 0 is out of range; accepted: a whole number from 1 to 999"},
		{&Countdown{Numbers: 4, MaxNumber: 22, MaxTotal: 21}, "max_total = 21 is out of range; accepted: at least max_number = 22"},
		{&Countdown{Numbers: 4, MaxNumber: 22, MaxTotal: 45, Aimed: 1.5}, "aimed = 1.5 is out of range; accepted: a number from 0 to 1"},
		{&Countdown{Numbers: 4, MaxNumber: 22, MaxTotal: 45, Aimed: math.NaN()}, "aimed = nan"},
		{&chainSum{Terms: 1, MaxNumber: 20, MaxTotal: 40}, "terms = 1 is out of range; accepted: a whole number from 2 to 8"},
		{&chainSum{Terms: 4, MaxNumber: 1000, MaxTotal: 40}, "max_number = 1000"},
		{&chainSum{Terms: 4, MaxNumber: 20, MaxTotal: 38}, "max_total = 38 is out of range; accepted: at least 2 max_number - 1 = 39"},
		{&chainSum{Terms: 4, MaxNumber: 20, MaxTotal: 40, Careless: -1}, "careless = -1.0 is out of range; accepted: a number from 0 to 1"},
	} {
		err := c.task.Validate()
		var setting *settings.Error
		if !errors.As(err, &setting) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.task, err, c.want)
		}
	}
	if err := (&Countdown{Numbers: 2, MaxNumber: 1, MaxTotal: 1}).Validate(); err == nil || !strings.Contains(err.Error(), "no training problems or no held-out problems") {
		t.Errorf("settings without problems: %v", err)
	}
}

// TestTaskVerifiers: the verifiers that verify.Grade finds by name judge rows
// as the tasks do.
func TestTaskVerifiers(t *testing.T) {
	for _, f := range Families() {
		task, ok := f.New().(Demonstrator)
		if _, played := task.(Episodic); !ok || played { // its verdicts are those of its world
			continue
		}
		verifier, err := verify.New("task:"+f.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		verdicts := map[string]int{}
		for i := range 200 {
			r := random.At(5, 0, uint64(i))
			row := task.Draw(r, Train)
			demonstration, err := task.Demonstration(r, row)
			if err != nil {
				t.Fatal(err)
			}
			want := task.Verify(row, demonstration, true)
			if got := verifier.Verify(row, demonstration); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s %s: by name %+v, by the task %+v", f.Name, row.Question, demonstration, got, want)
			}
			verdicts[want.Verdict]++
		}
		if verdicts[verify.Right] == 0 || verdicts[verify.Wrong] == 0 {
			t.Errorf("%s: verdicts %v", f.Name, verdicts)
		}
	}
	for _, c := range []struct{ line, verdict string }{
		{`{"verifier":"task:countdown","task":{"question":"q","answer":"22 - 17 + 73 + 31","metadata":{"numbers":[17,22,31,73],"target":109}},"completion":"22-17+73+31","extract":"none"}`, verify.Right},
		{`{"verifier":"task:countdown","task":{"question":"q","answer":"22 - 17 + 73 + 31","metadata":{"numbers":[17,22,31,73],"target":109}},"completion":"109","extract":"none"}`, verify.Wrong},
		{`{"verifier":"task:countdown","task":{"metadata":{"numbers":[17,22,31],"target":5}},"completion":"<answer>22-17</answer>"}`, verify.Wrong},
		{`{"verifier":"task:countdown","task":{"metadata":{}},"completion":"1"}`, verify.NotScored},
		{`{"verifier":"task:chain_sum","task":{"question":"q","answer":"184","metadata":{}},"completion":"184.0","extract":"none"}`, verify.Right},
		{`{"verifier":"task:chain_sum","task":{"question":"q","answer":"184","metadata":{}},"completion":"184/1","extract":"none"}`, verify.Wrong},
		{`{"verifier":"task:chain_sum","task":{"answer":"184"},"completion":"so <answer>184</answer>"}`, verify.Right},
		{`{"verifier":"task:chain_sum","task":{"answer":"11","metadata":{"form":"running_total"}},"completion":"12+7=19-5=14-3=11"}`, verify.Right},
		{`{"verifier":"task:chain_sum","task":{},"completion":"11"}`, verify.NotScored},
	} {
		if v, err := verify.Grade([]byte(c.line), ""); err != nil || v.Verdict != c.verdict {
			t.Errorf("%s: %+v, %v; want %s", c.line, v, err, c.verdict)
		}
	}
}
