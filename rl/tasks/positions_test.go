package tasks

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// told are the answers to turns: what is said, or the verdict.
func told(t *testing.T, w Episodic, row verify.Problem, turns ...string) []string {
	t.Helper()
	e, first, err := w.Begin(t.Context(), row, random.At(1, 1, 1))
	if err != nil || first.Messages != nil || first.State != row.Question {
		t.Fatalf("%+v, %v", first, err)
	}
	var out []string
	for _, said := range turns {
		r, err := e.Step(t.Context(), world.Turn{Text: said})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != nil {
			return append(out, r.Verdict.Verdict)
		}
		out = append(out, r.Messages[0].Text)
	}
	return out
}

// TestPositionReplies: what turns lead to, in each world.
func TestPositionReplies(t *testing.T) {
	asked := func(question string) verify.Problem { return verify.Problem{Question: question} }
	// Room 1 leads to room 2 with the key and, through the locked door, to room 3; the chest is in room 4 after it.
	house := verify.Problem{Question: "@o#.-", Metadata: metadata(map[string]any{"house": plan{[]string{".o#.", "o...", "#..o", "..o."}, 1, 2, 4}})}
	// Page 1 leads to page 2 with the second field, and that to page 3 with the first.
	mail := verify.Problem{Question: "@ o .\n2 ? 2 2\n1 ? 2 1", Metadata: metadata(map[string]any{"site": site{[]int{0, 1, 2}, []int{3, 2}, []int{2, 1}, 1}})}
	for _, c := range []struct {
		world Episodic
		row   verify.Problem
		turns string // by spaces; _ is a turn without a text
		want  []string
	}{
		{worldOf("grid"), asked("@.o\n.#.\n..G"), "u r", []string{"?\n@.o\n.#.\n..G", ".@o\n.#.\n..G"}},
		{worldOf("grid"), asked("@.o\n.#.\n..G"), "r d r", []string{".@o\n.#.\n..G", "?\n.@o\n.#.\n..G", verify.Wrong}},
		{worldOf("grid"), asked("@.o\n.#.\n..G"), "d d r r", []string{"..o\n@#.\n..G", "..o\n.#.\n@.G", "..o\n.#.\n.@G", verify.Right}},
		{worldOf("grid", "turns=3"), asked("@.o\n.#.\n..G"), "x _ ur", []string{"?\n@.o\n.#.\n..G", "?\n@.o\n.#.\n..G", verify.Wrong}},
		{worldOf("grid"), asked(".@.\n.$.\n..G"), "d l d r", []string{"...\n.@.\n.$G", "...\n@..\n.$G", "...\n...\n@$G", verify.Right}},
		{worldOf("grid"), asked("G@.\n..$\n..o"), "r d", []string{"G.@\n..$\n..o", "?\nG.@\n..$\n..o"}},
		{worldOf("grid"), asked("@G$\n...\n..."), "r r d", []string{".+$\n...\n...", "?\n.+$\n...\n...", ".G$\n.@.\n..."}},
		{worldOf("rooms"), house, "3 2 1 3 4", []string{"?\n@o#.-", "o@..+", "@o#.+", "#.@o+", verify.Right}},
		{worldOf("rooms"), house, "4 1 0 02 9 2", []string{"?\n@o#.-", "?\n@o#.-", "?\n@o#.-", "?\n@o#.-", "?\n@o#.-", "o@..+"}},
		{worldOf("nim", "skill=1", "largest=3"), asked("1 2"), "b3 c1 a0 a01 a", []string{"?\n1 2", "?\n1 2", "?\n1 2", "?\n1 2", verify.Wrong}}, // the turns are used up
		{worldOf("nim", "skill=1"), asked("1 2"), "b2", []string{verify.Wrong}},
		{worldOf("nim", "skill=1"), asked("0 2"), "b2", []string{verify.Right}},
		{worldOf("critic"), asked("12+7=19-5=15-3=12+4=17"), "2 4", []string{"12+7=19-5=14-3=11+4=16", verify.Right}},
		{worldOf("critic"), asked("12+7=19-5=15-3=12+4=17"), "4 2", []string{"12+7=19-5=15-3=12+4=16", verify.Right}},
		{worldOf("critic"), asked("12+7=19-5=15-3=12+4=17"), "2 1", []string{"12+7=19-5=14-3=11+4=16", verify.Wrong}},
		{worldOf("critic", "faults=3"), asked("1+7=9-5=2-3=0+4=4"), "1 5 3", []string{"1+7=8-5=1-3=-1+4=3", "?\n1+7=8-5=1-3=-1+4=3", verify.Wrong}},
		{worldOf("tictactoe", "skill=1"), asked("xo.\n...\n..."), "1 0 10 x", []string{"?\nxo.\n...\n...", "?\nxo.\n...\n...", "?\nxo.\n...\n...", verify.Wrong}},
		{worldOf("tictactoe", "skill=1"), asked("xox\n.ox\no.."), "9", []string{verify.Right}},
		{worldOf("tictactoe", "skill=1"), asked("xox\n.ox\no.."), "4", []string{verify.Wrong}},
		{worldOf("tictactoe", "skill=1"), asked("xox\nxoo\nox."), "9", []string{verify.Wrong}},                                                                    // a full board
		{worldOf("shop"), asked("1 0\n1 1\n0 0\n. ."), "b b 9 3", []string{"1 0\n1 1\n0 0\n. 0", "?\n1 0\n1 1\n0 0\n. 0", "?\n1 0\n1 1\n0 0\n. 0", verify.Wrong}}, // the user wants the first, as the dice have it
		{worldOf("shop"), asked("1 0\n1 1\n0 0\n. ."), "2", []string{verify.Right}},
		{worldOf("shop"), asked("1 0\n1 1\n0 0\n. ."), "a 4 3", []string{"1 0\n1 1\n0 0\n0 .", "?\n1 0\n1 1\n0 0\n0 .", verify.Right}},
		{worldOf("repair"), asked("+ 3\n* 4\n1 : 16 8\n2 : 20 10"), "2*6 2*2 s", []string{"?\n+ 3\n* 4\n1 : 16 8\n2 : 20 10", "+ 3\n* 2\n1 : 8 8\n2 : 10 10", verify.Right}},
		{worldOf("repair"), asked("+ 3\n* 4\n1 : 16 8\n2 : 20 10"), "1-4 3+1 2*02", []string{"- 4\n* 4\n1 : ! 8\n2 : ! 10", "?\n- 4\n* 4\n1 : ! 8\n2 : ! 10", verify.Wrong}},
		{worldOf("repair"), asked("+ 3\n* 4\n1 : 16 8\n2 : 20 10"), "s", []string{verify.Wrong}},
		{worldOf("forms"), mail, "a2 b3 s3 2 b1 3 a1 a2 s", []string{"?\n@ o .\n2 ? 2 2\n1 ? 2 1", "?\n@ o .\n2 ? 2 2\n1 ? 2 1", "?\n@ o .\n2 ? 2 2\n1 ? 2 1", "o @ o\n2 ? 3 1\n1 0 . 0", "o @ o\n2 ? 3 1\n1 1 . 0", ". o @\n2 0 . 0\n1 ? 2 1", ". o @\n2 1 . 0\n1 ? 2 1", verify.Wrong}}, // the turns are used up
		{worldOf("forms"), mail, "2 b1 3 a2 s", []string{"o @ o\n2 ? 3 1\n1 0 . 0", "o @ o\n2 ? 3 1\n1 1 . 0", ". o @\n2 0 . 0\n1 ? 2 1", ". o @\n2 2 . 0\n1 ? 2 1", verify.Right}},
		{worldOf("forms"), mail, "2 b1 s", []string{"o @ o\n2 ? 3 1\n1 0 . 0", "o @ o\n2 ? 3 1\n1 1 . 0", verify.Wrong}},
	} {
		if got := told(t, c.world, c.row, strings.Split(strings.ReplaceAll(c.turns, "_", ""), " ")...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %q: %s is told %q, want %q", c.world.Name(), c.row.Question, c.turns, got, c.want)
		}
	}
	for _, name := range []string{"grid", "rooms", "nim", "tictactoe", "critic", "shop", "forms", "repair", "library"} {
		w := worldOf(name)
		for _, row := range []verify.Problem{{}, {ID: "foreign", Question: "4 - 10:"}, {Question: "@@\nGG"}, {Question: "@.\nG"}, {Question: "@G."}, {Question: "300 1"}, {Question: "1+1=2"}, {Question: "1+1=2+2=4+"}, {Question: "1+1=3+x=4"}, {Question: "1+1=3+1=4"}, {Question: "xxx\n...\n..."}, {Question: "@\x00\n.G"},
			{Metadata: metadata(map[string]any{"house": plan{[]string{"o"}, 1, 1, 1}})}, {Metadata: metadata(map[string]any{"house": plan{[]string{".o", "o."}, 1, 2, 3}})}, {Metadata: metadata(map[string]any{"house": 7, "documents": 7, "chain": 7, "site": 7})}, {Metadata: metadata(map[string]any{"site": site{[]int{0, 2}, []int{1}, []int{1}, 1}})}, {Metadata: metadata(map[string]any{"site": site{[]int{0, 1}, []int{3}, []int{1}, 1}})},
			{Question: "1 0\n1 1\n0 0\n1 ."}, {Question: "1 0\n1 1\n1 0\n0 1"}, {Question: "+ 3\n* 4\n1 : 16 8"}, {Question: "+ 3\n* 4\n1 : 16 8\n1 : 16 8"}, {Question: "+ 3\n/ 4\n1 : 16 8\n2 : 20 10"}} {
			if _, _, err := w.Begin(t.Context(), row, random.At(1, 1, 1)); err == nil || !strings.Contains(err.Error(), "does not belong to this task") {
				t.Errorf("%s begins %+v: %v", name, row, err)
			}
			if _, err := w.Chance(row); err == nil {
				t.Errorf("%s has a chance in %+v", name, row)
			}
		}
	}
}

