package tasks

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/verify"
)

// whiteSpace are the kinds of candidates that differ from the reference in
// white space around it; numerals are those that write its number otherwise.
// The original's default scorer refuses both; ours reads them.
var (
	whiteSpace = []string{"trailing_space", "leading_space", "trailing_newline", "crlf_end", "surrounded", "spaces", "trail_sp", "lead_sp"}
	numerals   = []string{"plus_sign", "dot", "dot0", "dot00", "zero_pad", "fullwidth", "arabic", "underscore", "thousands", "comma", "sci", "alt_e", "alt_thousands"}
)

// right lists, by family, further kinds that the original refuses and that are
// right, and wrong those that it pays and that are not: see "Known faults" in
// the data's README. A kind ending in * stands for all that begin so.
var (
	right = map[string][]string{
		"countdown": {"alt_eq", "alt_latex", "alt_times", "dot"},
	}
	wrong = map[string][]string{}
)

func listed(list []string, kind string) bool {
	return slices.ContainsFunc(list, func(k string) bool {
		prefix, open := strings.CutSuffix(k, "*")
		return k == kind || open && strings.HasPrefix(kind, prefix)
	})
}

// outOfScope are the families that are not ours, with the reason.
var outOfScope = map[string]string{
	"aiw": "not built", "arc_1d": "not built", "arc_agi": "bundled boards", "rearc": "bundled generators", "bf": "not built",
	"boxnet": "not built", "color_cube_rotation": "not built", "emoji_mystery": "bundled text", "family_relationships": "not built",
	"figlet_font": "bundled fonts", "gsm_symbolic": "bundled templates", "intermediate_integration": "needs a symbolic integrator",
	"simple_integration": "needs a symbolic integrator", "knight_swap": "not built", "letter_jumble": "bundled words",
	"mahjong_puzzle": "not built", "rubiks_cube": "not built", "rush_hour": "bundled boards", "sentence_reordering": "bundled text",
	"sokoban": "not built", "syllogism": "not built", "tsumego": "not built", "word_ladder": "bundled words", "advanced_geometry": "not built",
}

// TestReasoningGym: the task verifiers on reasoning-gym's rows call right what
// the original scores as 1, and nothing else, but for the kinds listed above.
func TestReasoningGym(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, "reasoning_gym"), "entries")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	matched, failed, skipped := 0, 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		_, err := Lookup(name)
		if _, out := outOfScope[name]; out == (err == nil) {
			t.Errorf("%s: a family is ours or has a reason in outOfScope", name)
		}
		m, f, s := 0, 0, 0
		eachEntry(t, file, func(e entry, raw json.RawMessage) {
			if err != nil {
				s += len(e.Candidates)
				return
			}
			for _, c := range e.Candidates {
				if fault := compare(t, name, c, raw); fault == "" {
					m++
				} else if f++; f <= 8 {
					text := ""
					if c.Text != nil {
						text = *c.Text
					}
					t.Errorf("%s %s: %s: %s, answer %s", e.ID, c.Kind, fault, short(text), short(e.Answer))
				}
			}
		})
		matched, failed, skipped = matched+m, failed+f, skipped+s
	}
	fixtures.Report(t, "reasoning_gym", matched, failed, skipped)
}

type candidate struct {
	Kind  string
	Text  *string
	Score float64
}

type entry struct {
	ID         string
	Answer     string
	Candidates []candidate
}

func eachEntry(t *testing.T, file string, visit func(e entry, raw json.RawMessage)) {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no %s", file)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		var row map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		delete(row, "candidates")
		raw, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		visit(e, raw)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// compare is "" if our verdict on a candidate is what it has to be.
func compare(t *testing.T, name string, c candidate, raw json.RawMessage) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{"verifier": "task:" + name, "task": raw, "completion": c.Text, "extract": "none"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := verify.Grade(line, "")
	if err != nil {
		t.Fatal(err)
	}
	paid, accepted := c.Score == 1, v.Verdict == verify.Right
	switch {
	case v.Verdict == verify.NotScored:
		return "not scored: " + v.Reason
	case accepted == paid:
	case accepted && (listed(whiteSpace, c.Kind) || listed(numerals, c.Kind) || listed(right[name], c.Kind)):
	case !accepted && c.Kind != "reference" && listed(wrong[name], c.Kind):
	case accepted:
		return "right, where the original gives less than 1"
	default:
		return "not right, where the original gives 1 (" + v.Reason + ")"
	}
	return ""
}
