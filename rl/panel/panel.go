package panel

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// Writer is what draws answers.
type Writer interface {
	// Renderer writes what the model reads.
	Renderer() *prompts.Renderer
	// Room is how many tokens a question may have with its answer, at most: a judge's own context may be less.
	Room() int
	// Write draws answers to prompts.
	Write(ctx context.Context, asked []Asked) ([][]judge.Said, error)
}

// Model is what a judge asks.
type Model interface {
	// Question is a text as the model reads it: ids of tokens, or of an [Endpoint] its bytes.
	Question(text string) ([]int, error)
	// Room is how many of them a question may have with its answer, at most: a judge's own context may be less.
	Room() int
	// Version changes with the weights.
	Version() any
	// Write draws answers to questions.
	Write(ctx context.Context, asked []Asked) ([][]judge.Said, error)
}

// Member is a model of the run, whose insides can be read.
type Member interface {
	Model
	Writer
	// Shares says that the model has the policy's tokens.
	Shares() bool
	// Heads is what the model's head says after the last token of views; probability says that these are
	// probabilities, of a label among several.
	Heads(views []rollout.View) (says []float64, probability bool, err error)
	// Logprobs are the sums of the log-probs of the spans of views.
	Logprobs(views []rollout.View) ([]float64, error)
}

// Asked is a question to which answers are drawn. Answer i draws from stream i of the seed.
type Asked struct {
	IDs         []int
	Answers     int
	MaxTokens   int
	Temperature float64
	Seed        uint64
	By          random.Key // of the completion about which it is asked first
}

// Panel asks the judges of a run.
type Panel struct {
	Models func(name string) (Model, error)
	Seed   uint64 // of the run
	Stage  int    // of it, for texts that nobody drew, such as attacks
	Off    bool   // nothing is remembered

	kept   map[string]*memory // by model
	Counts Counts             // since they were taken
}

// Counts say what was asked.
type Counts struct {
	Questions int // different ones of a call
	Cached    int // of them that were answered before
	Tokens    int // drawn
}

// Take returns the counts and sets them to 0.
func (p *Panel) Take() Counts {
	c := p.Counts
	p.Counts = Counts{}
	return c
}

// memory is what a model said.
type memory struct {
	version any
	said    map[[sha256.Size]byte]spoken
	bytes   int // of what is said
}

// mostKept and mostBytes bound what is remembered of a model: an answer may be as long as a server makes it.
const (
	mostKept  = 1 << 16 // questions
	mostBytes = 64 << 20
)

// keep remembers what was said to a question, if there is room. What is not remembered is asked again.
func (m *memory) keep(key [sha256.Size]byte, s spoken) {
	n := s.bytes()
	if len(m.said) < mostKept && m.bytes+n <= mostBytes && !s.faulty() {
		m.said[key] = s
		m.bytes += n
	}
}

// spoken is what a model said to a question, before it is read.
type spoken struct {
	head        float64
	probability bool
	logprobs    []float64    // of the choices
	said        []judge.Said // [vote]
}

// bytes is about what it takes in memory, beside the question.
func (s spoken) bytes() int {
	const said = 64 // of a [judge.Said] without its text
	n := 8 * len(s.logprobs)
	for _, a := range s.said {
		n += said + len(a.Text)
	}
	return n
}

// faulty says that some answer is missing: whoever asks again may get it.
func (s spoken) faulty() bool {
	return slices.ContainsFunc(s.said, func(a judge.Said) bool { return a.Fault != "" })
}

// sheet are the different questions of a call, as ids.
type sheet struct {
	judge  *judge.Judge
	model  Model
	member Member // the model; nil: it draws answers alone
	longer int    // tokens that follow a question at most
	ids    [][]int
	by     []random.Key // of the completions about which they are asked first
	stage  int          // of texts that nobody drew
	places map[[sha256.Size]byte]int
	sums   [][sha256.Size]byte
	texts  map[[sha256.Size]byte]string // of the questions that are written
	said   []spoken                     // to the questions that were asked already, the first ones

	refused map[[sha256.Size]byte]string // why questions are not taken
}

// sumOf is the hash of ids.
func sumOf(ids []int) [sha256.Size]byte {
	var b []byte
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return sha256.Sum256(b)
}

// seedOf is that of the answers to a question, under the seed of a run.
func seedOf(run uint64, question [sha256.Size]byte) uint64 {
	return random.At(run, random.Stream(random.Judge, 0), binary.LittleEndian.Uint64(question[:])).Uint64()
}

// put adds a question about a path, or about several of which it is the first, and returns its place.
func (s *sheet) put(ids []int, g *rollout.Group, path int) int {
	sum := sumOf(ids)
	at, known := s.places[sum]
	if !known {
		at = len(s.ids)
		s.places[sum] = at
		s.ids, s.sums, s.by = append(s.ids, ids), append(s.sums, sum), append(s.by, s.keyOf(g, path))
	}
	return at
}

