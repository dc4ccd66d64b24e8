package serve

import (
	"encoding/json"

	"github.com/rlzero/rlzero/model/sample"
)

// query is a request for completions, whatever its wire format. The decoder of a format fills in
// what was asked, and [Server.prepare] what that comes to with the model.
type query struct {
	wire  *wire
	model string

	prompt json.RawMessage // a text, token ids, or a list of either; nil: a conversation
	turns  []turn          // of a conversation

	n          int
	max        int // new tokens of a completion; -1: not given
	sampling   sample.Settings
	seeded     bool
	drawStream int
	stop       []string
	stopIDs    []int
	ignoreEnds bool // a completion goes on after a token that ends it

	unscaled  bool // log-probs are those at temperature 1
	echo      bool
	logprobs  int // most likely tokens told beside each; -1: no log-probs
	promptTop int // prompt_logprobs; -1: none
	stream    bool
	usage     bool // a last event of a stream tells it
	givesIDs  bool
	entropy   bool

	chat      bool
	format    format
	tools     []tool
	toolList  json.RawMessage // as chat templates read them; nil: there are none
	choice    toolChoice
	oneCall   bool // calls are one at most
	effort    effort
	kept      any      // what the decoder has for the encoder
	unnoticed []string // keys that --lenient passed over

	on       *served
	prompts  [][]int
	ends     []int        // tokens that end a completion; nil: the model's
	form     *form        // what the answer has to follow; nil: any text
	guide    sample.Guide // what it comes to; nil: any token
	callable *callable    // what the answer may call; nil: nothing
}

func newQuery(w *wire) *query {
	return &query{wire: w, chat: w.prompt != "prompt", n: 1, max: -1, logprobs: -1, promptTop: -1,
		sampling: sample.Settings{Temperature: 1, TopP: 1}}
}

// Bounds of a request.
const (
	maxN       = 128
	maxChoices = 1024    // prompts times n
	maxStops   = 1024    // token ids that end a completion
	maxTold    = 1 << 21 // log-probs of prompts in an answer
	maxTop     = 20
	maxStream  = 1 << 31
)

// scoresPrompt says whether the tokens of the prompt are scored.
func (q *query) scoresPrompt() bool { return q.promptTop >= 0 || q.echo && q.logprobs >= 0 }

// most is how many of the most likely tokens the engine tells.
func (q *query) most() int { return max(q.logprobs, q.promptTop, 0) }
