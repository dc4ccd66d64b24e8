package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// sample is a completion to grade.
type sample struct {
	Where      string // names it, such as "line 12"
	Row        verify.Problem
	Completion string
	Ended      bool // not cut off at a length limit
	First      grader
	Second     *grader // nil: there is only one
	Again      bool    // the sample was added before, with other graders
	// Stored is the verdict that was recorded when the completion was made; ""
	// where none was.
	Stored string
	// StoredScore is the recorded score or reward; nil: none, or one that is not
	// the verdict's.
	StoredScore *float64
}

// How many rows of a pair of graders are attacked. Programs and queries take
// milliseconds and more each.
const (
	attackRows  = 50
	programRows = 5
	longRows    = 3 // with texts of thousands to millions of bytes, which are the same for all
)

// mostReasons bounds the different reasons and rules that are counted; more go
// into one count.
const mostReasons = 1000

// auditor collects samples.
type auditor struct {
	limit  int // examples of each kind
	report Report
	pairs  map[[2]string]*collected
}

// collected is a pair of graders with what its report is made from.
type collected struct {
	*Pair
	graders []grader
	rows    []verify.Problem
	seen    map[string]bool
	counts  [2]struct{ rules, reasons map[string]Count }
}

// newAuditor is an auditor whose report shows at most limit examples of each kind.
func newAuditor(source string, limit int) *auditor {
	return &auditor{limit: limit, report: Report{Source: source}, pairs: map[[2]string]*collected{}}
}

// lose counts a sample whose row is not to be had.
func (a *auditor) lose(where, reason string) {
	a.report.Lost.N++
	if len(a.report.Lost.Examples) < a.limit {
		a.report.Lost.Examples = append(a.report.Lost.Examples, where+": "+reason)
	}
}

// add grades a sample.
func (a *auditor) add(s sample) {
	p := a.pair(s)
	if !s.Again {
		a.report.Samples++
	}
	p.Samples++
	first := s.First.Judge(s.Row, s.Completion, s.Ended)
	p.count(0, first)
	a.compareStored(s, first)
	if s.Second != nil {
		second := s.Second.Judge(s.Row, s.Completion, s.Ended)
		p.count(1, second)
		p.compare(s, first, second, a.limit)
	}
	key := cmp.Or(s.Row.ID, s.Row.Question+"\x00"+s.Row.Answer)
	most := attackRows
	if k := kindOf(s.First.likened); k == programs || k == queries {
		most = programRows
	}
	if len(p.rows) < most && !p.seen[key] {
		p.seen[key] = true
		p.rows = append(p.rows, s.Row)
	}
}

func (a *auditor) pair(s sample) *collected {
	key := [2]string{s.First.Name}
	graders := []grader{s.First}
	if s.Second != nil {
		key[1] = s.Second.Name
		graders = append(graders, *s.Second)
	}
	p, known := a.pairs[key]
	if !known {
		p = &collected{Pair: &Pair{}, graders: graders, seen: map[string]bool{}}
		for i, g := range graders {
			p.Graders = append(p.Graders, Tally{Name: g.Name, Aside: g.Aside})
			p.counts[i].rules, p.counts[i].reasons = map[string]Count{}, map[string]Count{}
		}
		a.pairs[key] = p
		a.report.Pairs = append(a.report.Pairs, p.Pair)
	}
	return p
}

func (p *collected) count(grader int, v verify.Verdict) {
	t, c := &p.Graders[grader], p.counts[grader]
	i := index(v.Verdict)
	t.Verdicts[i]++
	if v.Verdict == verify.NotScored {
		add(c.reasons, v.Reason, v)
		return
	}
	t.Score += v.Score
	add(c.rules, cmp.Or(v.Rule, "none"), v)
}

func add(counts map[string]Count, name string, v verify.Verdict) {
	if _, known := counts[name]; !known && len(counts) >= mostReasons {
		name = "others"
	}
	c := counts[name]
	c.Name = name
	c.N++
	if paid(v) {
		c.Right++
	}
	counts[name] = c
}

// ordered are the counts, the largest first.
func ordered(counts map[string]Count) []Count {
	var all []Count
	for _, c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.Name, b.Name)) })
	return all
}

func (p *collected) compare(s sample, first, second verify.Verdict, limit int) {
	p.Cells[index(first.Verdict)][index(second.Verdict)]++
	if first.Verdict == second.Verdict && (first.Verdict == verify.NotScored || first.Score == second.Score) {
		return
	}
	p.Disagreed++
	if len(p.Disagreements) < limit {
		p.Disagreements = append(p.Disagreements, Disagreement{s.Where, s.Row.Question, s.Row.Answer, s.Completion, first, second})
	}
}

func (a *auditor) compareStored(s sample, first verify.Verdict) {
	if s.Stored == "" {
		return
	}
	stored := &a.report.Stored
	stored.N++
	same := s.Stored == first.Verdict
	if s.StoredScore != nil && first.Verdict != verify.NotScored {
		same = same && *s.StoredScore == first.Score
	}
	if same {
		return
	}
	stored.Differ++
	if len(stored.Examples) < a.limit {
		stored.Examples = append(stored.Examples, Difference{s.Where, s.Row.Question, s.Completion, s.Stored, s.StoredScore, first})
	}
}

// end tries the attacks and returns everything. Call it once, after the last
// Add.
func (a *auditor) end() *Report {
	for _, pair := range a.report.Pairs {
		key := [2]string{pair.Graders[0].Name}
		if len(pair.Graders) > 1 {
			key[1] = pair.Graders[1].Name
		}
		p := a.pairs[key]
		for i := range p.Graders {
			p.Graders[i].Rules, p.Graders[i].Reasons = ordered(p.counts[i].rules), ordered(p.counts[i].reasons)
		}
		p.Attacks = attacks(p.graders, p.rows)
	}
	return &a.report
}

// attacks tries every attack on the rows under the graders, of which the first
// decides which attacks and which forms. Attacks that make no text of these rows
// are left out.
func attacks(graders []grader, rows []verify.Problem) []AttackResult {
	var results []AttackResult
	kind := kindOf(graders[0].likened)
	all := targets(graders[0], rows)
	for _, a := range table {
		if !slices.Contains(a.on, kind) {
			continue
		}
		r := AttackResult{Name: a.name, About: a.about, Hopeless: slices.Contains(a.hopeless, kind), Earned: make([]Earned, len(graders))}
		for k, t := range all {
			if k == longRows && slices.Contains(longTexts, a.name) {
				break
			}
			for _, try := range a.tries(t) {
				r.Tries++
				for i, g := range graders {
					r.Earned[i].count(t.row, try, g.Judge(t.row, try.text, true))
				}
			}
		}
		if r.Tries > 0 {
			results = append(results, r)
		}
	}
	return results
}

// byChance tells that a text that was paid states the row's answer: as a whole,
// or in the part of it that the grader took for the answer.
func (t try) byChance(row verify.Problem, v verify.Verdict) bool {
	part := !t.asWhole && v.Extracted != "" && strings.Contains(t.text, v.Extracted) && sameAnswer(v.Extracted, stated(row.Answer))
	return t.claims && (part || sameAnswer(t.claim, stated(row.Answer)))
}

func (e *Earned) count(row verify.Problem, try try, v verify.Verdict) {
	if v.Verdict == verify.NotScored {
		e.NotScored++
		return
	}
	e.scored++
	e.sum += v.Score
	switch {
	case !paid(v):
	case try.byChance(row, v):
		e.ByChance++
	default:
		if e.Paid++; e.Paid == 1 {
			e.Example = &Example{row.Question, row.Answer, try.text, v}
		}
	}
}
