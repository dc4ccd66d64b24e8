package judge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/verify"
)

// Said is an answer as it was drawn.
type Said struct {
	Text   string // without its end token
	Tokens int
	Ended  bool   // by itself, rather than at max_tokens
	Fault  string // why there is no answer; "": there is one

	Refused bool // there is none as such a question is not taken
}

// OfHead reads what a head says: its sigmoid, or of one with several labels the probability itself.
func (j *Judge) OfHead(number float64, probability bool) verify.Opinion {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return verify.Opinion{Why: fmt.Sprintf("its head says %v", number)}
	}
	x := number
	if !probability {
		x = sigmoid(number)
	}
	return verify.Opinion{Reading: &x, Raw: &number}
}

// sigmoid is 1/(1 + exp(-x)), without an overflow.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// OfChoices reads the log-probs of the choices, nats, in their order: the mean of their values,
// weighted by their probabilities.
func (j *Judge) OfChoices(logprobs []float64) verify.Opinion {
	most := slices.Max(logprobs)
	if math.IsInf(most, 0) || math.IsNaN(most) {
		return verify.Opinion{Why: fmt.Sprintf("its log-probs of the answers are %v", logprobs)}
	}
	all, weighted := 0.0, 0.0
	for i, x := range logprobs {
		p := math.Exp(x - most)
		all, weighted = all+p, weighted+p*j.values[i]
	}
	x, mass := weighted/all, all*math.Exp(most)
	return verify.Opinion{Reading: &x, Mass: &mass}
}

// OfDrawn reads an answer that was drawn to a question.
func (j *Judge) OfDrawn(row verify.Problem, said Said) verify.Opinion {
	a := verify.Opinion{Text: said.Text, Tokens: said.Tokens}
	var x float64
	switch {
	case said.Fault != "":
		a.Why, a.Missing = said.Fault, true
	case !said.Ended:
		a.Why = fmt.Sprintf("the answer is cut at max_tokens = %d", j.MaxTokens)
	case j.repeats(said.Text):
		a.Why = repeated
	case j.reader != nil:
		v := verify.Guard(func() verify.Verdict { return j.reader.Verify(row, said.Text) })
		x = v.Score
		if unfound := v.Verdict == verify.Wrong && v.Extracted == ""; unfound || v.Verdict == verify.NotScored || math.IsNaN(x) {
			a.Why = v.Reason
		}
	default:
		x, a.Why = j.number(said.Text)
	}
	if a.Why == "" {
		a.Reading = &x
	}
	return a
}

// repeated is why an answer that has the prompt in it is unread.
const repeated = "the answer repeats the question"

// repeats says that an answer has the prompt's own text in it, with whatever in its braces. These do not count: a
// completion could make itself a part of the answer, so that it is unread.
func (j *Judge) repeats(answer string) bool { return j.tells(answer, 0) }

// Holds says that a completion has in it what [Judge.OfDrawn] knows the prompt by. An answer that quotes it would be
// unread, and by that the completion could keep itself from being scored.
func (j *Judge) Holds(completion string) bool {
	return j.Draws() && j.tells(j.shown(completion), tellingText)
}

// tells says that a text has the pieces of the prompt's own text in it, in their order, of those with so many characters
// at least, and a telling one among them. All white space is one space.
func (j *Judge) tells(text string, least int) bool {
	telling := false
	text = strings.Join(strings.Fields(text), " ")
	for _, p := range j.prompt {
		words := strings.Fields(p.text)
		own, n := strings.Join(words, " "), utf8.RuneCountInString(strings.Join(words, ""))
		if n < least {
			continue
		}
		_, after, found := strings.Cut(text, own)
		if !found {
			return false
		}
		text, telling = after, telling || n >= tellingText
	}
	return telling
}

// tellingText is how many characters beside white space a piece of a prompt has at least that an answer does not have
// by chance. Labels such as "Final score:" have fewer.
const tellingText = 16

// found is what the last match of the expression says; false: there is none.
func (j *Judge) found(text string) (string, bool) {
	all := j.pattern.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return "", false
	}
	last := all[len(all)-1]
	return strings.TrimSpace(last[len(last)-1]), true
}

