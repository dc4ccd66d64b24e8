package report

// Limits of the comparison: problems shown, and characters of a prompt, completion
// or reason.
const (
	maxPairs = 12
	maxText  = 600
)

// pairs is the same held-out problems before and after the rewards: the first of
// them, unselected, and what became of all.
type pairs struct {
	StageA, StageB string // StageA is empty if there is only an after
	Shown          []pair
	Total          int // problems in both
	Learned, Lost  int // wrong before and right after; the reverse
	Kept, Missed   int // right in both; right in neither
}

type pair struct {
	Prompt        string
	Before, After answer
}

type answer struct {
	Stage        string
	Text, Reason string
	Verdict      string // as the verifier named it
	Mark         string
	Class        string // right, wrong or other
}

func newPairs(before, after *Evaluation) pairs {
	if after == nil {
		return pairs{}
	}
	p := pairs{StageB: after.Stage}
	if before == nil || before == after || len(before.Samples) == 0 {
		for _, s := range after.Samples[:min(len(after.Samples), maxPairs)] {
			p.Shown = append(p.Shown, pair{Prompt: clip(s.Prompt), After: newAnswer(after.Stage, s)})
		}
		p.Total = len(after.Samples)
		return p
	}
	p.StageA = before.Stage
	earlier := map[string]Sample{}
	for _, s := range before.Samples {
		if _, seen := earlier[s.Prompt]; !seen {
			earlier[s.Prompt] = s
		}
	}
	for _, s := range after.Samples {
		b, ok := earlier[s.Prompt]
		if !ok {
			continue
		}
		p.Total++
		switch was, is := b.Verdict == "right", s.Verdict == "right"; {
		case was && is:
			p.Kept++
		case is:
			p.Learned++
		case was:
			p.Lost++
		default:
			p.Missed++
		}
		if len(p.Shown) < maxPairs {
			p.Shown = append(p.Shown, pair{clip(s.Prompt), newAnswer(before.Stage, b), newAnswer(after.Stage, s)})
		}
	}
	return p
}

func newAnswer(stage string, s Sample) answer {
	a := answer{Stage: stage, Text: clip(s.Completion), Reason: clip(s.Reason), Verdict: s.Verdict, Mark: "·", Class: "other"}
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
