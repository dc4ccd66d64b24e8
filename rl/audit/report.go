package audit

import (
	"fmt"

	"github.com/rlzero/rlzero/verify"
)

// Report is what an audit found.
type Report struct {
	Source  string
	Samples int // graded
	Lost    Losses
	Stored  Stored
	Judges  []string // verifiers that ask a model: none of them is audited
	Pairs   []*Pair  // one for each pair of graders, in the order in which they came up
}

// Losses are samples whose row is not to be had, and which are in no other count.
type Losses struct {
	N        int
	Examples []string
}

// Stored compares recorded verdicts with those of the first grader now.
type Stored struct {
	N        int // samples with a recorded verdict
	Differ   int
	Examples []Difference
}

// Difference is a recorded verdict that is not reproduced.
type Difference struct {
	Where, Prompt, Completion string
	Stored                    string   // the recorded verdict
	StoredScore               *float64 // the recorded score, where it is the verdict's
	Now                       verify.Verdict
}

// Pair is the samples of two graders, or of one.
type Pair struct {
	Samples       int
	Graders       []Tally
	Cells         [4][4]int // [verdict of the first][of the second], in the order of Verdicts
	Disagreed     int       // samples with different verdicts or scores
	Disagreements []Disagreement
	Attacks       []AttackResult
}

// Disagreement is a sample that the graders judge differently.
type Disagreement struct {
	Where, Prompt, Answer, Completion string
	First, Second                     verify.Verdict
}

// Tally is what one grader said.
type Tally struct {
	Name     string
	Aside    bool    // see Grader
	Verdicts [4]int  // in the order of Verdicts
	Score    float64 // sum over the scored
	Rules    []Count // how answers were found, the commonest first
	Reasons  []Count // why samples were not scored, the commonest first
}

// notScored is the share of samples that were not scored.
func (t Tally) notScored() float64 { return share(t.Verdicts[notScored], t.total()) }

// mean is the mean score of the scored samples; 0 if there are none.
func (t Tally) mean() float64 {
	scored := t.total() - t.Verdicts[notScored]
	if scored == 0 {
		return 0
	}
	return t.Score / float64(scored)
}

func (t Tally) total() int {
	n := 0
	for _, count := range t.Verdicts {
		n += count
	}
	return n
}

// Count is how many samples have a name in common.
type Count struct {
	Name  string
	N     int
	Right int // of them, with a full score
}

// AttackResult is what an attack earned.
type AttackResult struct {
	Name, About string
	Hopeless    bool     // no text of it can be right but by chance
	Tries       int      // texts, over all rows
	Earned      []Earned // under each grader
}

// Earned is what the tries of an attack got from a grader.
type Earned struct {
	Paid      int // full scores, without those by chance
	ByChance  int // full scores of texts that state the row's answer
	NotScored int
	Example   *Example // the first that was paid

	scored int
	sum    float64
}

// mean is the mean score of the scored tries; 0 if there are none.
func (e Earned) mean() float64 {
	if e.scored == 0 {
		return 0
	}
	return e.sum / float64(e.scored)
}

// Example is a text that was paid.
type Example struct {
	Prompt, Answer, Completion string
	Verdict                    verify.Verdict
}

// verdictNames are the values of a verdict in the order of tables.
var verdictNames = [4]string{verify.Right, verify.Wrong, verify.Graded, verify.NotScored}

const notScored = 3 // in Verdicts

func index(verdict string) int {
	for i, v := range verdictNames {
		if v == verdict {
			return i
		}
	}
	panic("audit: no verdict is called " + verdict)
}

// agreement is the share of samples on which the graders agree.
func (p *Pair) agreement() float64 { return share(p.Samples-p.Disagreed, p.Samples) }

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Problems are the reasons not to trust the reward, in words; none if all is
// well.
func (r *Report) Problems() []string {
	var out []string
	if r.Lost.N > 0 {
		out = append(out, fmt.Sprintf("%d completions have a problem that cannot be reconstructed", r.Lost.N))
	}
	if r.Stored.Differ > 0 {
		out = append(out, fmt.Sprintf("%d of %d stored verdicts are not reproduced", r.Stored.Differ, r.Stored.N))
	}
	if r.Samples == 0 {
		out = append(out, "there is no completion to grade")
	}
	for _, p := range r.Pairs {
		for _, a := range p.Attacks {
			for i, e := range a.Earned {
				if a.Hopeless && e.Paid > 0 && !p.Graders[i].Aside {
					out = append(out, fmt.Sprintf("%s pays the attack %q: %d of %d tries", p.Graders[i].Name, a.Name, e.Paid, a.Tries))
				}
			}
		}
	}
	return out
}