// wins is an error for a way in which the best player does not win, whatever the partner does.
func wins[S any, P comparable](t *testing.T, w *positions[S, P], g game[P], p P, turns int) {
	t.Helper()
	best, allowed := w.rules.think([]world.Message{{Role: world.User, Text: g.show(p)}})
	if !slices.Contains(allowed, best) {
		t.Fatalf("%q: the best turn %q is not among %q", g.show(p), best, allowed)
	}
	for _, form := range w.rules.forms(&w.Settings) {
		if (g.after(p, form) != nil) != slices.Contains(allowed, form) {
			t.Fatalf("%q: %q is allowed or not, and the player thinks otherwise", g.show(p), form)
		}
	}
	if turns == 0 {
		t.Fatalf("%q: the turns are used up", g.show(p))
	}
	sum := 0.0
	for _, way := range g.after(p, best) {
		sum += way.chance
		switch way.end {
		case lost:
			t.Fatalf("%q: %s can lose", g.show(p), best)
		case goesOn:
			if g.near(way.to) <= g.near(p) {
				t.Fatalf("%q: %s can lead to %q, which is no nearer to the win", g.show(p), best, g.show(way.to))
			}
			wins(t, w, g, way.to, turns-1)
		}
	}
	if math.Abs(sum-1) > 0x1p-48 { // at most 27 additions and divisions, each rounded by 2^-53
		t.Fatalf("%q: the ways of %s have probability %v", g.show(p), best, sum)
	}
}

