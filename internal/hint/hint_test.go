package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	inner := With(fs.ErrNotExist, "look in %s", "runs")
	joined := errors.Join(errors.New("first"), fmt.Errorf("%w: %w", errors.New("second"), With(inner, "or elsewhere")), inner)
	outer := With(fmt.Errorf("opening: %w", joined), "ask for help")
	if got, want := All(outer), []string{"look in runs", "or elsewhere", "ask for help"}; !slices.Equal(got, want) {
		t.Errorf("hints %q, want %q", got, want)
	}
	if got := All(With(fmt.Errorf("again: %w", Instead(outer, "look here")), "or ask")); !slices.Equal(got, []string{"look here", "or ask"}) {
		t.Errorf("in place of hints: %q", got)
	}
	if !errors.Is(outer, fs.ErrNotExist) || inner.Error() != fs.ErrNotExist.Error() {
		t.Errorf("a hint changed the error: %v", inner)
	}
	if All(nil) != nil || All(errors.New("plain")) != nil || With(nil, "none") != nil || Instead(nil, "none") != nil {
		t.Error("hints of nothing")
	}
}

func TestUnknown(t *testing.T) {
	tasks := []string{"gcd", "lcm", "countdown", "chain_sum"}
	many := slices.Repeat([]string{"other"}, few+1)
	for _, c := range []struct {
		name        string
		known       []string
		list, error string
		hint        string
	}{
		{"gdc", tasks, "rlzero tasks", `unknown task "gdc"`, "did you mean gcd? rlzero tasks lists them all"},
		{"Countdwn", tasks, "", `unknown task "Countdwn"`, "did you mean countdown?"},
		{"count", tasks, "", `unknown task "count"`, "did you mean countdown?"},
		{"reasoning_effort", []string{"n", "top_p", "seed"}, "", `unknown task "reasoning_effort"`, "accepted: n, top_p, seed"},
		{"x", []string{"A", "gcd"}, "", `unknown task "x"`, "accepted: A, gcd"},
		{"max_tokens_per_completion", many, "rlzero tasks", `unknown task "max_tokens_per_completion"`, "rlzero tasks lists them all"},
		{"zebra", tasks, "rlzero tasks", `unknown task "zebra"`, "accepted: gcd, lcm, countdown, chain_sum"},
		{"zebra", many, "rlzero tasks", `unknown task "zebra"`, "rlzero tasks lists them all"},
		{strings.Repeat("é", 1e6), many, "rlzero tasks", `unknown task "` + strings.Repeat("é", longest/2) + `…"`, "rlzero tasks lists them all"},
	} {
		err := Unknown("task", c.name, c.known, c.list)
		if err.Error() != c.error || !slices.Equal(All(err), []string{c.hint}) {
			t.Errorf("%.20q: %v, hints %q; want %q", c.name, err, All(err), c.hint)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"kitten", "sitting", 3}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
