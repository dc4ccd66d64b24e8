package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// wordProblem is a question about two changes of a number of things.
type wordProblem struct {
	name, things string
	start        int
	change       [2]int  // how many each time
	verb         [2]verb // what happened to them
}

// verb says what happened; gains adds.
type verb struct {
	text  string
	gains bool
}

var (
	people = []string{"Ann", "Ben", "Dora", "Emil"}
	goods  = []string{"pears", "coins", "books", "cards"}
	verbs  = []verb{{"finds", true}, {"buys", true}, {"loses", false}, {"sells", false}}
)

// Numbers are such that every combination of signs stays positive.
const (
	lowStart, highStart = 7, 16
	mostChange          = 3
)

func drawProblem(rng *rand.Rand) wordProblem {
	p := wordProblem{name: people[rng.IntN(len(people))], things: goods[rng.IntN(len(goods))], start: lowStart + rng.IntN(highStart-lowStart+1)}
	for i := range p.change {
		p.change[i], p.verb[i] = 1+rng.IntN(mostChange), verbs[rng.IntN(len(verbs))]
	}
	return p
}

func (p wordProblem) question() string {
	return fmt.Sprintf("%s has %d %s, %s %d and %s %d. How many %s are left?",
		p.name, p.start, p.things, p.verb[0].text, p.change[0], p.verb[1].text, p.change[1], p.things)
}

// solution is a running total that adds or takes away as told, and what it comes to.
func (p wordProblem) solution(adds [2]bool) (text string, total int) {
	total = p.start
	text = fmt.Sprint(total)
	for i, n := range p.change {
		sign := "+"
		if !adds[i] {
			sign, n = "-", -n
		}
		total += n
		text += fmt.Sprintf("%s%d=%d", sign, p.change[i], total)
	}
	return fmt.Sprintf(`%s \boxed{%d}`, text, total), total
}

func (p wordProblem) answer() int {
	_, total := p.solution([2]bool{p.verb[0].gains, p.verb[1].gains})
	return total
}

// demonstration is an answer in the right form whose signs are each right with the given
// probability.
func (p wordProblem) demonstration(rng *rand.Rand, right float64) string {
	var adds [2]bool
	for i, v := range p.verb {
		adds[i] = v.gains == (rng.Float64() < right)
	}
	text, _ := p.solution(adds)
	return text
}

// problemRows are JSON Lines of different problems with their answers, conversation rows
// such lines of demonstrations; texts are what stands in them.
func problemRows(seed uint64, n int, right float64) (problems, conversations string, texts []string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var rows, talks strings.Builder
	seen := map[string]bool{}
	for len(seen) < n {
		p := drawProblem(rng)
		q := p.question()
		if seen[q] {
			continue
		}
		seen[q] = true
		demo := p.demonstration(rng, right)
		writeJSON(&rows, map[string]string{"question": q, "answer": fmt.Sprint(p.answer())})
		writeJSON(&talks, map[string]any{"messages": []map[string]string{{"role": "user", "content": q}, {"role": "assistant", "content": demo}}})
		texts = append(texts, q, demo)
	}
	return rows.String(), talks.String(), texts
}

func writeJSON(b *strings.Builder, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // of strings alone
	}
	b.Write(append(data, '\n'))
}
