package report

import "strings"

// Limits of the comparison: problems shown, problems that were learnt or lost, and
// characters of a prompt, completion or reason.
const (
	maxPairs   = 8
	maxChanges = 3
	maxText    = 600
)

// pairs is the same held-out problems before and after the rewards: the first of
// them, unselected, and what became of all.
type pairs struct {
	From, To      string // when the completions were sampled; From is empty if there is only one time
	Sets          []pairSet
	Total         int // problems in both
	Learned, Lost int // wrong before and right after; the reverse
	Kept, Missed  int // right in both; right in neither
}

// pairSet is some of the problems and how they were chosen.
type pairSet struct {
	Title string
	Pairs []pair
}

type pair struct {
	Prompt        string
	Before, After answer
}

type answer struct {
	When         string // empty in a group
	Text, Reason string
	Verdict      string // as the verifier named it, in words
	Mark         string
	Class        string // right, wrong or other
}

func newPairs(before, after *Evaluation) pairs {
	if after != nil && len(after.Samples) == 0 { // of a stage that has not ended
		before, after = nil, before
	}
	if after == nil || len(after.Samples) == 0 {
		return pairs{}
	}
	p := pairs{To: after.when()}
	if before == nil || before == after || len(before.Samples) == 0 {
		first := pairSet{}
		for _, s := range after.Samples[:min(len(after.Samples), maxPairs)] {
			first.Pairs = append(first.Pairs, pair{Prompt: clip(s.Prompt), After: newAnswer(after.when(), s)})
		}
		p.Total, p.Sets = len(after.Samples), []pairSet{first}
		return p
	}
	p.From = before.when()
	earlier := map[string]Sample{}
	for _, s := range before.Samples {
		if _, seen := earlier[s.Prompt]; !seen {
			earlier[s.Prompt] = s
		}
	}
	var first, learned, lost []pair
	for _, s := range after.Samples {
		b, ok := earlier[s.Prompt]
		if !ok {
			continue
		}
		p.Total++
		both := pair{clip(s.Prompt), newAnswer(before.when(), b), newAnswer(after.when(), s)}
		was, is := b.Verdict == "right", s.Verdict == "right"
		shown := len(first) < maxPairs
		if shown {
			first = append(first, both)
		}
		switch {
		case was && is:
			p.Kept++
		case is:
			if p.Learned++; !shown && len(learned) < maxChanges {
				learned = append(learned, both)
			}
		case was:
			if p.Lost++; !shown && len(lost) < maxChanges {
				lost = append(lost, both)
			}
		default:
			p.Missed++
		}
	}
	for _, set := range []pairSet{{"First problems, not selected", first}, {"Learned: wrong before, right after", learned}, {"Lost: right before, wrong after", lost}} {
		if len(set.Pairs) > 0 {
			p.Sets = append(p.Sets, set)
		}
	}
	return p
}

func newAnswer(when string, s Sample) answer {
	a := answer{When: when, Text: clip(s.Completion), Reason: clip(s.Reason), Verdict: strings.ReplaceAll(s.Verdict, "_", " "), Mark: "·", Class: "other"}
	switch s.Verdict {
	case "right":
		a.Mark, a.Class = "✓", "right"
	case "wrong":
		a.Mark, a.Class = "✗", "wrong"
	}
	return a
}

// clip cuts a text to maxText characters, and shows the marks that would turn its
// order round (Unicode TR 9, explicit formatting characters) as U+FFFD: the reader
// is to see what the model wrote.
func clip(s string) string {
	r := []rune(s)
	more := len(r) > maxText
	r = r[:min(len(r), maxText)]
	for i, c := range r {
		if c >= '\u202a' && c <= '\u202e' || c >= '\u2066' && c <= '\u2069' {
			r[i] = '\ufffd'
		}
	}
	if more {
		return string(r) + "…"
	}
	return string(r)
}
