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

// Poser is a Demonstrator whose problems a policy may write.
type Poser interface {
	Demonstrator
	// Pose is the problem that a text poses, with the answer that the task works out. from is the problem by which
	// whoever wrote it was asked. The error says why it is none: it is what people are told.
	Pose(from verify.Problem, text string) (verify.Problem, error)
	// Proposer writes problems, some of which are none: it is imitated. Its history begins with what it is asked.
	Proposer() world.Player
}

// Posers are the names of the tasks that are one.
func Posers() []string {
	return namesOf(func(t Task) bool { _, can := t.(Poser); return can })
}

// namesOf are those of the tasks of a kind.
func namesOf(kind func(Task) bool) []string {
	var names []string
	for _, f := range Families() {
		if kind(f.New()) {
			names = append(names, f.Name)
		}
	}
	return names
}

// accepted is a problem that somebody wrote, unless it is one that is held out.
func accepted(row verify.Problem) (verify.Problem, error) {
	if SplitOf(row.ID) == HeldOut {
		return row, errors.New("the problem is one of those that are held out")
	}
	return row, nil
}

var _ Poser = (*chainSum)(nil)

// Pose implements [Poser]: a chain of two terms or more, up to as many as the task has, such as 12+7-5:.
func (c *chainSum) Pose(_ verify.Problem, text string) (verify.Problem, error) {
	chain, ends := strings.CutSuffix(text, ":")
	var terms []int
	total, rest := 0, "+"+chain
	for rest != "" && ends {
		n := strings.IndexAny(rest[1:], "+-") + 1
		if n == 0 {
			n = len(rest)
		}
		term, isNumber := number(rest[1:n])
		if !isNumber || term < 1 || term > c.MaxNumber || rest[1] == '0' {
			return verify.Problem{}, fmt.Errorf("a term is not a number from 1 to %d", c.MaxNumber)
		}
		if rest[0] == '-' {
			term = -term
		}
		if total += term; !c.inRange(total) {
			return verify.Problem{}, fmt.Errorf("a total is outside 0 to %d", c.MaxTotal)
		}
		terms, rest = append(terms, term), rest[n:]
	}
	if len(terms) < 2 || len(terms) > c.Terms {
		return verify.Problem{}, fmt.Errorf("it is no chain of 2 to %d terms that ends in a colon", c.Terms)
	}
	return accepted(c.problem(chain, terms, total))
}

// Proposer implements [Poser]: a chain of any length that is accepted, as likely as others, of terms and signs that
// are drawn.
func (c *chainSum) Proposer() world.Player { return chainWriter{c} }

type chainWriter struct{ *chainSum }

// Play implements [world.Player].
func (w chainWriter) Play(_ []world.Message, dice *random.Rand) string {
	chain := strconv.Itoa(dice.Between(1, w.MaxNumber))
	for range dice.Between(1, w.Terms-1) {
		chain += pick(dice, []string{"+", "-"}) + strconv.Itoa(dice.Between(1, w.MaxNumber))
	}
	return chain + ":"
}

var _ Poser = (*library)(nil)

// Pose implements [Poser]: a thing and relations that documents of the row follow from it, to the row's answer.
func (l *library) Pose(from verify.Problem, text string) (verify.Problem, error) {
	documents, _, err := shelves(from)
	if err != nil {
		return verify.Problem{}, err
	}
	words := parts.FindAllString(text, -1)
	if question := strings.Join(words, ""); question+":" != strings.ReplaceAll(text, " ", "") || len(words) < 2 || len(words) > l.Hops+1 {
		return verify.Problem{}, fmt.Errorf("it is no thing with 1 to %d relations that ends in a colon", l.Hops)
	}
	at, chain := words[0], []string(nil)
	for _, relation := range words[1:] {
		i := slices.IndexFunc(documents, func(d string) bool { return strings.HasPrefix(d, at+" "+relation+" ") })
		if i < 0 {
			return verify.Problem{}, errors.New("no document says what it asks for")
		}
		chain = append(chain, documents[i])
		at = strings.Fields(documents[i])[2]
	}
	if at != from.Answer {
		return verify.Problem{}, errors.New("its answer is not the one that was asked for")
	}
	question := strings.Join(words, " ") + ":"
	return accepted(verify.Problem{
		ID:       question + " " + strings.Join(documents, ", "),
		Question: question,
		Answer:   at,
		Metadata: metadata(map[string]any{"documents": documents, "chain": chain}),
	})
}

// Proposer implements [Poser]: it searches for the first number that it is asked about, and then for what leads
// there, and asks for what it has found, or for anything.
func (l *library) Proposer() world.Player { return asker{l} }

type asker struct{ *library }

// Play implements [world.Player].
func (a asker) Play(history []world.Message, dice *random.Rand) string {
	words := parts.FindAllString(history[0].Text, -1)
	if len(words) == 0 {
		return ""
	}
	at, relations, lost := words[0], []string(nil), false
	for i := 2; i < len(history); i += 2 {
		said := strings.Fields(firstLine(history[i].Text))
		if lost = lost || len(said) != 3 || said[2] != at; !lost {
			at, relations = said[0], append([]string{said[1]}, relations...)
		}
	}
	turn := len(history)/2 + 1
	if !lost && len(relations) < a.Hops && turn < a.Most && (relations == nil || dice.Chance(0.5)) {
		return searching(at)
	}
	if relations == nil {
		at, relations = strconv.Itoa(dice.Between(0, a.Things-1)), []string{relationNames[:a.Relations][dice.Between(0, a.Relations-1):][:1]}
	}
	return strings.Join(append([]string{at}, relations...), " ") + ":"
}
