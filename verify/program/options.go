package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/verify"
)

// options are common to the verifiers of programs with tests.
type options struct {
	Extract   string  `toml:"extract"`
	Score     string  `toml:"score"`
	MaxTests  int     `toml:"max_tests"`
	Compare   string  `toml:"compare"`
	Tolerance float64 `toml:"tolerance"`
	Timeout   float64 `toml:"timeout"`   // seconds of processor time, of each test
	MemoryMB  int     `toml:"memory_mb"` // of each process
	OutputKB  int     `toml:"output_kb"` // that are kept of what a test prints
}

func defaultOptions() options {
	return options{Extract: extractBlock, Score: scoreAll, Compare: compareLines, Timeout: 2, MemoryMB: 256, OutputKB: 256}
}

const optionsDoc = `Options:
  extract     "block": the last fenced block in the language, else the last without a
              language; only after the last </think>. "none": the completion is the
              program. Default "block".
  score       "all": right if every test passes (default). "fraction": the share that passes.
  max_tests   largest number of tests used, from the first on; 0: all (default).
  compare     printed text: "lines": equal except for white space at line ends and empty
              lines at the end (default); "exact"; "tokens": equal words in order.
  tolerance   how much numbers may differ, absolutely or relative to the larger one, in
              "tokens" and in returned values. 0: not at all (default).
  timeout     seconds of processor time for a test (default 2); the limit in wall-clock
              time is five times that plus five seconds.
  memory_mb   memory of a process (default 256).
  output_kb   printed text that is read (default 256), or twice the expected text if that
              is more; a program that prints more is wrong.
`

// The values of options.
const (
	extractBlock  = "block"
	scoreAll      = "all"
	scoreFraction = "fraction"
	compareLines  = "lines"
	compareExact  = "exact"
	compareTokens = "tokens"
)

// check says which value is not accepted.
func (o options) check() error {
	for _, c := range []struct {
		name, found string
		accepted    []string
	}{
		{"extract", o.Extract, []string{extractBlock, verify.ExtractNone}},
		{"score", o.Score, []string{scoreAll, scoreFraction}},
		{"compare", o.Compare, []string{compareLines, compareExact, compareTokens}},
	} {
		if !slices.Contains(c.accepted, c.found) {
			return fmt.Errorf("option %s is %q; accepted: %q", c.name, c.found, c.accepted)
		}
	}
	for _, c := range []struct {
		name      string
		found     float64
		low, high float64
	}{
		{"max_tests", float64(o.MaxTests), 0, 1e6}, {"tolerance", o.Tolerance, 0, 1},
		{"timeout", o.Timeout, 0.01, 3600}, {"memory_mb", float64(o.MemoryMB), 16, 1 << 20}, {"output_kb", float64(o.OutputKB), 1, 1 << 16},
	} {
		if !(c.low <= c.found && c.found <= c.high) {
			return fmt.Errorf("option %s is %v; accepted: %v to %v", c.name, c.found, c.low, c.high)
		}
	}
	return nil
}

// decode reads options over the defaults in dst, whose own options follow.
func decode(raw json.RawMessage, dst any, common *options) error {
	if err := verify.DecodeOptions(raw, dst); err != nil {
		return err
	}
	return common.check()
}

// outputFor is how many bytes of output are read where so much is expected: a power of
// two times the limit, so that the program learns no length from its own limits.
func (o options) outputFor(expected string) int {
	n := o.OutputKB << 10
	for n < 2*len(expected) {
		n *= 2
	}
	return n
}

const maxProgramBytes = 1 << 18 // a longer program is wrong unread

// fence has the groups indentation, language and body.
var fence = regexp.MustCompile("(?ms)^([ \t]*)```([A-Za-z0-9_+#-]*)[^\n]*\n(.*?)\n?^[ \t]*```[ \t]*\r?$")

