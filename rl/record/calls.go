package record

import (
	"bytes"
	"cmp"
	"strings"
)

// Call is a line of CallsFile: a call of a tool that is not pure, or what was answered to it. The
// answer to a call with effects has a line before it, its intent, which is written before the call is made.
// A turn that had no reply has a line of its own. A question to a judge behind an address has one for each
// vote, of the completion about which it was asked first. A step counts from 0 in its stage, but for these purposes: of
// refills, greedy answers, second chances and branches of trees it is 65 times the step, and the try; of contests
// twice the step, and the side; of an evaluation the steps done before it, and 9223372036854775807 after the stage.
type Call struct {
	Purpose int    `json:"purpose"`           // of the episode or completion: 2 one of a step, 4 one of an evaluation; internal/random/purpose.go has the others
	Stage   int    `json:"stage"`             // its index in the recipe
	Step    int    `json:"step"`              // of the stage, from 0 on; some purposes count otherwise
	Stream  uint32 `json:"stream"`            // tells the episodes of a step apart
	Greedy  bool   `json:"greedy,omitempty"`  // the episode is drawn greedily
	Turn    int    `json:"turn"`              // from 1; 0: before the first, and of a judge
	Number  int    `json:"call"`              // of the calls of the turn, or of the votes of a judge, from 1; 0: the line is about the turn
	Tool    string `json:"tool"`              // its name, also of one that failed, with a fault; world: a program of others that plays; models.NAME: a judge behind an address
	Args    string `json:"args"`              // SHA-256 of the arguments, or of what the program or judge is asked, in hexadecimal digits
	Intent  bool   `json:"intent,omitempty"`  // the call is about to be made
	Answer  string `json:"answer,omitempty"`  // what the tool said; of a program of others its line, without the id; of a judge text, tokens, and ended, or else it was cut; or refused: why it takes no such question
	Failed  bool   `json:"failed,omitempty"`  // the call was a mistake, which the answer explains
	Refused bool   `json:"refused,omitempty"` // the turn broke its tools twice, and its policy was told that there is no answer
	Fault   string `json:"fault,omitempty"`   // why the turn had no reply, and its episode is not scored; or why a judge gave no answer
	Sum     string `json:"sum,omitempty"`     // SHA-256 of the sum of the line before and of this line without it
}

// JudgeTool is what the tool of a line of a judge behind an address begins with. No tool has such a name.
const JudgeTool = "models."

// Judge is the model of [models] that a line is of; false: it is of a tool, or of a program of others.
func (c Call) Judge() (name string, is bool) { return strings.CutPrefix(c.Tool, JudgeTool) }

// Chained is a line whose sum follows that of the line before it; "" before the first.
func (c Call) Chained(before string) (Call, error) {
	var err error
	c.Sum = ""
	c.Sum, err = chain(before, c)
	return c, err
}

func (c Call) sum() string { return c.Sum }

// EachCall calls do for the lines of a CallsFile, in order, and returns the sum of the last. A line
// that is not what was written is refused, by its number: its sum, or that of the line before, is another.
func EachCall(file string, do func(c Call) error) (sum string, err error) {
	return eachChained(file, func(_ int, _ []byte, c Call) error { return do(c) })
}

// Compare orders calls by their place in the run, and an intent before its answer.
func (c Call) Compare(d Call) int {
	return cmp.Or(cmp.Compare(c.Stage, d.Stage), cmp.Compare(c.Step, d.Step), cmp.Compare(c.Purpose, d.Purpose), greedyFirst(c, d), cmp.Compare(c.Stream, d.Stream),
		cmp.Compare(c.Turn, d.Turn), cmp.Compare(c.Number, d.Number), cmp.Compare(c.Tool, d.Tool), cmp.Compare(c.Args, d.Args))
}

// greedyFirst orders an episode of most likely tokens before one of drawn ones.
func greedyFirst(c, d Call) int {
	switch {
	case c.Greedy == d.Greedy:
		return 0
	case c.Greedy:
		return -1
	}
	return 1
}

// CallsText is the text of a CallsFile with these lines, whose sums are made anew.
func CallsText(lines []Call) ([]byte, error) {
	var b bytes.Buffer
	sum := ""
	for _, line := range lines {
		line, err := line.Chained(sum)
		if err != nil {
			return nil, err
		}
		text, err := plain(line)
		if err != nil {
			return nil, err
		}
		sum = line.Sum
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}