// keyOf is the key of the random numbers of a path, or the place of a solution that a file has; of an episode whose
// context began anew that which it began with.
// Texts that nobody drew, such as attacks, have that of their stage.
func (s *sheet) keyOf(g *rollout.Group, path int) random.Key {
	if g.Segments != nil {
		for _, at := range slices.Backward(g.Way(path)) {
			if key := g.Segments[at].Drawn.Key; key != (random.Key{}) && key.Purpose != random.Restart {
				return key
			}
		}
	}
	return random.Key{Purpose: random.Judge, Stage: s.stage}
}

// written are the ids of a question, or why there are none.
func (s *sheet) written(q judge.Question) ([]int, error) {
	ids, err := s.model.Question(q.Text)
	if err == nil && s.judge.Head() { // which learns to score at the end of a turn
		ids = append(ids, s.member.Renderer().Ends()[0])
	}
	if err == nil {
		err = s.fits(ids)
	}
	if err == nil {
		s.texts[sumOf(ids)] = q.Text
	}
	return ids, err
}

// errNothing refuses a question in which nothing stands.
var errNothing = errors.New("the question has no tokens")

// fits refuses a question without room for its answer.
func (s *sheet) fits(ids []int) error {
	room := s.model.Room()
	if own := s.judge.Context; own > 0 {
		room = min(room, own)
	}
	if n := len(ids) + s.longer; n > room {
		unit := "tokens"
		if s.member == nil {
			unit = "bytes"
		}
		return fmt.Errorf("the question has %d %s with its answer; the judge has room for %d", n, unit, room)
	}
	if len(ids) == 0 {
		return errNothing
	}
	if len(s.refused) > 0 {
		if why, refused := s.refused[sumOf(ids)]; refused {
			return Refused{errors.New(why)}
		}
	}
	return nil
}

// refuse remembers which questions are not taken, of those from a place on that were asked.
func (s *sheet) refuse(from int) {
	for i, q := range s.said[from:] {
		for _, a := range q.said {
			if a.Refused {
				s.refused[s.sums[from+i]] = a.Fault
			}
		}
	}
}

// lacks says why it is not known that a question is taken: it has no answer. nil: it has one, or is put and not asked so far.
func (s *sheet) lacks(ids []int, g *rollout.Group, path int) error {
	at := s.put(ids, g, path)
	if at >= len(s.said) {
		return nil
	}
	for _, a := range s.said[at].said {
		switch {
		case a.Refused:
			return errors.New(a.Fault)
		case a.Fault != "":
			return unanswered{s.of(at, verify.Opinion{Why: a.Fault, Missing: true})}
		}
	}
	return nil
}

// unanswered is that a question has no answer, and may have one another time.
type unanswered struct{ opinion verify.Opinion }

func (u unanswered) Error() string { return u.opinion.Why }

// Judge implements [rollout.Judges].
func (p *Panel) Judge(ctx context.Context, v verify.Asking, groups []rollout.Group) ([][]verify.Verdict, error) {
	j, ok := v.(*judge.Judge)
	if !ok {
		return nil, fmt.Errorf("a verifier of type %T asks a model", v)
	}
	m, err := p.Models(j.Model)
	if err != nil {
		return nil, err
	}
	s := &sheet{judge: j, model: m, stage: p.Stage, places: map[[sha256.Size]byte]int{}, texts: map[[sha256.Size]byte]string{}, refused: map[[sha256.Size]byte]string{}}
	s.member, _ = m.(Member)
	if s.member == nil && !j.Draws() {
		return nil, fmt.Errorf("the model %s draws answers, and nothing else of it can be read", j.Model)
	}
	choices, err := s.choices()
	if err != nil {
		return nil, err
	}
	for _, c := range choices {
		s.longer = max(s.longer, len(c))
	}
	if j.Draws() {
		s.longer = j.MaxTokens
	}
	verdicts := s.begin(groups)
	for {
		before := len(s.said)
		if err := p.ask(ctx, s, choices); err != nil {
			return nil, err
		}
		if s.refuse(before); len(s.refused) > 0 && len(s.said) > before { // whose completions are not shown
			verdicts = s.begin(groups)
			continue
		}
		if out := verdicts(s.said); out != nil {
			return out, nil
		}
	}
}

// Compares implements [rollout.Judges].
func (p *Panel) Compares(v verify.Asking) bool {
	j, ok := v.(*judge.Judge)
	return ok && (j.Shows == judge.Pairs || j.Shows == judge.Group)
}

// begin puts the questions about groups that are known, and returns what makes verdicts of the answers: nil as long as
// what was said leads to more questions, which are on the sheet then.
func (s *sheet) begin(groups []rollout.Group) func(said []spoken) [][]verify.Verdict {
	switch s.judge.Shows {
	case judge.Pairs:
		return s.pairs(groups)
	case judge.Group:
		return s.orders(groups)
	}
	return s.each(groups)
}

// choices are the ids of the answers whose probabilities are read.
func (s *sheet) choices() ([][]int, error) {
	var out [][]int
	for _, c := range s.judge.Choices() {
		ids, err := s.member.Renderer().Answer(c)
		if err != nil || len(ids) == 0 {
			return nil, fmt.Errorf("the answer %q of the judge %s has no tokens: %w", c, s.judge.Model, err)
		}
		out = append(out, ids)
	}
	return out, nil
}