// TestPartners: from every problem of the worlds with a partner, the best player wins whatever the partner
// does, and each of its turns brings the win nearer.
func TestPartners(t *testing.T) {
	problems := map[string]int{}
	for _, sets := range [][]string{nil, {"heaps=4", "largest=3"}, {"heaps=2", "largest=9"}, {"skill=0"}, {"skill=1"}} {
		w := worldOf("nim", sets...).(*positions[nimSettings, piles])
		for i := range 2000 {
			row := w.Draw(random.At(5, 1, uint64(i)), Split(i%2))
			g, err := w.rules.open(&w.Settings, row)
			if err != nil {
				t.Fatal(err)
			}
			if problems[row.ID]++; problems[row.ID] == 1 {
				wins(t, w, g, g.start(), w.Turns())
			}
		}
	}
	for _, sets := range [][]string{nil, {"articles=9", "features=6", "values=3", "turns=7"}} {
		w := worldOf("shop", sets...).(*positions[shopSettings, shopper])
		for i := range 200 {
			row := w.Draw(random.At(5, 1, uint64(i)), Split(i%2))
			s, err := shopAsked(row.Question)
			if err != nil {
				t.Fatal(err)
			}
			made := maps.Clone(s.turns)
			if wins(t, w, s, s.start(), w.Turns()); len(made) == 0 || !maps.Equal(made, s.turns) {
				t.Fatalf("%s\nis changed by playing: %v became %v", row.Question, made, s.turns)
			}
		}
	}
	w := worldOf("tictactoe").(*positions[tictactoeSettings, noughts])
	boards := 0
	for b, s := range solved() {
		if s.turns > 0 {
			boards++
			g := tictactoe{b, 0.5}
			wins(t, w, g, b, s.turns)
		}
	}
	if b := solved()[emptyBoard]; b.value != 0 || boards == 0 {
		t.Errorf("the empty board is worth %d, and %d boards can be won", b.value, boards)
	}
	t.Logf("%d problems of nim, %d boards of tictactoe", len(problems), boards)
}

