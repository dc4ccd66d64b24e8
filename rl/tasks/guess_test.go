package tasks

import (
	"math"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// playedIn are the verdicts of a player on so many training problems of a task.
func playedIn(t *testing.T, task Episodic, p world.Player, n int) (mean float64, turns int) {
	t.Helper()
	for i := range n {
		row := task.Draw(random.At(3, 1, uint64(i)), Train)
		e, err := world.Play(t.Context(), task, p, row, task.Turns(), random.At(3, 2, uint64(i)), random.At(3, 3, uint64(i)))
		if err != nil || e.Verdict.Verdict == verify.NotScored || len(e.Turns) == 0 {
			t.Fatalf("%+v, %v", e, err)
		}
		mean += e.Verdict.Score
		turns = max(turns, len(e.Turns))
	}
	return mean / float64(n), turns
}

// always says one thing.
type always string

func (a always) Play([]world.Message, *random.Rand) string { return string(a) }

// TestGuess: halving finds every number, random guesses find as many as is said, and what is no
// guess finds none.
func TestGuess(t *testing.T) {
	recap := validated(t, &guess{Size: 31, Largest: 127, Most: 5, Recap: true})
	if mean, _ := playedIn(t, recap, recap.Best(), 1024); mean != 1 {
		t.Errorf("with recap the best player earns %v", mean)
	}
	g := validated(t, defaultGuess())
	if mean, turns := playedIn(t, g, g.Best(), 1024); mean != 1 || turns != g.Turns() {
		t.Errorf("the best player earns %v, in up to %d turns", mean, turns)
	}
	const n = 4000
	want := 1 - math.Pow(1-1/float64(g.Size), float64(g.Most))
	if mean, _ := playedIn(t, g, g.Random(), n); math.Abs(mean-want) > binomialBound(want, n) {
		t.Errorf("random guesses earn %v, want %v", mean, want)
	}
	shown, _ := playedIn(t, g, g.Shown(), n)
	if shown <= want || shown >= 1 {
		t.Errorf("demonstrations earn %v", shown)
	}
	for _, text := range []string{"", "the number", "<eos>", "-1", "99999999999999999999", "7 8", "right", ">"} {
		if mean, _ := playedIn(t, g, always(text), 50); mean != 0 {
			t.Errorf("%q earns %v", text, mean)
		}
	}
}

// TestGuessReplies: a reply is a function of the hidden number and the guess; the state says what is
// left; the same dice hide the same number, and others another one.
func TestGuessReplies(t *testing.T) {
	g := validated(t, &guess{Size: 7, Largest: 20, Most: 3, Aimed: 0})
	row := verify.Problem{Question: "4 - 10:", Metadata: metadata(map[string]any{"low": 4, "high": 10})}
	hidden := map[int]int{}
	for i := range 700 {
		e, first, err := g.Begin(t.Context(), row, random.At(1, 1, uint64(i)))
		if err != nil || first.Messages != nil || first.Verdict != nil {
			t.Fatalf("%+v, %v", first, err)
		}
		again, _, _ := g.Begin(t.Context(), row, random.At(1, 1, uint64(i)))
		h := e.(*guessing).hidden
		if hidden[h]++; h != again.(*guessing).hidden {
			t.Fatal("the same dice hide another number")
		}
		for turn, text := range []string{"7", "?", "11"} {
			r, err := e.Step(t.Context(), world.Turn{Text: text})
			want := []string{map[bool]string{true: greater, false: smaller}[h > 7], unread, smaller}[turn]
			switch {
			case err != nil:
				t.Fatal(err)
			case h == 7:
				if r.Verdict == nil || r.Verdict.Verdict != verify.Right || r.Reward != 1 || r.Facts["left"] != 0 {
					t.Errorf("7 is the number: %+v", r)
				}
			case r.Messages[0].Text != want || r.Facts["left"] != 3 || r.Facts["lost"] != []float64{0, 2.0 / 3, 1.0 / 3}[turn] || (r.Verdict != nil) != (turn == 2) || r.Reward != []float64{1.0 / 3, 0, 0}[turn]:
				t.Errorf("%d is hidden, turn %d: %+v", h, turn+1, r)
			case turn == 0 && r.State != map[bool]string{true: "2 8-10", false: "2 4-6"}[h > 7]:
				t.Errorf("%d is hidden: state %s", h, r.State)
			}
			if h == 7 {
				break
			}
		}
	}
	for n := 4; n <= 10; n++ {
		if p := float64(hidden[n]) / 700; math.Abs(p-1.0/7) > binomialBound(1.0/7, 700) {
			t.Errorf("%d is hidden in a share of %v", n, p)
		}
	}
	cut, _, _ := g.Begin(t.Context(), row, random.At(1, 1, 0))
	if r, err := cut.Step(t.Context(), world.Turn{Text: "7", Cut: true}); err != nil || r.Messages[0].Text != unread {
		t.Errorf("a turn that is cut off: %+v, %v", r, err)
	}
	if _, _, err := g.Begin(t.Context(), verify.Problem{ID: "foreign"}, random.At(1, 1, 0)); err == nil {
		t.Error("a row of another task begins")
	}
}

// TestGuessLost: what a guess loses is what search over all later guesses says, whichever number is
// hidden.
func TestGuessLost(t *testing.T) {
	found := map[[2]int]int{} // of so many numbers in so many turns, by the best guesses
	after := func(numbers, turns, n int) int {
		return 1 + found[[2]int{n, turns - 1}] + found[[2]int{numbers - 1 - n, turns - 1}]
	}
	for turns := 1; turns <= 5; turns++ {
		for numbers := 1; numbers <= 40; numbers++ {
			for n := range numbers {
				found[[2]int{numbers, turns}] = max(found[[2]int{numbers, turns}], after(numbers, turns, n))
			}
			for n := range numbers {
				e := &guessing{open: open{3, 2 + numbers}, turns: turns}
				if got, want := e.loses(3+n, true), float64(found[[2]int{numbers, turns}]-after(numbers, turns, n))/float64(numbers); got != want {
					t.Fatalf("guess %d of %d numbers in %d turns loses %v, want %v", n, numbers, turns, got, want)
				}
			}
		}
	}
}

// TestGuessSizes: with fewer, ranges of all the sizes are drawn, all are found, and none is too small to be one.
func TestGuessSizes(t *testing.T) {
	g := validated(t, &guess{Size: 31, Fewer: 3, Largest: 127, Most: 5})
	sizes := map[int]int{}
	for i := range 400 {
		o, err := openOf(g.Draw(random.At(3, 4, uint64(i)), Split(i%2)))
		if err != nil || o.high > g.Largest {
			t.Fatal(o, err)
		}
		sizes[o.size()]++
	}
	for size, n := range sizes {
		if size < 28 || size > 31 || n < 40 {
			t.Errorf("%d ranges of %d numbers: %v", n, size, sizes)
		}
	}
	if mean, _ := playedIn(t, g, g.Best(), 400); mean != 1 || len(sizes) != 4 {
		t.Errorf("the best player earns %v in ranges of the sizes %v", mean, sizes)
	}
	if err := (&guess{Size: 31, Fewer: 29, Largest: 127, Most: 5}).Validate(); err == nil {
		t.Error("ranges of two numbers are accepted")
	}
}
