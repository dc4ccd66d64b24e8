package tasks

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Sequences of moves: tower_of_hanoi, quantum_lock.

var hanoiMove = regexp.MustCompile(`(?i)^\s*Move disk (\d{1,3}) from Peg (\d{1,3}) to Peg (\d{1,3})\.?\s*$`)

type hanoi struct {
	disks, pegs, start, target int
	least                      int // moves of the solution
}

// frameStewart lists the moves of n disks, the top one first among those
// above disk base. It is optimal for 3 pegs, and for 4 (Bousch 2014,
// doi:10.36045/bbms/1420071860).
func frameStewart(base, n, from, to int, spare []int) [][3]int {
	switch {
	case n == 0:
		return nil
	case n == 1:
		return [][3]int{{base + 1, from, to}}
	case len(spare) == 1:
		a := frameStewart(base, n-1, from, spare[0], []int{to})
		b := frameStewart(base, n-1, spare[0], to, []int{from})
		return append(append(a, [3]int{base + n, from, to}), b...)
	}
	var best [][3]int
	for k := 1; k < n; k++ { // the k smallest wait on the first spare peg
		rest := append([]int{to}, spare[1:]...)
		a := frameStewart(base, k, from, spare[0], rest)
		b := frameStewart(base+k, n-k, from, to, spare[1:])
		c := frameStewart(base, k, spare[0], to, append([]int{from}, spare[1:]...))
		if total := len(a) + len(b) + len(c); best == nil || total < len(best) {
			best = slices.Concat(a, b, c)
		}
	}
	return best
}

func (h hanoi) check(answer string) error {
	at := make([]int, h.disks) // peg of each disk, the smallest first
	for i := range at {
		at[i] = h.start
	}
	moves := 0
	for line := range strings.Lines(answer) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := hanoiMove.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf("%s is not a move", short(strings.TrimSpace(line)))
		}
		disk, _ := strconv.Atoi(m[1])
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[3])
		moves++
		if disk < 1 || disk > h.disks || to < 1 || to > h.pegs || from == to || at[disk-1] != from {
			return fmt.Errorf("move %d cannot be made", moves)
		}
		for smaller := range disk - 1 {
			if at[smaller] == from || at[smaller] == to {
				return fmt.Errorf("move %d is not allowed: disk %d blocks it", moves, smaller+1)
			}
		}
		at[disk-1] = to
	}
	switch {
	case slices.ContainsFunc(at, func(peg int) bool { return peg != h.target }):
		return fmt.Errorf("not all disks are on peg %d", h.target)
	case moves > h.least:
		return fmt.Errorf("it takes %d moves, but %d are enough", moves, h.least)
	}
	return nil
}

func init() {
	type settings struct {
		MinDisks int `toml:"min_disks" range:"[1,12]" about:"minimum number of disks"`
		MaxDisks int `toml:"max_disks" range:"[2,12]" about:"maximum number of disks"`
		MinPegs  int `toml:"min_pegs" range:"[3,4]" about:"minimum number of pegs"`
		MaxPegs  int `toml:"max_pegs" range:"[3,4]" about:"maximum number of pegs"`
	}
	generate(family[settings]{
		name: "tower_of_hanoi", summary: "move a tower of disks",
		about:    "move a tower of disks in as few moves as possible. Right: every shortest list of allowed moves.",
		format:   "The answer is one move a line, each in the form: Move disk 1 from Peg 2 to Peg 3.",
		defaults: settings{3, 7, 3, 4},
		curriculum: []Attribute{
			{"num_disks", []float64{5, 6, 7, 8, 10}, []string{"max_disks"}},
		},
		check: func(row verify.Problem, answer string) error {
			var h hanoi
			if err := cmpErr(needed(row, "num_disks", &h.disks), needed(row, "num_pegs", &h.pegs), needed(row, "start_peg", &h.start),
				needed(row, "target_peg", &h.target), needed(row, "solution_length", &h.least)); err != nil {
				return err
			}
			if h.disks < 1 || h.disks > 64 {
				return lacks("num_disks of the row is %d; accepted: 1 to 64", h.disks)
			}
			return h.check(answer)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			h := hanoi{disks: r.Between(s.MinDisks, s.MaxDisks), pegs: r.Between(s.MinPegs, s.MaxPegs)}
			order := sample(r, countTo(h.pegs), h.pegs)
			for i := range order {
				order[i]++
			}
			h.start, h.target = order[0], order[1]
			return problem{
				key: fmt.Sprintf("%d disks %d pegs %d to %d", h.disks, h.pegs, h.start, h.target),
				question: fmt.Sprintf("Of %d pegs, peg %d holds %d disks, disk 1 the smallest and on top, disk %d the largest. A move takes the top disk of a peg to another peg, never onto a smaller disk. Bring all disks to peg %d in as few moves as possible.",
					h.pegs, h.start, h.disks, h.disks, h.target),
				finish: func(p *problem) {
					moves := frameStewart(0, h.disks, h.start, h.target, order[2:])
					lines := make([]string, len(moves))
					for i, m := range moves {
						lines[i] = fmt.Sprintf("Move disk %d from Peg %d to Peg %d", m[0], m[1], m[2])
					}
					p.answer = strings.Join(lines, "\n")
					p.metadata = map[string]any{"num_disks": h.disks, "num_pegs": h.pegs, "start_peg": h.start, "target_peg": h.target, "solution_length": len(moves)}
				},
			}, true
		},
	})
}