// TestGridWays: the shortest way of a map is that of a search from the start on, and the best player goes it.
func TestGridWays(t *testing.T) {
	for _, sets := range [][]string{nil, {"boxes=1", "turns=12", "walls=0"}, {"size=6", "holes=8", "walls=8", "turns=20"}} {
		w := worldOf("grid", sets...).(*positions[gridSettings, onMap])
		validated[Task](t, w)
		for i := range 200 {
			row := w.Draw(random.At(5, 2, uint64(i)), Train)
			m, err := mapOf(row.Question)
			if err != nil {
				t.Fatal(err)
			}
			n := shortest(m, steps)
			e, err := world.Play(t.Context(), w, w.Best(), row, w.Turns(), random.At(1, 1, 1), random.At(1, 1, 2))
			if err != nil || m.left[m.first] != n || len(e.Turns) != n {
				t.Fatalf("%s\nthe shortest way has %d steps; it is measured as %d, and gone in %d, %v", row.Question, n, m.left[m.first], len(e.Turns), err)
			}
		}
	}
}

// shortest is how many turns the shortest way to win has, by a search from the start on.
func shortest[P comparable](g game[P], turns []string) int {
	layer, seen := []P{g.start()}, map[P]bool{g.start(): true}
	for n := 1; len(layer) > 0; n++ {
		var next []P
		for _, p := range layer {
			for _, turn := range turns {
				for _, way := range g.after(p, turn) {
					if way.end == won {
						return n
					}
					if way.end == goesOn && !seen[way.to] {
						seen[way.to] = true
						next = append(next, way.to)
					}
				}
			}
		}
		layer = next
	}
	return 0
}

// TestFormsWays: the best player sends each form in as few turns as it can be sent in, and each of them brings
// the win nearer.
func TestFormsWays(t *testing.T) {
	// Six pages in a chain, with fields on the first and the last.
	chain := verify.Problem{ID: "chain", Metadata: metadata(map[string]any{"site": site{[]int{0, 1, 2, 3, 4, 5}, []int{1, 6}, []int{1, 1}, 4}})}
	for _, c := range []struct {
		sets []string
		rows []verify.Problem
	}{{nil, nil}, {[]string{"pages=9", "fields=4", "values=1", "turns=40"}, nil}, {[]string{"pages=6", "turns=10"}, []verify.Problem{chain}}} {
		w := worldOf("forms", c.sets...).(*positions[formsSettings, onPage])
		validated[Task](t, w)
		rows := c.rows
		for i := range 200 {
			rows = append(rows, w.Draw(random.At(5, 2, uint64(i)), Train))
		}
		for _, row := range rows {
			f, err := formOf(row)
			if err != nil {
				t.Fatal(err)
			}
			row.Question = f.show(f.first)
			n := shortest(f, w.rules.forms(&w.Settings))
			e, err := world.Play(t.Context(), w, w.Best(), row, w.Turns(), random.At(1, 1, 1), random.At(1, 1, 2))
			if err != nil || e.Verdict.Verdict != verify.Right || f.left(f.first) != n || len(e.Turns) != n {
				t.Fatalf("%s\nthe shortest way has %d turns; it is measured as %d, and gone in %d, %+v, %v", row.ID, n, f.left(f.first), len(e.Turns), e.Verdict, err)
			}
			for _, turn := range e.Turns {
				if turn.Reply.Reward <= 0 {
					t.Errorf("%s: the best turn %s earns %v", row.ID, turn.Text, turn.Reply.Reward)
				}
			}
		}
	}
}

