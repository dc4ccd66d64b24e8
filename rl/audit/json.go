package audit

import (
	"encoding/json"
	"io"

	"github.com/rlzero/rlzero/verify"
)

// mostWritten is how many bytes of a text a JSON line holds; a longer one is cut.
const mostWritten = 10_000

// JSON writes the report as JSON lines; "rlzero verify --help" has their shapes.
// The last line says whether all is well.
func (r *Report) JSON(out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, line := range r.lines() {
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) lines() []any {
	type object = map[string]any
	lines := []any{object{"kind": "summary", "source": r.Source, "completions": r.Samples, "lost": r.Lost.N, "stored": r.Stored.N, "stored_differ": r.Stored.Differ}}
	for _, e := range r.Lost.Examples {
		lines = append(lines, object{"kind": "lost", "reason": e})
	}
	for _, name := range r.Judges {
		lines = append(lines, object{"kind": "judge", "verifier": name})
	}
	for _, d := range r.Stored.Examples {
		lines = append(lines, object{"kind": "stored", "where": d.Where, "prompt": cut(d.Prompt), "completion": cut(d.Completion),
			"verdict": d.Stored, "score": d.StoredScore, "now": d.Now})
	}
	for _, p := range r.Pairs {
		lines = append(lines, p.lines()...)
	}
	problems := r.Problems()
	return append(lines, object{"kind": "result", "ok": len(problems) == 0, "problems": append([]string{}, problems...)})
}

func (p *Pair) lines() []any {
	type object = map[string]any
	var names []string
	for _, t := range p.Graders {
		names = append(names, t.Name)
	}
	var lines []any
	for _, t := range p.Graders {
		lines = append(lines, object{"kind": "grader", "graders": names, "grader": t.Name, "n": p.Samples, "mean": t.mean(), "not_scored_share": t.notScored(),
			"verdicts": byVerdict(t.Verdicts), "rules": counts(t.Rules), "reasons": counts(t.Reasons)})
	}
	if len(names) == 2 {
		cells := object{}
		for i, v := range verdictNames {
			cells[v] = byVerdict(p.Cells[i])
		}
		lines = append(lines, object{"kind": "agreement", "graders": names, "n": p.Samples, "differ": p.Disagreed, "share": p.agreement(), "first_then_second": cells})
	}
	for _, d := range p.Disagreements {
		lines = append(lines, object{"kind": "disagreement", "graders": names, "where": d.Where, "prompt": cut(d.Prompt), "answer": cut(d.Answer),
			"completion": cut(d.Completion), "verdicts": []verify.Verdict{d.First, d.Second}})
	}
	for _, a := range p.Attacks {
		for i, e := range a.Earned {
			lines = append(lines, attackLine(a, names[i], e))
		}
	}
	return lines
}

func attackLine(a AttackResult, grader string, e Earned) map[string]any {
	line := map[string]any{"kind": "attack", "attack": a.Name, "about": a.About, "hopeless": a.Hopeless, "grader": grader, "tries": a.Tries,
		"mean": e.mean(), "paid": e.Paid, "by_chance": e.ByChance, "not_scored": e.NotScored, "example": nil}
	if x := e.Example; x != nil {
		line["example"] = map[string]any{"prompt": cut(x.Prompt), "answer": cut(x.Answer), "completion": cut(x.Completion), "verdict": x.Verdict}
	}
	return line
}

func byVerdict(n [4]int) map[string]int {
	out := map[string]int{}
	for i, v := range verdictNames {
		out[v] = n[i]
	}
	return out
}

func counts(all []Count) []map[string]any {
	out := []map[string]any{}
	for _, c := range all {
		out = append(out, map[string]any{"name": c.Name, "n": c.N, "right": c.Right})
	}
	return out
}

func cut(text string) string {
	if len(text) <= mostWritten {
		return text
	}
	return text[:mostWritten] + "…"
}
