package audit

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/verify"
)

// mostShown is how many characters of a text are shown to people.
const mostShown = 200

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "audit of %s: %d completions\n", clip(r.Source), r.Samples)
	r.lostText(w)
	r.storedText(w)
	for _, name := range r.Judges {
		fmt.Fprintf(w, "not audited: %s asks a model; rlzero judge asks it again\n", clip(name))
	}
	for _, p := range r.Pairs {
		p.text(w)
	}
	problems := r.Problems()
	if len(problems) == 0 {
		fmt.Fprintln(w, "\nno problem found")
	}
	for _, problem := range problems {
		fmt.Fprintf(w, "\nPROBLEM: %s", clip(problem))
	}
	if len(problems) > 0 {
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func (r *Report) lostText(w io.Writer) {
	if r.Lost.N == 0 {
		return
	}
	fmt.Fprintf(w, "left out: %d completions whose problem cannot be reconstructed\n", r.Lost.N)
	for _, e := range r.Lost.Examples {
		fmt.Fprintf(w, "  %s\n", clip(e))
	}
}

func (r *Report) storedText(w io.Writer) {
	switch {
	case r.Stored.N == 0:
		return
	case r.Stored.Differ == 0:
		fmt.Fprintf(w, "stored verdicts: all %d are reproduced\n", r.Stored.N)
		return
	}
	fmt.Fprintf(w, "stored verdicts: %d of %d are not reproduced\n", r.Stored.Differ, r.Stored.N)
	for _, d := range r.Stored.Examples {
		stored := d.Stored
		if d.StoredScore != nil {
			stored += fmt.Sprintf(" (%g)", *d.StoredScore)
		}
		fmt.Fprintf(w, "  %s: %s\n     completion  %s\n     stored      %s\n     now         %s\n", clip(d.Where), clip(d.Prompt), clip(d.Completion), clip(stored), said(d.Now))
	}
}

func (p *Pair) text(w io.Writer) {
	fmt.Fprintln(w)
	for i, t := range p.Graders {
		fmt.Fprintf(w, "grader %d: %s\n   mean %.3f", i+1, clip(t.Name), t.mean())
		for k, v := range verdictNames {
			fmt.Fprintf(w, "   %s %s", name(v), percent(t.Verdicts[k], p.Samples))
		}
		fmt.Fprintln(w)
		for _, c := range t.Rules {
			fmt.Fprintf(w, "   found by %-14s %6d   right %s\n", clip(c.Name), c.N, percent(c.Right, c.N))
		}
		for k, c := range t.Reasons {
			if k == 5 {
				fmt.Fprintf(w, "   not scored, %d other reasons\n", len(t.Reasons)-k)
				break
			}
			fmt.Fprintf(w, "   not scored %6d   %s\n", c.N, clip(c.Name))
		}
	}
	if len(p.Graders) == 2 {
		p.agreementText(w)
	} else {
		fmt.Fprintln(w, "there is no second grader to compare with; name one with --against")
	}
	p.attacksText(w)
}

func (p *Pair) agreementText(w io.Writer) {
	fmt.Fprintf(w, "\nthe graders agree on %s of %d completions\n%18s", percent(p.Samples-p.Disagreed, p.Samples), p.Samples, "")
	for _, v := range verdictNames {
		fmt.Fprintf(w, "%14s", "2: "+name(v))
	}
	for i, v := range verdictNames {
		fmt.Fprintf(w, "\n   %-15s", "1: "+name(v))
		for _, n := range p.Cells[i] {
			fmt.Fprintf(w, "%14d", n)
		}
	}
	fmt.Fprintln(w)
	if p.Disagreed > 0 {
		fmt.Fprintf(w, "\nwhere they differ (%d of %d)\n", len(p.Disagreements), p.Disagreed)
	}
	for _, d := range p.Disagreements {
		fmt.Fprintf(w, "   %s: %s\n      answer      %s\n      completion  %s\n      1 %s\n      2 %s\n",
			clip(d.Where), clip(d.Prompt), clip(d.Answer), clip(d.Completion), said(d.First), said(d.Second))
	}
}

func (p *Pair) attacksText(w io.Writer) {
	fmt.Fprintf(w, "\n%-27s%8s", "what attacks earn", "tries")
	for i := range p.Graders {
		fmt.Fprintf(w, "%13s%8s%11s", fmt.Sprintf("%d: mean", i+1), "paid", "by chance")
	}
	fmt.Fprintln(w)
	for _, a := range p.Attacks {
		mark := "?" // an honest grader may pay it
		if a.Hopeless {
			mark = " "
			for _, e := range a.Earned {
				if e.Paid > 0 {
					mark = "!"
				}
			}
		}
		fmt.Fprintf(w, " %s %-24s%8d", mark, a.Name, a.Tries)
		for _, e := range a.Earned {
			fmt.Fprintf(w, "%13.3f%8d%11d", e.mean(), e.Paid, e.ByChance)
			if e.NotScored > 0 {
				fmt.Fprintf(w, "   %d not scored", e.NotScored)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, " ? may be right, shown for comparison    ! paid although it cannot be right")
	for _, a := range p.Attacks {
		for i, e := range a.Earned {
			if a.Hopeless && e.Example != nil {
				fmt.Fprintf(w, "\n   %s (%s), paid by grader %d\n      prompt      %s\n      answer      %s\n      completion  %s\n      %s\n",
					a.Name, a.About, i+1, clip(e.Example.Prompt), clip(e.Example.Answer), clip(e.Example.Completion), said(e.Example.Verdict))
			}
		}
	}
}

func name(verdict string) string { return strings.ReplaceAll(verdict, "_", " ") }

func percent(n, of int) string { return fmt.Sprintf("%.1f %%", 100*share(n, of)) }

func said(v verify.Verdict) string {
	text := fmt.Sprintf("%-10s  %s", name(v.Verdict), clip(v.Reason))
	if v.Rule != "" {
		text += fmt.Sprintf(" [%s: %s]", clip(v.Rule), terminal.Quote(v.Extracted))
	}
	return text
}

// clip is a text on one line, cut to mostShown characters.
func clip(text string) string {
	start := text[:min(len(text), utf8.UTFMax*mostShown)]
	shown := terminal.Line(strings.NewReplacer("\n", "⏎", "\r", "␍").Replace(start), mostShown)
	if utf8.RuneCountInString(text) > mostShown {
		shown += fmt.Sprintf(" (%d bytes)", len(text))
	}
	return shown
}
