package worlds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// dial is a world in which a number is to be found, with what may be wrong with it.
type dial struct {
	wrong  string
	shared int      // turns of all episodes
	open   int      // episodes
	closed []string // that were closed before
}

type turned struct {
	*dial
	row    string
	secret int
	turns  int
	over   bool
}

func (d *dial) Canary(ctx context.Context) error {
	switch d.wrong {
	case "dead":
		return errors.New("no power")
	case "hangs at once":
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (*dial) Refused(world.Turn) world.Reply { return world.Reply{} }

func (d *dial) Begin(_ context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	d.open++
	e := &turned{dial: d, row: row.ID, secret: dice.Between(0, 40)}
	said := "find it, " + row.ID
	if d.wrong == "opening" {
		said += fmt.Sprint(e.secret)
	}
	if d.wrong == "one for all" {
		e.row, said = "", "find it"
	}
	return e, world.Reply{Messages: []world.Message{{Role: world.User, Text: said}}}, nil
}

func (e *turned) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	e.turns++
	e.shared++
	said := fmt.Sprint(e.row, e.turns)
	var v *verify.Verdict
	switch {
	case e.wrong == "shared":
		said += fmt.Sprint(e.shared)
	case e.wrong == "breaks" && t.Text == "":
		return world.Reply{}, errors.New("no input")
	case e.wrong == "unscored" && t.Text == "":
		v = new(verify.Abstain("no input"))
	case e.wrong == "hangs" && t.Text == "":
		<-ctx.Done()
		return world.Reply{}, context.Cause(ctx)
	case t.Text == fmt.Sprint(e.secret) && e.wrong != "one for all" && e.wrong != "no chance" || e.wrong == "claims" && strings.Contains(t.Text, "I win"):
		v = new(verify.Accept("", "", "found"))
	}
	return world.Reply{Messages: []world.Message{{Role: world.User, Text: said}}, Verdict: v}, nil
}

func (e *turned) Close() error {
	if e.over {
		e.closed = append(e.closed, e.row)
	}
	e.open--
	e.over = true
	return nil
}

func (e *turned) Forks() bool { return e.wrong != "no forks" }

func (e *turned) Fork(context.Context) (world.Episode, error) {
	if e.wrong == "same copy" {
		return e, nil
	}
	if e.wrong == "no copy" {
		return nil, errors.New("no second dial")
	}
	e.open++
	copied := *e
	return &copied, nil
}

// TestCheckOther: a sound world has no faults, and each promise that one breaks is found.
func TestCheckOther(t *testing.T) {
	var rows []verify.Problem
	for i := range 8 {
		rows = append(rows, verify.Problem{ID: fmt.Sprint("p", i), Question: "?"})
	}
	for wrong, want := range map[string]string{
		"":            "",
		"dead":        "the canary is dead: no power",
		"opening":     "begins with other words under another chance",
		"shared":      "differs when it is played beside others, or again",
		"claims":      `the attack "claim of victory" wins every episode`,
		"breaks":      `breaks the world in problem "p0": no input`,
		"unscored":    `the attack silence is not scored in problem "p0": no input`,
		"no copy":     `an episode of problem "p0" cannot be copied: no second dial`,
		"same copy":   "goes on otherwise than the episode",
		"one for all": "all 8 episodes are told the same",
	} {
		d := &dial{wrong: wrong}
		found := CheckOther(t.Context(), Other{Name: "dial", World: d, Pure: true, Rows: rows, Turns: 5})
		if (d.open != 0 || len(d.closed) > 0) && wrong != "same copy" { // which is two episodes for whoever copies it
			t.Errorf("%q: %d episodes are left open, and %q are closed twice", wrong, d.open, d.closed)
		}
		if all := strings.Join(found.Faults, "\n"); (want == "") != (all == "") || !strings.Contains(all, want) {
			t.Errorf("%q: faults %q, want %q", wrong, found.Faults, want)
		}
		if wrong == "" && (len(found.Notes) > 0 || len(found.Attacks) < 10) {
			t.Errorf("%+v", found)
		}
	}
	for wrong, want := range map[string]string{"no forks": "its episodes cannot be copied", "no chance": "chance makes no difference"} {
		found := CheckOther(t.Context(), Other{Name: "dial", World: &dial{wrong: wrong}, Pure: true, Rows: rows, Turns: 5})
		if all := strings.Join(found.Notes, "\n"); len(found.Faults) > 0 || !strings.Contains(all, want) {
			t.Errorf("%q: %+v, want %q", wrong, found, want)
		}
	}
	found := CheckOther(t.Context(), Other{Name: "dial", World: &dial{wrong: "shared"}, Rows: rows, Turns: 5})
	if len(found.Faults) > 0 || len(found.Notes) != 1 {
		t.Errorf("not pure: %+v", found)
	}
}

// TestHangs: a world that does not answer is a fault, once, and the check ends.
func TestHangs(t *testing.T) {
	rows := []verify.Problem{{ID: "p0"}, {ID: "p1"}, {ID: "p2"}}
	for wrong, want := range map[string]string{
		"":              "",
		"hangs":         "it hangs: no answer to a turn for 1m0s",
		"hangs at once": "the canary is dead: it hangs: no answer to the canary for 2m0s",
	} {
		synctest.Test(t, func(t *testing.T) {
			found := CheckOther(t.Context(), Other{Name: "dial", World: &dial{wrong: wrong}, Pure: true, Rows: rows, Turns: 5, Clock: time.Minute, Start: time.Minute})
			if all := strings.Join(found.Faults, "\n"); all != want {
				t.Errorf("%q: faults %q, want %q", wrong, all, want)
			}
		})
	}
}