// number is that of the last match, in 0 to 1.
func (j *Judge) number(text string) (x float64, why string) {
	found, ok := j.found(text)
	if !ok {
		return 0, "no match of " + j.reads
	}
	x, err := strconv.ParseFloat(found, 64)
	low, high := j.Between[0], j.Between[1]
	switch {
	case err != nil && !math.IsInf(x, 0) || math.IsNaN(x):
		return 0, fmt.Sprintf("the match of %s is no number", j.reads)
	case x < low || x > high:
		return 0, fmt.Sprintf("the number is not between %v and %v", low, high)
	}
	return (x - low) / (high - low), ""
}

// OfOrder reads the order of n completions that was drawn: the place of each, from 1; nil: it cannot be
// read.
func (j *Judge) OfOrder(said Said, n int) (places []int, a verify.Opinion) {
	a = verify.Opinion{Text: said.Text, Tokens: said.Tokens}
	found, ok := j.found(said.Text)
	switch {
	case said.Fault != "":
		a.Why, a.Missing = said.Fault, true
	case !said.Ended:
		a.Why = fmt.Sprintf("the answer is cut at max_tokens = %d", j.MaxTokens)
	case j.repeats(said.Text):
		a.Why = repeated
	case !ok:
		a.Why = "no match of " + j.reads
	}
	if a.Why != "" {
		return nil, a
	}
	if places = placesOf(found, n); places == nil {
		a.Why = fmt.Sprintf("the order does not have each of the numbers 1 to %d once", n)
	}
	return places, a
}

// placesOf reads the place of each number from 1 to n in a list of them; nil: it does not have each once.
func placesOf(list string, n int) []int {
	numbers := strings.FieldsFunc(list, func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) != n {
		return nil
	}
	places := make([]int, n)
	for place, text := range numbers {
		i, err := strconv.Atoi(text)
		if err != nil || i < 1 || i > n || places[i-1] != 0 {
			return nil
		}
		places[i-1] = place + 1
	}
	return places
}

// Votes are the answers to one question: their median, unless more than half of them are unread. spread is
// the largest less the smallest, unread the share that cannot be read, and why the commonest reason of that.
func Votes(answers []verify.Opinion) (median, spread, unread float64, why string) {
	var read []float64
	reasons := map[string]int{}
	for _, a := range answers {
		if a.Reading != nil {
			read = append(read, *a.Reading)
			continue
		}
		if reasons[a.Why]++; reasons[a.Why] > reasons[why] {
			why = a.Why
		}
	}
	unread = float64(len(answers)-len(read)) / float64(len(answers))
	if 2*len(read) < len(answers) || len(read) == 0 {
		return math.NaN(), math.NaN(), unread, why
	}
	slices.Sort(read)
	middle := len(read) / 2
	if median = read[middle]; len(read)%2 == 0 {
		median = (read[middle-1] + read[middle]) / 2
	}
	return median, read[len(read)-1] - read[0], unread, ""
}

const rule = Name // of verdicts

// Raw is the number of a verdict that is what a head says, before it becomes a score.
const Raw = "raw"

// Verdict is that of the questions about a completion, each with its votes.
func (j *Judge) Verdict(questions []Question, votes [][]verify.Opinion) verify.Verdict {
	values := map[string]float64{}
	var answers []verify.Opinion
	score, points, widest, unread, why := 0.0, 0.0, 0.0, 0.0, ""
	several := j.Shows == Items || j.Shows == Steps
	for i, q := range questions {
		x, spread, none, reason := Votes(votes[i])
		for _, a := range votes[i] {
			a.About = q.About
			answers = append(answers, a)
		}
		unread += none / float64(len(questions))
		if math.IsNaN(x) {
			if why == "" {
				why = reason
			}
			continue
		}
		if several {
			values[q.About] = x
		}
		score, points, widest = score+q.Points*x, points+q.Points, max(widest, spread)
	}
	v := verify.Verdict{Opinions: answers, Rule: rule}
	if why != "" {
		v = verify.Abstain("the answer of %s is unreadable: %s", j.Model, why)
		v.Opinions = answers
		return v
	}
	for _, a := range answers {
		if a.Raw != nil && !several {
			values[Raw] = *a.Raw
		}
		if a.Mass != nil && !several {
			values["mass"] = *a.Mass
		}
	}
	if j.Shows == Steps {
		values["least"], values["last"] = slices.Min(slices.Collect(maps.Values(values))), values[strconv.Itoa(len(questions))]
	}
	if j.Draws() {
		values["spread"], values["unread"] = widest, unread
	}
	v.Values = values
	return j.scored(v, score/points)
}

