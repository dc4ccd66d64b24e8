package panel

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// played plays a tournament to its end, and returns the duels of each time that some were needed.
func played(n int, met func(a, b int) meeting) (duels [][][2]int, stands []stand) {
	known := map[[2]int]bool{}
	for {
		next, stands := tournament(n, func(a, b int) (meeting, bool) {
			if !known[[2]int{a, b}] && !known[[2]int{b, a}] {
				return meeting{}, false
			}
			return met(a, b), true
		})
		if next == nil {
			return duels, stands
		}
		for _, p := range next {
			known[p] = true
		}
		duels = append(duels, next)
	}
}

// TestTournament: rounds, places and duels as they are by hand; of any number the best one wins by at most
// 2(n-1) duels, none of them twice, also in the means; what cannot be read decides nothing for others.
func TestTournament(t *testing.T) {
	strength := []float64{3, 8, 1, 7, 2, 6, 5, 4} // the first one is beaten by five
	by := func(a, b int) meeting {
		x := 0.5 + (strength[a]-strength[b])/16
		return meeting{a: x, b: 1 - x}
	}
	duels, stands := played(8, by)
	// Seeds: 1, 3, 5, 6, 7, 4, 0 (its mean is that of all its duels), 2. First 1-2, 6-7, 3-0, which is known, 5-4; then 1-6, 3-5; then 1-3.
	want := "[[[0 1] [0 2] [0 3] [0 4] [0 5] [0 6] [0 7]] [[1 2] [6 7] [5 4]] [[1 6] [3 5]] [[1 3]]]"
	if fmt.Sprint(duels) != want {
		t.Errorf("duels %v, want %s", duels, want)
	}
	var rounds []int
	order := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, s := range stands {
		rounds = append(rounds, s.round)
	}
	slices.SortFunc(order, func(a, b int) int { return stands[a].compare(stands[b]) })
	if !slices.Equal(rounds, []int{1, 4, 1, 3, 1, 2, 2, 1}) || !slices.Equal(order[:4], []int{1, 3, 5, 6}) {
		t.Errorf("rounds %v, order %v", rounds, order)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		strength = nil
		for range n {
			strength = append(strength, r.Float64())
		}
		duels, stands := played(n, by)
		all, seen, points := 0, map[[2]int]bool{}, make([][]float64, n)
		for _, d := range slices.Concat(duels...) {
			pair := [2]int{min(d[0], d[1]), max(d[0], d[1])}
			if seen[pair] || pair[0] == pair[1] {
				t.Errorf("n = %d: %v again", n, d)
			}
			seen[pair], all = true, all+1
			m := by(d[0], d[1])
			points[d[0]], points[d[1]] = append(points[d[0]], m.a), append(points[d[1]], m.b)
		}
		if n > 0 && all > 2*(n-1) {
			t.Errorf("n = %d: %d duels", n, all)
		}
		for i, s := range stands {
			if n > 1 && s.mean != meanOf(points[i]) {
				t.Errorf("n = %d: the mean of %d is %v, of its duels %v", n, i, s.mean, points[i])
			}
			if (s.round == slices.MaxFunc(stands, func(a, b stand) int { return a.round - b.round }).round) != (strength[i] == slices.Max(strength)) || s.why != "" || n > 1 && s.round == 0 {
				t.Errorf("n = %d: %d of strength %v: %+v", n, i, strength[i], s)
			}
		}
	}
	strength = []float64{2, 4, 1, 3}
	_, stands = played(4, func(a, b int) meeting { // seeds 1, 3, 0, 2
		if min(a, b) == 1 && max(a, b) == 3 {
			return meeting{why: "noise"}
		}
		return by(a, b)
	})
	if stands[1].why != "" || stands[3].why != "noise" || stands[1].round != 3 || stands[0].why != "" || stands[2].why != "" {
		t.Errorf("an unread final: %+v", stands)
	}
	_, stands = played(4, func(a, b int) meeting {
		if a == 0 && b == 1 {
			return meeting{why: "noise"}
		}
		return by(a, b)
	})
	if stands[1].why != "noise" || stands[3].round != 3 || stands[0].round != 2 || stands[2].round != 1 {
		t.Errorf("one without a seed: %+v", stands)
	}
	_, stands = played(3, func(int, int) meeting { return meeting{why: "noise"} })
	for i, s := range stands {
		if s.why != "noise" {
			t.Errorf("nothing is read: %d: %+v", i, s)
		}
	}
}

const inBracket = `{"model":"m","source":"[{a}|{b}]","shows":"pairs","against":"bracket","read":{"1":1,"2":0}}`

