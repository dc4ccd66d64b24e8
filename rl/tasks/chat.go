package tasks

import (
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// Message is a turn of a conversation.
type Message struct {
	Role    string `json:"role"` // "system" or "user"
	Content string `json:"content"`
}

// Chat is a row that t drew as a conversation: a system message that says how to
// give the answer, and the question as the user's. Together they say what the
// row's own text says; for a [Demonstrator], whose text is a bare problem, the system
// message tells the form that demonstrations teach.
func Chat(t Task, row verify.Problem) []Message {
	if m, mixed := t.(*mixture); mixed {
		if part, err := m.blend().of(row); err == nil { // each kind says how to answer it
			t = part
		}
	}
	return []Message{
		{Role: "system", Content: t.instruction()},
		{Role: "user", Content: strings.TrimSuffix(row.Question, tagged)},
	}
}

// tagged ends the questions of generated families in their text form.
const tagged = " Write it between <answer> and </answer>."

func (g *generated[S]) instruction() string {
	return "Work the problem out, then write the final answer between <answer> and </answer>."
}

func (c *Countdown) instruction() string {
	return `You are given numbers and, behind >, a target. Reach the target with + and -, using every number once. ` +
		`Answer with a running total and nothing else: each step has its result, without spaces. For "20 13 7 4 > 10:" an answer is 20-13=7+7=14-4=10`
}

func (s *search) instruction() string {
	return s.base(s.Numbers).instruction() + `. You may try before you answer; write the answer after ":"`
}

func (c *chainSum) instruction() string {
	return `Work out the sum. Answer with a running total and nothing else: each step has its result, without spaces. ` +
		`For "12+7-5-3:" the answer is 12+7=19-5=14-3=11`
}

func (p *coding) instruction() string {
	return `Write a function of x that has the given values. Answer with it and nothing else: f=x=> and an expression of x, whole numbers, +, -, * and parentheses, ` +
		`without spaces. For "0>1,1>3:" an answer is f=x=>x*2+1`
}

func (t *trace) instruction() string {
	return `Work out what the function returns for the number after the comma. Answer with the product, = and the value, and nothing else. For "f=x=>x*3+7,4:" the answer is 12=19`
}

func (c *composition) instruction() string {
	return `Each capital is a function on strings of letters; a dot changes nothing. Apply them, the one next to the letters first. ` +
		`Answer with the results and nothing else, with = between them, one for each capital or dot.`
}
