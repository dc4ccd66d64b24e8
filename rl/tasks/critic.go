package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[criticSettings, revision]{
		name:    "critic",
		summary: "name the wrong steps of a sum, one after the other, to a reviser who works them out again",
		about: `name the wrong steps of a sum, one after the other, to a reviser who works them out again.

    12+7=19-5=15-3=12+4=17    2, and the reviser says 12+7=19-5=14-3=11+4=16

The prompt is a running total some of whose steps are wrong. A step is wrong if its result does not follow
from the result before it. A turn is the number of a step, from 1 on. The reviser works that step out again
and carries the difference through the later ones, whose own faults stay. If the step was right, nothing
changes, and the turn is lost. There are as many turns as faults.

Terms are drawn from 1 to max_number and signs with equal probability; so are the steps that are wrong, and
by how much each is off: 1 to 3, up or down. A draw is discarded if a total is below 0 or above max_total,
before a revision or after any. One problem in 16 is held out, chosen by the CRC-32 of the prompt.

Best play names the first step that is wrong. Random turns are the numbers of the steps, all alike; what they
earn is worked out for each problem, from what is left after each turn.

Demonstrations: with probability aimed a turn is the best player's, otherwise any step.`,
		asked: `You are told the working of a sum with a result after each step. Some steps are wrong: their result does not follow from the result before. ` +
			`Each of your turns is the number of a wrong step, from 1 on, and nothing else. It is worked out again, and you are told the working as it is then. You have as many turns as there are wrong steps.`,
		defaults: criticSettings{Steps: 4, MaxNumber: 9, MaxTotal: 30, Faults: 2, Aimed: 0.5},
		valid: func(s *criticSettings) error {
			if s.Faults > s.Steps {
				return outOfRange("faults", s.Faults, fmt.Sprintf("at most steps = %d", s.Steps))
			}
			return nil
		},
		draw: drawWorking,
		open: func(s *criticSettings, row verify.Problem) (game[revision], error) {
			w, err := workingOf(row.Question)
			if err == nil && w.left(w.start()) != s.Faults {
				err = fmt.Errorf("%d of its steps are wrong", w.left(w.start()))
			}
			if err != nil {
				return nil, fmt.Errorf("task critic: the row does not belong to this task: its question is no working with %d faults: %w", s.Faults, err)
			}
			return w, nil
		},
		turns: func(s *criticSettings) int { return s.Faults },
		aimed: func(s *criticSettings) float64 { return s.Aimed },
		forms: func(s *criticSettings) []string { return numbersTo(s.Steps) },
		words: func(s *criticSettings) []string {
			words := []string{"+", "-", "="}
			for n := range s.MaxTotal + 1 {
				words = append(words, strconv.Itoa(n))
			}
			return words
		},
		shown: func(s *criticSettings) int { return 1 + 4*s.Steps },
		moved: func(*criticSettings) int { return 1 },
		think: func(history []world.Message) (best string, allowed []string) {
			w, err := workingOf(seen(history))
			if err != nil {
				return "", nil
			}
			for i, off := range w.off {
				if off != 0 && best == "" {
					best = strconv.Itoa(i + 1)
				}
			}
			return best, numbersTo(len(w.off))
		},
	})
}

type criticSettings struct {
	Steps     int     `toml:"steps" range:"[2,8]" about:"steps of the working"`
	MaxNumber int     `toml:"max_number" range:"[1,99]" about:"largest term"`
	MaxTotal  int     `toml:"max_total" range:"[8,999]" about:"largest result of a step"`
	Faults    int     `toml:"faults" range:"[2,8]" about:"steps that are wrong; at most steps"`
	Aimed     float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are the best player's"`
}

// revision has a bit for each wrong step that was worked out again.
type revision uint8

// working is a problem.
type working struct {
	first int
	terms []int // of the steps, with their signs
	off   []int // by how much the result of each is off
}

// workingOf reads a working as it is shown.
func workingOf(text string) (*working, error) {
	parts := strings.Split(text, "=")
	if len(parts) < 3 || len(parts) > 9 {
		return nil, errors.New("found no results")
	}
	w := &working{}
	total := 0
	for i, part := range parts {
		at := strings.IndexAny(part, "+-")
		if (at < 0) != (i == len(parts)-1) {
			return nil, fmt.Errorf("found %q", part)
		}
		stated := part
		if at >= 0 {
			stated = part[:at]
		}
		n, isNumber := number(stated)
		if !isNumber {
			return nil, fmt.Errorf("found %q", part)
		}
		if i == 0 {
			w.first = n
		} else {
			w.off = append(w.off, n-total-w.terms[i-1])
		}
		total = n
		if at < 0 {
			continue
		}
		term, isNumber := number(part[at+1:])
		if !isNumber {
			return nil, fmt.Errorf("found %q", part)
		}
		if part[at] == '-' {
			term = -term
		}
		w.terms = append(w.terms, term)
	}
	return w, nil
}

// left is how many faults are left.
func (w *working) left(p revision) int {
	n := 0
	for i, off := range w.off {
		if off != 0 && p>>i&1 == 0 {
			n++
		}
	}
	return n
}

func (w *working) start() revision { return 0 }

// totals are the results of the steps.
func (w *working) totals(p revision) []int {
	total, all := w.first, make([]int, len(w.terms))
	for i, term := range w.terms {
		if total += term; p>>i&1 == 0 {
			total += w.off[i]
		}
		all[i] = total
	}
	return all
}

func (w *working) show(p revision) string {
	var b strings.Builder
	fmt.Fprint(&b, w.first)
	for i, total := range w.totals(p) {
		fmt.Fprintf(&b, "%+d=%d", w.terms[i], total)
	}
	return b.String()
}

func (w *working) after(p revision, turn string) []way[revision] {
	i := slices.Index(numbersTo(len(w.terms)), turn)
	if i < 0 {
		return nil
	}
	if w.off[i] != 0 {
		p |= 1 << i
	}
	end := goesOn
	if w.left(p) == 0 {
		end = won
	}
	return []way[revision]{{1, p, end}}
}

func (w *working) near(p revision) float64 {
	return 1 - float64(w.left(p))/float64(w.left(w.start()))
}

// drawWorking draws a working with faults.
func drawWorking(s *criticSettings, r *random.Rand) (verify.Problem, bool) {
	w := &working{first: r.Between(1, s.MaxNumber), off: make([]int, s.Steps)}
	for range s.Steps {
		term := r.Between(1, s.MaxNumber)
		if r.Between(0, 1) == 1 {
			term = -term
		}
		w.terms = append(w.terms, term)
	}
	for _, i := range r.Shuffled(s.Steps)[:s.Faults] {
		if w.off[i] = r.Between(1, 3); r.Between(0, 1) == 1 {
			w.off[i] = -w.off[i]
		}
	}
	for revised := range 1 << s.Steps {
		totals := w.totals(revision(revised))
		if slices.Min(totals) < 0 || slices.Max(totals) > s.MaxTotal {
			return verify.Problem{}, false
		}
	}
	text := w.show(w.start())
	return verify.Problem{ID: text, Question: text}, true
}