// lock is the row's part for quantum_lock.
type lock struct {
	Target  int          `json:"target_value"`
	Buttons []lockButton `json:"buttons"`
	Light   string       `json:"initial_state"`
	Value   int          `json:"initial_value"`
}

type lockButton struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // add, subtract or multiply
	Value  int    `json:"value"`
	Active string `json:"active_state"` // red, green or any
}

// lockState is the number and the light.
type lockState struct {
	value int
	light string
}

// lockLimit bounds the number on both sides: values beyond it are given up.
const lockLimit = 1_000_000

// press is the state after a button; false: it does nothing, or too much.
func (s lockState) press(b lockButton) (lockState, bool) {
	if b.Active != "any" && b.Active != s.light {
		return s, false
	}
	switch b.Type {
	case "add":
		s.value += b.Value
	case "subtract":
		s.value -= b.Value
	default:
		s.value *= b.Value
	}
	s.light = map[string]string{"red": "green", "green": "red"}[s.light]
	return s, -lockLimit <= s.value && s.value <= lockLimit
}

// maxLockStates bounds the search of solve.
const maxLockStates = 3_000

// solve is a shortest sequence of buttons (breadth first); nil: none was found.
func (l lock) solve() []string {
	type node struct {
		lockState
		before int
		button string
	}
	queue := []node{{lockState{l.Value, l.Light}, -1, ""}}
	seen := map[lockState]bool{queue[0].lockState: true}
	for at := 0; at < len(queue) && len(queue) < maxLockStates; at++ {
		if queue[at].value == l.Target && at > 0 {
			var path []string
			for i := at; queue[i].before >= 0; i = queue[i].before {
				path = append(path, queue[i].button)
			}
			slices.Reverse(path)
			return path
		}
		for _, b := range l.Buttons {
			if next, ok := queue[at].press(b); ok && !seen[next] {
				seen[next] = true
				queue = append(queue, node{next, at, b.Name})
			}
		}
	}
	return nil
}

var lockArrows = strings.NewReplacer("→", " ", "->", " ", ",", " ")

func init() {
	type settings struct {
		Difficulty int `toml:"difficulty" range:"[1,12]" about:"minimum length of the shortest solution, in presses"`
	}
	generate(family[settings]{
		name: "quantum_lock", summary: "press buttons whose effect depends on a light",
		about: `reach a number by pressing buttons that work only in one colour of a light, which changes
with every press. Right: every shortest sequence of buttons that work, separated by arrows,
commas or white space.`,
		format:     "The answer is a shortest sequence of buttons such as A → B → A.",
		defaults:   settings{5},
		curriculum: []Attribute{{"difficulty", []float64{1, 2, 3, 4, 5, 6, 7, 8}, []string{"difficulty"}}},
		check: func(row verify.Problem, answer string) error {
			var l lock
			if err := cmpErr(needed(row, "target_value", &l.Target), needed(row, "buttons", &l.Buttons), needed(row, "initial_state", &l.Light), needed(row, "initial_value", &l.Value)); err != nil {
				return err
			}
			least := len(strings.Fields(lockArrows.Replace(row.Answer)))
			if least == 0 {
				return lacks("the row has no answer")
			}
			state, presses := lockState{l.Value, l.Light}, 0
			for _, c := range strings.Join(strings.Fields(lockArrows.Replace(strings.ToUpper(answer))), "") {
				i := slices.IndexFunc(l.Buttons, func(b lockButton) bool { return b.Name == string(c) })
				if i < 0 {
					return fmt.Errorf("%q is not a button", c)
				}
				next, ok := state.press(l.Buttons[i])
				if presses++; !ok {
					return fmt.Errorf("press %d does nothing", presses)
				}
				state = next
			}
			switch {
			case state.value != l.Target:
				return fmt.Errorf("the number is %d at the end", state.value)
			case presses > least:
				return errors.New("there is a shorter sequence")
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			l := lock{Target: r.Between(3, 10+6*s.Difficulty), Light: "red", Value: r.Between(0, 3)}
			var lines []string
			for i := range 3 {
				b := lockButton{string(rune('A' + i)), pick(r, []string{"add", "subtract", "multiply"}), r.Between(2, 3), pick(r, []string{"red", "green", "any"})}
				l.Buttons = append(l.Buttons, b)
				how := map[string]string{"add": "adds", "subtract": "subtracts", "multiply": "multiplies by"}[b.Type]
				when := map[string]string{"any": "always", "red": "only while the light is red", "green": "only while the light is green"}[b.Active]
				lines = append(lines, fmt.Sprintf("%s %s %d and works %s.", b.Name, how, b.Value, when))
			}
			path := l.solve()
			return problem{
				question: fmt.Sprintf("A lock shows the number %d and a red light. Every press of a button that works turns the light from red to green or from green to red. The buttons:\n%s\nReach %d with as few presses as possible.", l.Value, strings.Join(lines, "\n"), l.Target),
				answer:   strings.Join(path, " → "),
				metadata: map[string]any{"target_value": l.Target, "buttons": l.Buttons, "initial_state": l.Light, "initial_value": l.Value},
			}, len(path) >= s.Difficulty
		},
	})
}