// extract takes the program out of a completion. languages are the names that a
// fence may carry, in lower case. rule says what matched: "fence" or "whole".
func extract(completion, how string, languages ...string) (program, rule string, err error) {
	program, rule = completion, "whole"
	if how == extractBlock {
		if i := strings.LastIndex(completion, "</think>"); i >= 0 {
			completion = completion[i+len("</think>"):]
		} else if strings.Contains(completion, "<think>") {
			return "", "", errors.New("<think> is never closed")
		}
		rule = "fence"
		program, err = lastBlock(completion, languages)
		if err != nil {
			return "", rule, err
		}
	}
	switch {
	case strings.TrimSpace(program) == "":
		return "", rule, errors.New("the program is empty")
	case len(program) > maxProgramBytes:
		return "", rule, fmt.Errorf("the program has %d bytes: at most %d are read", len(program), maxProgramBytes)
	}
	return program, rule, nil
}

// lastBlock is the last fenced block in one of the languages, else the last that
// names no language.
func lastBlock(text string, languages []string) (string, error) {
	blocks := fence.FindAllStringSubmatch(text, -1)
	for _, accepted := range [][]string{languages, {""}} {
		for i := len(blocks) - 1; i >= 0; i-- {
			indent, language, body := blocks[i][1], blocks[i][2], blocks[i][3]
			if slices.Contains(accepted, strings.ToLower(language)) {
				return outdent(body, indent), nil
			}
		}
	}
	return "", fmt.Errorf("no fenced block of %s", languages[0])
}

// outdent takes a fence's indentation, of a list perhaps, off the lines that have it.
func outdent(body, indent string) string {
	if indent == "" {
		return body
	}
	return strings.ReplaceAll(strings.TrimPrefix(body, indent), "\n"+indent, "\n")
}

// outcome is how one test went.
type outcome struct {
	passed   bool
	reason   string // why not
	unscored bool   // no fault of the program: reason says whose
	broken   bool   // what runs programs broke: a second try shows whether the program did it
	ended    bool   // the program came to a bad end: the setup may have done so before it
	limited  bool   // it met a limit that counts time or memory as this machine has it
}

// leisure is how much faster than its limit on processor time a test has to end, by the
// clock, where its outcome is settled: machines that differ less in speed come to the same.
const leisure = 10

// watched runs a test and says whether its outcome is settled, see [verify.Portable].
func (o options) watched(t test, run func(test) outcome) (out outcome, settled bool) {
	running <- struct{}{} // the clock starts when the test may: it has a processor then
	defer func() { <-running }()
	early, release := awake.WithTimeout(context.Background(), o.processorTime()/leisure, errOverTime)
	defer release()
	out = run(t)
	return out, early.Err() == nil && !out.limited && !out.unscored && !out.broken
}

// judge runs the suite's tests with run, until the verdict is clear, and scores
// them. shown is the program as verdicts show it. settled is that of [verify.Portable].
func (o options) judge(s suite, shown, rule string, run func(test) outcome) (v verify.Verdict, settled bool) {
	tests := s.tests
	if o.MaxTests > 0 && len(tests) > o.MaxTests {
		tests = tests[:o.MaxTests]
	}
	passed, failed := 0, ""
	settled = true
	for i, t := range tests {
		out, clear := o.watched(t, run)
		settled = settled && clear
		switch {
		case out.unscored:
			return verify.Abstain("test %d of %d: %s", i+1, len(tests), out.reason), false
		case out.passed:
			passed++
			continue
		case failed == "":
			failed = fmt.Sprintf("test %d of %d: %s", i+1, len(tests), out.reason)
		}
		if o.Score == scoreAll {
			return verify.Reject(shown, rule, "%s", failed), settled
		}
	}
	switch {
	case passed == len(tests):
		return verify.Accept(shown, rule, "passes %s", count(len(tests), "test")), settled
	case passed == 0:
		return verify.Reject(shown, rule, "%s", failed), settled
	}
	v = verify.Accept(shown, rule, "passes %d of %d tests; %s", passed, len(tests), failed)
	v.Verdict, v.Score = verify.Graded, float64(passed)/float64(len(tests))
	return v, settled
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