// ask has the model say something to the questions of a sheet that were not asked yet.
func (p *Panel) ask(ctx context.Context, s *sheet, choices [][]int) error {
	said := append(s.said, make([]spoken, len(s.ids)-len(s.said))...)
	known := p.memoryOf(s)
	var open []int
	for i := len(s.said); i < len(said); i++ {
		if before, there := known.said[s.key(s.sums[i])]; there {
			said[i] = before
			p.Counts.Cached++
			continue
		}
		open = append(open, i)
	}
	p.Counts.Questions += len(said) - len(s.said)
	s.said = said
	if len(open) == 0 {
		return nil
	}
	var err error
	switch {
	case s.judge.Head():
		err = s.heads(open, said)
	case choices != nil:
		err = s.probabilities(open, choices, said)
	default:
		err = p.write(ctx, s, open, said)
	}
	if err != nil {
		return err
	}
	for _, i := range open {
		if !p.Off {
			known.keep(s.key(s.sums[i]), said[i])
		}
	}
	return nil
}

// key is what an answer depends on beside the weights: the ids, and how the judge reads or draws.
func (s *sheet) key(sum [sha256.Size]byte) [sha256.Size]byte {
	j := s.judge
	return sha256.Sum256(fmt.Appendf(sum[:], "%s %q %d %d %v", j.Reads(), j.Choices(), j.Votes, j.MaxTokens, j.Temperature))
}

// memoryOf is what is remembered of a judge's model.
func (p *Panel) memoryOf(s *sheet) *memory {
	m, there := p.kept[s.judge.Model]
	if now := s.model.Version(); !there || m.version != now {
		m = &memory{version: now, said: map[[sha256.Size]byte]spoken{}}
		if p.kept == nil {
			p.kept = map[string]*memory{}
		}
		p.kept[s.judge.Model] = m
	}
	return m
}

// together is the one group of all questions of a call: what they begin with alike, such as a rubric, is read
// once.
const together = 1

// heads reads the model's head after each question.
func (s *sheet) heads(open []int, said []spoken) error {
	views := make([]rollout.View, len(open))
	for k, i := range open {
		views[k] = rollout.View{IDs: s.ids[i], Temperature: 1, Group: together}
	}
	numbers, probability, err := s.member.Heads(views)
	if err != nil {
		return err
	}
	for k, i := range open {
		said[i].head, said[i].probability = numbers[k], probability
	}
	return nil
}

// probabilities are the log-probs of the choices after each question.
func (s *sheet) probabilities(open []int, choices [][]int, said []spoken) error {
	var views []rollout.View
	for _, i := range open {
		for _, c := range choices {
			n := len(s.ids[i])
			ids := append(s.ids[i][:n:n], c...)
			views = append(views, rollout.View{IDs: ids, Spans: []rollout.Span{{From: n, To: len(ids)}}, Temperature: 1, Group: together})
		}
	}
	sums, err := s.member.Logprobs(views)
	if err != nil {
		return err
	}
	for k, i := range open {
		said[i].logprobs = sums[k*len(choices) : (k+1)*len(choices) : (k+1)*len(choices)]
	}
	return nil
}

// write has the model write the answers.
func (p *Panel) write(ctx context.Context, s *sheet, open []int, said []spoken) error {
	asked := make([]Asked, len(open))
	for k, i := range open {
		asked[k] = Asked{IDs: s.ids[i], Answers: s.judge.Votes, MaxTokens: s.judge.MaxTokens, Temperature: s.judge.Temperature, Seed: seedOf(p.Seed, s.sums[i]), By: s.by[i]}
	}
	answers, err := s.model.Write(ctx, asked)
	if err != nil {
		return err
	}
	for k, i := range open {
		said[i].said = answers[k]
		for _, a := range answers[k] {
			p.Counts.Tokens += a.Tokens
		}
	}
	return nil
}

// name is the hash of a question, for people.
func (s *sheet) name(at int) string { return hex.EncodeToString(s.sums[at][:8]) }

// of is an opinion that says which question it answers.
func (s *sheet) of(at int, o verify.Opinion) verify.Opinion {
	o.Question, o.Asked = s.name(at), s.texts[s.sums[at]]
	return o
}

// opinions are what the model said to a question, as the judge reads it.
func (s *sheet) opinions(at int, said spoken, row verify.Problem) []verify.Opinion {
	var out []verify.Opinion
	switch {
	case s.judge.Head():
		out = []verify.Opinion{s.judge.OfHead(said.head, said.probability)}
	case said.logprobs != nil:
		out = []verify.Opinion{s.judge.OfChoices(said.logprobs)}
	default:
		for _, text := range said.said {
			out = append(out, s.judge.OfDrawn(row, text))
		}
	}
	for i := range out {
		out[i] = s.of(at, out[i])
	}
	return out
}
