package tasks

import (
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// dueled plays a game of two players to its end and returns the score of each seat.
func dueled(t *testing.T, w Episodic, row verify.Problem, players map[string]world.Player, chance *random.Rand) map[string]float64 {
	t.Helper()
	table, reply, err := w.(world.Seated).Sit(t.Context(), row, random.At(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	turns, asked := map[string]int{}, row.Question
	for reply.Verdicts == nil {
		seat := reply.Seat
		if reply.Question != "" {
			if asked = reply.Question; turns[seat] > 0 {
				t.Fatalf("%s is asked anew after %d turns", seat, turns[seat])
			}
		}
		if len(reply.Messages) > 0 {
			asked = reply.Messages[0].Text
		}
		if turns[seat]++; turns[seat] > w.Turns() {
			if reply.Verdicts, err = table.(world.Table).Leave(t.Context(), seat); err != nil {
				t.Fatal(err)
			}
			break
		}
		text := players[seat].Play([]world.Message{{Role: world.User, Text: asked}}, chance)
		if reply, err = table.Step(t.Context(), world.Turn{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]float64{}
	for seat, v := range reply.Verdicts {
		out[seat] = v.Score
	}
	return out
}

// TestDuels: in each game of seats the best player wins from the seat that can win, whoever plays the other, and
// also from the other seat wherever its position lets it; all games are worth one win together.
func TestDuels(t *testing.T) {
	for _, name := range []string{"nim", "tictactoe"} {
		w := worldOf(name)
		seats := w.(world.Seated).Seats()
		chance, second, by := random.At(5, 5, 5), map[string]float64{}, map[string]world.Player{"best": w.Best(), "random": w.Random()}
		for i := range 200 {
			row := w.Draw(random.At(7, 7, uint64(i)), Train)
			for _, other := range []world.Player{w.Best(), w.Random(), says("")} {
				scores := dueled(t, w, row, map[string]world.Player{seats[0]: w.Best(), seats[1]: other}, chance)
				if scores[seats[0]] != 1 || scores[seats[1]] != 0 {
					t.Fatalf("%s, %q: %v against %T", name, row.Question, scores, other)
				}
			}
			for other, player := range by {
				scores := dueled(t, w, row, map[string]world.Player{seats[0]: w.Random(), seats[1]: player}, random.At(5, 5, uint64(i)))
				if scores[seats[0]]+scores[seats[1]] != 1 {
					t.Fatalf("%s, %q: %v", name, row.Question, scores)
				}
				second[other] += scores[seats[1]]
			}
		}
		if second["best"] <= second["random"] {
			t.Errorf("%s: of 200 games against a random player, from the second seat %v", name, second)
		}
	}
	if _, is := worldOf("grid").(world.Seated); is && worldOf("grid").(world.Seated).Seats() != nil {
		t.Error("grid has seats")
	}
}

// says is a player of one text.
type says string

func (s says) Play([]world.Message, *random.Rand) string { return string(s) }

// TestDuelReplies: a table tells whose turn it is, what that seat reads, and who wins.
func TestDuelReplies(t *testing.T) {
	w := worldOf("tictactoe").(world.Seated)
	table, first, err := w.Sit(t.Context(), verify.Problem{Question: "xo.\n...\n..."}, random.At(1, 1, 1))
	if err != nil || first.Seat != "x" || first.Messages != nil {
		t.Fatalf("%+v, %v", first, err)
	}
	for _, c := range []struct{ turn, seat, question, read string }{
		{"1", "x", "", "?\nxo.\n...\n..."},
		{"4", "o", "ox.\no..\n...", ""},
		{"", "o", "", "?\nox.\no..\n..."},
		{"9", "x", "", "xo.\nx..\n..o"},
	} {
		r, err := table.Step(t.Context(), world.Turn{Text: c.turn})
		if err != nil || r.Seat != c.seat || r.Question != c.question || c.read != "" && r.Messages[0].Text != c.read || r.Verdicts != nil || r.Reward != 0 {
			t.Errorf("after %q: %+v, %v", c.turn, r, err)
		}
	}
	if r, err := table.Step(t.Context(), world.Turn{Text: "7"}); err != nil || r.Verdicts["x"].Verdict != verify.Right || r.Verdicts["o"].Verdict != verify.Wrong || r.Reward != 1 {
		t.Errorf("x wins: %+v, %v", r, err)
	}
	table, _, _ = w.Sit(t.Context(), verify.Problem{Question: "xox\nxoo\nox."}, random.At(1, 1, 1))
	if r, err := table.Step(t.Context(), world.Turn{Text: "9"}); err != nil || r.Verdicts["x"].Score != 0.5 || r.Verdicts["o"].Score != 0.5 {
		t.Errorf("nobody wins: %+v, %v", r, err)
	}
	if v, err := table.Leave(t.Context(), "x"); err != nil || v["o"].Verdict != verify.Right || v["x"].Verdict != verify.Wrong {
		t.Errorf("x leaves: %+v, %v", v, err)
	}
}
