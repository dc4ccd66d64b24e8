package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
)

// TestSchedule: a schedule is read as it was written, but for a last line that a kill cut short.
// One that cannot be a run's is refused with its line.
func TestSchedule(t *testing.T) {
	var text strings.Builder
	for step := range 4 {
		line, _ := json.Marshal(record.Schedule{Step: step + 9, Stage: "rl", Groups: []record.Arrived{{Step: step + 9, Version: step}, {Step: step + 10, Prompt: 1}}})
		fmt.Fprintf(&text, "%s\n", line)
	}
	s, err := ReadSchedule("s.jsonl", strings.NewReader(text.String()))
	if err != nil || s.Last() != 12 || s.Groups(11)[1] != (record.Arrived{Step: 12, Prompt: 1}) || s.Groups(13) != nil || s.by[[2]int{12, 0}] != 3 {
		t.Fatal(s, err)
	}
	for n := range len(text.String()) {
		cut, err := ReadSchedule("s.jsonl", strings.NewReader(text.String()[:n]))
		if whole := strings.Count(text.String()[:n+1], "\n"); err != nil || cut.last != 0 && cut.last != 8+whole {
			t.Fatalf("%d bytes: step %d, %v", n, cut.last, err)
		}
	}
	for text, want := range map[string]string{
		`{"step":1}`: "s.jsonl: line 1: bad input: step 1 has no groups",
		"{\"step\":2,\"groups\":[{\"step\":2}]}\n{\"step\":2,\"groups\":[{\"step\":3}]}":               "s.jsonl: line 2: bad input: step 2 follows step 2",
		"{\"step\":2,\"groups\":[{\"step\":2}]}\n{\"step\":3,\"groups\":[{\"step\":2,\"version\":1}]}": "s.jsonl: line 2: bad input: step 3 has prompt 0 of step 2, which an earlier line has too",
		"{\"step\":2,\"stage\":\"\xff\",\"groups\":[{\"step\":2}]}":                                    "s.jsonl: line 1: not UTF-8 text",
		"{\n{\"step\":2,\"groups\":[{\"step\":2}]}":                                                    "unexpected end of JSON input",
	} {
		if _, err := ReadSchedule("s.jsonl", strings.NewReader(text)); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzSchedule: whatever the file has is read or refused. What is read has each group once, in steps
// that ascend.
func FuzzSchedule(f *testing.F) {
	f.Add(`{"step":1,"stage":"rl","groups":[{"step":1,"prompt":0,"version":0}]}`)
	f.Add("{\"step\":1,\"groups\":[{\"step\":1}]}\n{\"step\":3,\"groups\":[{\"step\":2},{\"step\":2,\"prompt\":1}]}\n{\"st")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadSchedule("s.jsonl", strings.NewReader(text))
		if err != nil {
			return
		}
		groups := 0
		for step, line := range s.steps {
			if groups += len(line); step < 1 || step > s.Last() || len(line) == 0 {
				t.Errorf("step %d of %d has %d groups", step, s.Last(), len(line))
			}
			for _, g := range line {
				if s.by[[2]int{g.Step, g.Prompt}] != g.Version {
					t.Errorf("step %d: %+v has another version", step, g)
				}
			}
		}
		if groups != len(s.by) {
			t.Errorf("%d groups, %d of them different", groups, len(s.by))
		}
	})
}