// TestFormsBound: forms whose chance would take too long to work out are refused.
func TestFormsBound(t *testing.T) {
	validated[Task](t, worldOf("forms", "pages=9", "fields=4", "values=2", "turns=27"))
	want := "turns = 28 is out of range; accepted: pages (values + 1)^fields turns up to 20000; here it is 20412"
	if family, err := Lookup("forms"); err != nil || !strings.Contains(family.Doc, fmt.Sprintf("at most %d,", maxSituations)) {
		t.Errorf("its text does not say what is accepted: %v", err)
	}
	if err := worldOf("forms", "pages=9", "fields=4", "values=2", "turns=28").Validate(); err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestRoomsFound: the chest is found in as many turns as is said, in houses of every size.
func TestRoomsFound(t *testing.T) {
	for rooms := 4; rooms <= 9; rooms++ {
		most := 3*rooms - 6
		w := worldOf("rooms", "rooms="+numbersTo(9)[rooms-1], "turns="+numbersTo(21)[most-1])
		validated[Task](t, w)
		if mean, _ := playedIn(t, w, w.Best(), 300); mean != 1 {
			t.Errorf("%d rooms: the best player earns %v in %d turns", rooms, mean, most)
		}
		few := worldOf("rooms", "rooms="+numbersTo(9)[rooms-1], "turns=3")
		if err := few.Validate(); err == nil {
			t.Errorf("%d rooms with 3 turns are accepted", rooms)
		}
	}
	if testing.Short() {
		return // the longest way of all is rare
	}
	if mean, turns := playedIn(t, worldOf("rooms", "rooms=5", "turns=20"), worldOf("rooms").Best(), 20_000); mean != 1 || turns != 9 {
		t.Errorf("5 rooms: the best player earns %v in up to %d turns", mean, turns)
	}
}

// TestChances: what random turns earn is what comes of following all of them at once, turn by turn.
func TestChances(t *testing.T) {
	t.Run("grid", func(t *testing.T) {
		followed(t, worldOf("grid", "boxes=1", "turns=12").(*positions[gridSettings, onMap]))
	})
	t.Run("rooms", func(t *testing.T) { followed(t, worldOf("rooms").(*positions[roomsSettings, inRoom])) })
	t.Run("nim", func(t *testing.T) { followed(t, worldOf("nim").(*positions[nimSettings, piles])) })
	t.Run("critic", func(t *testing.T) {
		followed(t, worldOf("critic", "faults=3").(*positions[criticSettings, revision]))
	})
	t.Run("shop", func(t *testing.T) { followed(t, worldOf("shop").(*positions[shopSettings, shopper])) })
	t.Run("forms", func(t *testing.T) { followed(t, worldOf("forms", "turns=6").(*positions[formsSettings, onPage])) })
	t.Run("repair", func(t *testing.T) {
		followed(t, worldOf("repair", "lines=2").(*positions[repairSettings, operations]))
	})
	t.Run("tictactoe", func(t *testing.T) { followed(t, worldOf("tictactoe").(*positions[tictactoeSettings, noughts])) })
}

func followed[S any, P comparable](t *testing.T, w *positions[S, P]) {
	forms := w.rules.forms(&w.Settings)
	for i := range 20 {
		row := w.Draw(random.At(5, 3, uint64(i)), Train)
		g, err := w.rules.open(&w.Settings, row)
		if err != nil {
			t.Fatal(err)
		}
		at, earned, added := map[P]float64{g.start(): 1}, 0.0, 0
		for range w.Turns() {
			next := map[P]float64{}
			for p, share := range at {
				for _, form := range forms {
					ways := g.after(p, form)
					if ways == nil {
						ways = []way[P]{{1, p, goesOn}}
					}
					for _, way := range ways {
						added++
						switch way.end {
						case won:
							earned += share * way.chance / float64(len(forms))
						case goesOn:
							next[way.to] += share * way.chance / float64(len(forms))
						}
					}
				}
			}
			at = next
		}
		// Every product, quotient and sum on either side is rounded by 2^-53 of a number below 1.
		if got, err := w.Chance(row); err != nil || math.Abs(got-earned) > float64(8*added)*0x1p-53 {
			t.Errorf("problem %q: random turns earn %v, %v; want %v", row.ID, got, err, earned)
		}
	}
}

// TestPositionRewards: the rewards of the turns of an episode that is won add up to 1, and of one that is lost
// to 0.
func TestPositionRewards(t *testing.T) {
	for _, w := range []Episodic{worldOf("grid"), worldOf("grid", "boxes=1", "turns=12"), worldOf("rooms"), worldOf("nim"), worldOf("tictactoe"), worldOf("critic"), worldOf("shop"), worldOf("forms"), worldOf("repair")} {
		ends := map[string]int{}
		for i := range 300 {
			p := []world.Player{w.Best(), w.Shown(), w.Random()}[i%3]
			row := w.Draw(random.At(5, 4, uint64(i)), Train)
			e, err := world.Play(t.Context(), w, p, row, w.Turns(), random.At(5, 5, uint64(i)), random.At(5, 6, uint64(i)))
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, turn := range e.Turns {
				sum += turn.Reply.Reward
			}
			last := e.Turns[len(e.Turns)-1].Reply.Facts["near"]
			ends[e.Verdict.Verdict]++
			// The differences of up to 12 numbers of size 12 at most are added, each rounded by 2^-53 of that.
			if math.Abs(sum-last) > 12*12*2*0x1p-53 || (last == 1) != (e.Verdict.Verdict == verify.Right) || strings.Contains(e.Verdict.Reason, "lost") && last != 0 {
				t.Fatalf("%s, problem %q: the turns earn %v, the last position is worth %v, %+v", w.Name(), row.ID, sum, last, e.Verdict)
			}
		}
		if ends[verify.Right] == 0 || ends[verify.Wrong] == 0 {
			t.Errorf("%s: the episodes end %v", w.Name(), ends)
		}
	}
}

// FuzzPositions: whatever a policy says, each world answers in words of its vocabulary or ends the episode,
// and scores it.
func FuzzPositions(f *testing.F) {
	for _, said := range []string{"", "r", "3", "b2", "5", "<search>1 k</search>", "<search>", "?", "r\nd", "\xff", "b999999999999", "09"} {
		f.Add(said, said)
	}
	var worlds []Demonstrator
	for _, name := range []string{"grid", "rooms", "nim", "tictactoe", "critic", "shop", "forms", "repair", "library"} {
		worlds = append(worlds, worldOf(name).(Demonstrator))
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, d := range worlds {
			words, err := text.NewWords(d.Vocabulary())
			if err != nil {
				t.Fatal(err)
			}
			w := d.(Episodic)
			e, _, err := w.Begin(t.Context(), w.Draw(random.At(3, 1, 0), Train), random.At(3, 1, 1))
			if err != nil {
				t.Fatal(err)
			}
			for _, said := range []string{first, second} {
				r, err := e.Step(t.Context(), world.Turn{Text: said})
				if err != nil || r.Verdict != nil && r.Verdict.Verdict == verify.NotScored || (r.Verdict == nil) != (len(r.Messages) == 1) {
					t.Fatalf("%s, %q: %+v, %v", w.Name(), said, r, err)
				}
				if r.Verdict != nil {
					break
				}
				if _, err := words.Encode(r.Messages[0].Text); err != nil {
					t.Errorf("%s: %q is told %q: %v", w.Name(), said, r.Messages[0].Text, err)
				}
			}
		}
	})
}
