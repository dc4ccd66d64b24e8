package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// telling is a world of two seats, l and r, who each read what the other said, in capitals. After so many turns l
// has won. broken says in which turn it breaks.
type telling struct {
	counting
	turns, broken int
}

func (t *telling) Seats() []string { return []string{"l", "r"} }

func (t *telling) Sit(_ context.Context, row verify.Problem, _ *random.Rand) (world.Table, world.Reply, error) {
	return &told{telling: t}, world.Reply{Seat: "l", State: row.Question}, nil
}

type told struct {
	*telling
	turn int
}

func (e *told) Step(_ context.Context, t world.Turn) (world.Reply, error) {
	e.turn++
	if e.turn == e.broken {
		return world.Reply{}, errors.New("gone")
	}
	said := strings.ToUpper(t.Text)
	r := world.Reply{Seat: e.Seats()[e.turn%2], Reward: float64(e.turn), State: t.Text, Messages: []world.Message{{Role: world.User, Text: said}}}
	switch {
	case e.turn == e.turns:
		r.Verdicts = map[string]verify.Verdict{"l": verify.Accept("", "", "won"), "r": verify.Reject("", "", "lost")}
	case e.turn == 1:
		r.Question, r.Messages = said, nil
	}
	return r, nil
}

func (e *told) Leave(_ context.Context, seat string) (map[string]verify.Verdict, error) {
	out := map[string]verify.Verdict{"l": verify.Accept("", "", "the other left"), "r": verify.Accept("", "", "the other left")}
	out[seat] = verify.Reject("", "", "left")
	return out, nil
}

func (e *told) Close() error { return nil }

// shouts is a model that draws for others, in the stream that it is asked for.
type shouts struct{ says }

func (s shouts) Draw(ctx context.Context, r Request) ([]Segment, error) {
	all, err := s.Sample(ctx, []Request{r})
	return all[0], err
}

// repeats is a player without a model: it says what it read last.
type repeats struct{}

func (repeats) Play(history []world.Message, dice *random.Rand) string {
	return fmt.Sprintf("%s%d", history[len(history)-1].Text, dice.Between(3, 3))
}

// TestPool: of several opponents one is drawn for each problem, whose games are compared with each other. Its name is in
// the row of the other seat's group.
func TestPool(t *testing.T) {
	w := &telling{turns: 3}
	var encoded []string
	col := playing(w, 3, 9, nil, &encoded)
	col.Seats = []Seat{{Name: "l"}, {Name: "r", Pool: []Opponent{{Name: "a", By: shouts{}}, {Name: "b", Player: repeats{}}}}}
	problems := make([]verify.Problem, 24)
	for i := range problems {
		problems[i] = verify.Problem{ID: fmt.Sprint(i), Question: "q"}
	}
	groups, err := col.Collect(t.Context(), problems, 3, Params{Temperature: 1, MaxTokens: 8}, random.Key{Purpose: random.Sample})
	if err != nil || len(groups) != len(problems) {
		t.Fatal(len(groups), err)
	}
	drawn := map[string]int{}
	for _, g := range groups {
		against, _ := g.Problem.Text(MemberAgainst)
		drawn[against]++
		for _, p := range g.Paths {
			for _, said := range p.Sat.Heard {
				if strings.HasSuffix(said.Text, "3") != (against == "b") { // as repeats ends
					t.Errorf("against %s it heard %q", against, said.Text)
				}
			}
		}
	}
	if drawn["a"] < 6 || drawn["b"] < 6 || drawn["a"]+drawn["b"] != len(problems) { // less by chance once in 150 seeds
		t.Errorf("opponents of %d problems: %v", len(problems), drawn)
	}
	again, err := col.Collect(t.Context(), problems[:1], 3, Params{Temperature: 1, MaxTokens: 8}, random.Key{Purpose: random.Sample})
	if err != nil || string(again[0].Problem.Metadata[MemberAgainst]) != string(groups[0].Problem.Metadata[MemberAgainst]) {
		t.Errorf("drawn again: %s, %v", again[0].Problem.Metadata, err)
	}
}