// TestBracket: completions of groups are ranked by tournaments whose rounds are asked together; equal texts
// have equal verdicts, one that cannot be shown is wrong, and the groups beside change nothing.
func TestBracket(t *testing.T) {
	f := newFake(t)
	f.says = func(question string) float64 { // the longer one is better
		a, b, _ := strings.Cut(question[strings.Index(question, "[")+1:strings.Index(question, "]")], "|")
		return float64(len(a) - len(b))
	}
	j, p := made(t, inBracket), f.panel()
	text := func(n int) string { return strings.Repeat("x", n) }
	one := about("?", text(3), text(8), text(1), text(7), text(3), text(6), text(5), text(4))
	all := verdictsOf(t, p, j, one, about("?", text(2)), about("?", text(2), text(2)), about("?", "a", "\xff"))
	for i, want := range []struct{ place, score float64 }{{5.5, 1.5 / 7}, {1, 1}, {8, 0}, {2, 6. / 7}, {5.5, 1.5 / 7}, {3, 5. / 7}, {4, 4. / 7}, {5, 3. / 7}} {
		v := all[0][i]
		if want.place == 5.5 { // the two equal ones stand beside each other
			want.place = 6
		}
		if v.Score != want.score || v.Values["place"] != want.place {
			t.Errorf("completion %d: %+v, want %+v", i, v, want)
		}
	}
	if x, y := all[0][0], all[0][4]; x.Values["wins"] != y.Values["wins"] || y.Opinions != nil || x.Opinions == nil {
		t.Errorf("equal texts: %+v and %+v", x, y)
	}
	if v := all[1][0]; v.Verdict != verify.NotScored || v.Reason != "there is no other completion to compare it with" {
		t.Errorf("alone: %+v", v)
	}
	if a, b := all[2][0], all[2][1]; a.Score != 0.5 || b.Score != 0.5 || b.Values["place"] != 1 {
		t.Errorf("equal ones alone: %+v", all[2])
	}
	if a, b := all[3][0], all[3][1]; a.Verdict != verify.NotScored || b.Verdict != verify.Wrong {
		t.Errorf("beside one that cannot be shown: %+v", all[3])
	}
	if counts := p.Take(); counts.Questions != 2*(6+3+2) { // seven texts, of which the best waits a round: 2 and one that is known, 2, 1
		t.Errorf("%+v", counts)
	}
	off := f.panel()
	off.Off = true
	groups := []rollout.Group{about("?", "xx", "x", "xxx"), one, about("?", "xxx", "xx", "x"), one}
	together := verdictsOf(t, off, j, groups...)
	for i, g := range groups {
		if alone := verdictsOf(t, f.panel(), j, g)[0]; jsonOf(t, alone) != jsonOf(t, together[i]) {
			t.Errorf("group %d: %+v alone, %+v beside others", i, alone, together[i])
		}
	}
}

// TestBracketRoom: a tournament writes the questions of pairs that meet, and no others: two that do not fit together and
// never meet are both ranked. Of two that meet and do not fit the longer one is wrong, and nobody loses by it.
func TestBracketRoom(t *testing.T) {
	f := newFake(t)
	longer := -0.01 // who is longer by a character is worse, or better
	f.says = func(question string) float64 {
		a, b, _ := strings.Cut(question[strings.Index(question, "[")+1:strings.Index(question, "]")], "|")
		return longer * float64(len(a)-len(b))
	}
	text := func(n int) string { return strings.Repeat("xy ", n) }
	plain, err := f.renderer.Plain("[" + text(30) + "|" + text(4) + "]")
	if err != nil {
		t.Fatal(err)
	}
	f.room = len(plain) + 1
	j := made(t, inBracket)
	group := about("?", text(1), text(2), text(28), text(30))
	p := f.panel()
	for i, v := range verdictsOf(t, p, j, group)[0] { // who is short meets who is long: the last two never meet
		if want := float64(3-i) / 3; v.Score != want {
			t.Errorf("completion %d: %+v, want %v", i, v, want)
		}
	}
	if counts := p.Take(); counts.Questions != 2*(3+1) { // the first one with each, and the second with the third; the last duel is known
		t.Errorf("%+v", counts)
	}
	longer = 0.01 // now these two meet last
	all := verdictsOf(t, f.panel(), j, group)[0]
	for i, want := range []float64{0, 0.5, 1} {
		if v := all[i]; v.Score != want || v.Verdict == verify.NotScored || v.Values["place"] != 3-2*want {
			t.Errorf("beside a longer one, completion %d: %+v, want %v", i, v, want)
		}
	}
	if v := all[3]; v.Verdict != verify.Wrong || !strings.Contains(v.Reason, "it cannot be shown to m beside others: the question has ") || v.Values["place"] != 4 {
		t.Errorf("the longest: %+v", v)
	}
}

// TestUnreadBracket: a judge that writes nonsense of one completion leaves it without a place, and only it.
func TestUnreadBracket(t *testing.T) {
	f := newFake(t)
	f.writes = func(question string, _ int) judge.Said {
		a, b, _ := strings.Cut(question[strings.Index(question, "[")+1:strings.Index(question, "]")], "|")
		said := judge.Said{Text: "Score: 5", Tokens: 2, Ended: true}
		switch {
		case strings.Contains(a+b, "?"):
			said.Text = "who knows"
		case len(a) > len(b):
			said.Text = "Score: 9"
		case len(a) < len(b):
			said.Text = "Score: 1"
		}
		return said
	}
	j := made(t, `{"model":"m","source":"[{a}|{b}]","shows":"pairs","against":"bracket","read":"Score: ([0-9])","between":[0,10]}`)
	all := verdictsOf(t, f.panel(), j, about("?", "xx", "?", "xxx", "x"))[0]
	if v := all[1]; v.Verdict != verify.NotScored || !strings.Contains(v.Reason, "no match of") {
		t.Errorf("unread: %+v", v)
	}
	if all[0].Score != 0.5 || all[2].Score != 1 || all[3].Score != 0 || all[3].Values["place"] != 3 {
		t.Errorf("the others: %+v", all)
	}
	for i, v := range verdictsOf(t, f.panel(), j, about("?", "?", "x", "xx"))[0] { // with whom nobody can be compared
		if v.Verdict != verify.NotScored {
			t.Errorf("completion %d: %+v", i, v)
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