// scored gives a verdict its score.
func (j *Judge) scored(v verify.Verdict, x float64) verify.Verdict {
	v.Score, v.Verdict = x, verify.Graded
	switch x {
	case 0:
		v.Verdict = verify.Wrong
	case 1:
		v.Verdict = verify.Right
	}
	v.Reason = fmt.Sprintf("%s says %.3g", j.Model, x)
	return v
}

// Unshown is the verdict about a completion that the judge cannot be shown, for a reason that is the
// completion's: wrong, with the least of each number that others have, so that no policy can leave itself out. questions
// are those about it, and n how many completions the prompt has. What a head says has no bound: [Raw] is missing, and
// whoever knows other completions puts theirs in its place.
func (j *Judge) Unshown(questions []Question, n int, format string, args ...any) verify.Verdict {
	v := verify.Reject("", rule, format, args...)
	v.Values = map[string]float64{}
	switch j.Shows {
	case Pairs:
		v.Values["wins"], v.Values["place"] = 0, float64(n)
		return v
	case Group:
		v.Values["place"] = float64(n)
		return v
	case Items, Steps:
		for _, q := range questions {
			v.Values[q.About] = 0
		}
	}
	switch {
	case j.Shows == Steps:
		v.Values["least"], v.Values["last"] = 0, 0
	case j.Shows == Items:
	case j.choices != nil:
		v.Values["mass"] = 0
	}
	if j.Draws() {
		v.Values["spread"], v.Values["unread"] = 0, 0
	}
	return v
}

// Unseen says that a verdict is about a completion that a head could not be shown: it has no [Raw].
func Unseen(v verify.Verdict) bool {
	return v.Rule == rule && v.Verdict == verify.Wrong && v.Opinions == nil && len(v.Values) == 0
}

// Duel is how far the first of two completions is better, 0 to 1: ab is what the judge says of them in
// this order, ba in the other, as how far the one shown first is better. If the two disagree it is a tie.
func Duel(ab, ba float64) float64 {
	if ab > 0.5 && ba < 0.5 || ab < 0.5 && ba > 0.5 {
		return (ab + 1 - ba) / 2
	}
	return 0.5
}

// Among is the verdict about a completion that was compared with others: outcomes are those of its duels
// that could be read, score what they come to, above how many completions of the prompt stand higher, and
// why says why none could be read; "": nothing was asked.
func (j *Judge) Among(outcomes []float64, score float64, above int, answers []verify.Opinion, why string) verify.Verdict {
	if len(outcomes) == 0 && why == "" {
		return verify.Abstain(alone)
	}
	if len(outcomes) == 0 {
		none := verify.Abstain("the answer of %s is unreadable: %s", j.Model, why)
		none.Opinions = answers
		return none
	}
	wins := 0
	for _, x := range outcomes {
		if x > 0.5 {
			wins++
		}
	}
	v := verify.Verdict{Rule: rule, Opinions: answers, Values: map[string]float64{"wins": float64(wins), "place": float64(1 + above)}}
	return j.scored(v, score)
}

// alone is why a completion without another one to compare it with is not scored.
const alone = "there is no other completion to compare it with"

// Placed is the verdict about a completion in an order of n.
func (j *Judge) Placed(place, n int, a verify.Opinion) verify.Verdict {
	if n == 1 {
		return verify.Abstain(alone)
	}
	if place == 0 {
		none := verify.Abstain("the answer of %s is unreadable: %s", j.Model, a.Why)
		none.Opinions = []verify.Opinion{a}
		return none
	}
	x := float64(n-place) / float64(n-1)
	a.Reading = &x
	return j.scored(verify.Verdict{Rule: rule, Opinions: []verify.Opinion{a}, Values: map[string]float64{"place": float64(place)}}, x)
}
