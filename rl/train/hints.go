package train

import (
	"math"
	"strings"
	"unicode"

	"github.com/rlzero/rlzero/rl/metrics"
)

// rewardHints adds to a step's metrics what shows early that a reward is not what was
// meant: how far it follows the task's verdicts, and whether it pays one template.
func rewardHints(cs []Completion, row metrics.Row) {
	var rewards, scores []float64
	for i := range cs {
		if c := &cs[i]; !math.IsNaN(c.Score.Reward) && !math.IsNaN(c.Verdict().Score) {
			rewards, scores = append(rewards, c.Score.Reward), append(scores, c.Verdict().Score)
		}
	}
	if r, ok := correlation(rewards, scores); ok {
		row["reward/verdict_correlation"] = r
	}
	if share, ok := templateShare(cs); ok {
		row["reward/template_share"] = share
	}
}

// correlation is Pearson's coefficient; false where one side does not vary.
func correlation(x, y []float64) (float64, bool) {
	if len(x) == 0 {
		return 0, false
	}
	mx, my := mean(x), mean(y)
	var xx, yy, xy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	if xx == 0 || yy == 0 {
		return 0, false
	}
	return xy / math.Sqrt(xx*yy), true
}

// templateShare is the share that the commonest template has among the completions that
// are paid more than the step's mean. A template counts once a prompt: a group may well
// agree on one answer. False where nothing is paid more than anything else.
func templateShare(cs []Completion) (float64, bool) {
	var sum float64
	n := 0
	for i := range cs {
		if r := cs[i].Score.Reward; !math.IsNaN(r) {
			sum, n = sum+r, n+1
		}
	}
	seen := map[string]int{} // template -> group of its newest completion
	count, all, most := map[string]int{}, 0, 0
	for i := range cs {
		c := &cs[i]
		if !(c.Score.Reward*float64(n) > sum) {
			continue
		}
		t := template(c.Path().Text)
		if last, ok := seen[t]; ok && last == c.Group {
			continue
		}
		seen[t] = c.Group
		count[t]++
		all, most = all+1, max(most, count[t])
	}
	if all == 0 {
		return 0, false
	}
	return float64(most) / float64(all), true
}

// template is a text with each number as one 0 and each capitalised word as one A: what
// answers to different problems have in common where they follow a pattern.
func template(text string) string {
	var b strings.Builder
	var in rune // 0: inside a number, A: inside a name, a: inside another word
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			if in != '0' {
				b.WriteByte('0')
			}
			in = '0'
		case unicode.IsLetter(r):
			switch {
			case in == 'A':
				continue
			case in != 'a' && unicode.IsUpper(r):
				in = 'A'
				b.WriteByte('A')
				continue
			}
			in = 'a'
			b.WriteRune(r)
		default:
			in = 0
			b.WriteRune(r)
		}
	}
	return b.String()
}