// TestSeats: each seat that the policy plays is a group of its own, whose paths hold what that seat read and what it
// wrote, drawn in streams that no other seat has; what others wrote is in no group and no view.
func TestSeats(t *testing.T) {
	both := []Seat{{Name: "l"}, {Name: "r"}}
	for name, c := range map[string]struct {
		seats  []Seat
		turns  int
		groups []string // of two problems with two games each: the paths
	}{
		"self-play": {both, 3, []string{
			"0:q 1:a. 4:C| 1:aa. ", "0:q 1:b. 4:D| 1:bb. ", "0:A 1:c. ", "0:B 1:d. ",
			"0:Q 1:e. 4:G| 1:ee. ", "0:Q 1:f. 4:H| 1:ff. ", "0:E 1:g. ", "0:F 1:h. "}},
		"against a model":   {[]Seat{{Name: "l"}, {Name: "r", By: shouts{}}}, 3, []string{"0:q 1:a. 4:C| 1:aa. ", "0:q 1:b. 4:D| 1:bb. ", "0:Q 1:e. 4:G| 1:ee. ", "0:Q 1:f. 4:H| 1:ff. "}},
		"after a player":    {[]Seat{{Name: "l", Player: repeats{}}, {Name: "r"}}, 3, []string{"0:Q3 1:c. ", "0:Q3 1:d. ", "0:Q3 1:g. ", "0:Q3 1:h. "}},
		"without its turn":  {both, 1, []string{"0:q 1:a. ", "0:q 1:b. ", "0:Q 1:e. ", "0:Q 1:f. "}},
		"out of its tokens": {both, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var encoded []string
			w := &telling{turns: c.turns}
			col := playing(w, 3, 9, nil, &encoded)
			col.Seats = c.seats
			var rolling sync.Mutex // games are played side by side
			dice, rolled := col.Episodes.Dice, map[random.Purpose]int{}
			col.Episodes.Dice = func(k random.Key, of random.Purpose) *random.Rand {
				rolling.Lock()
				rolled[of]++
				rolling.Unlock()
				return dice(k, of)
			}
			groups, err := col.Collect(t.Context(), []verify.Problem{{ID: "1", Question: "q"}, {ID: "2", Question: "Q"}}, 2, Params{Temperature: 1, MaxTokens: 8}, random.Key{Purpose: random.Sample})
			if err != nil {
				t.Fatal(err)
			}
			players := 0
			for _, s := range c.seats {
				if s.Player != nil {
					players += 4
				}
			}
			if rolled[random.World] != 4 || rolled[random.Player] != players {
				t.Errorf("dice of %v", rolled)
			}
			var got []string
			for i := range groups {
				g := &groups[i]
				seat, _ := g.Problem.Text(MemberSeat)
				for j, p := range g.Paths {
					if got = append(got, pathText(g, j)); p.Sat == nil || p.Sat.Game != 2*(i*2/len(groups))+j+1 {
						t.Errorf("path %d of seat %s: %+v", j, seat, p.Sat)
					}
					want := verify.Wrong
					if seat == "l" == (c.groups != nil) {
						want = verify.Right
					}
					if p.Verdict().Verdict != want {
						t.Errorf("seat %s: %+v", seat, p.Verdict())
					}
					for _, turn := range g.Turns(j) {
						if turn.Author != Policy {
							t.Errorf("a turn by %d is learned", turn.Author)
						}
					}
					if v := g.View(j); len(v.Spans) != len(g.Turns(j)) || v.Tokens() != g.Tokens(j) {
						t.Errorf("%+v", v)
					}
				}
			}
			if c.groups == nil {
				if len(groups) != 4 || groups[0].Paths[0].Limit != OutOfTokens || groups[1].Paths[0].Limit != "" {
					t.Errorf("%d groups: %q, %+v", len(groups), got, groups[0].Paths[0])
				}
				return
			}
			if !slices.Equal(got, c.groups) {
				t.Errorf("%q, want %q", got, c.groups)
			}
		})
	}
	var encoded []string
	col := playing(&telling{turns: 3, broken: 2}, 3, 9, nil, &encoded)
	col.Seats = both
	groups, err := col.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{})
	if err != nil || len(groups) != 2 || groups[0].Paths[0].Verdict().Verdict != verify.NotScored || groups[1].Paths[0].Verdict().Verdict != verify.NotScored {
		t.Errorf("a world that breaks: %+v, %v", groups, err)
	}
	if heard := groups[0].Paths[0].Sat.Heard; len(heard) != 1 || heard[0] != (Said{1, "r", "b"}) {
		t.Errorf("heard %+v", heard)
	}
	if at := groups[1].Situations(0); len(at) != 1 || at[0].Text != "a" {
		t.Errorf("the second seat begins in %+v", at)
	}
}
