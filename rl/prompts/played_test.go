package prompts

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/tasks"
)

// TestNumbers: numbers are problems of either split by their IDs, different ones, without a question.
func TestNumbers(t *testing.T) {
	s := Numbers("maze.py")
	held, err := s.HeldOut(20)
	if err != nil || len(held) != 20 {
		t.Fatal(held, err)
	}
	for i, row := range append(held, s.Draw(random.At(1, 2, 3))) {
		n, err := strconv.Atoi(row.ID)
		want := tasks.HeldOut
		if i == 20 {
			want = tasks.Train
		}
		if err != nil || n < 0 || n >= numbersBelow || row.Question != "" || string(row.Metadata["number"]) != row.ID || tasks.SplitOf(row.ID) != want {
			t.Errorf("%+v", row)
		}
	}
	if IDsOf(held).Refuse(held[3]) == nil {
		t.Error("a held-out number is trained on")
	}
}

// TestRowsOfProgram: rows with and without a question are problems, told apart by what they have.
func TestRowsOfProgram(t *testing.T) {
	var raw []json.RawMessage
	for i := range 100 {
		raw = append(raw, json.RawMessage(`{"hidden":`+strconv.Itoa(i)+`}`), json.RawMessage(`{"question":"`+strconv.Itoa(i)+`?"}`))
	}
	s, err := Rows("maze.py", raw)
	if err != nil {
		t.Fatal(err)
	}
	train, held := s.Rows()
	ids := map[string]bool{}
	for _, row := range append(train, held...) {
		ids[row.ID] = true
	}
	if len(ids) != 200 || len(held) < 3 || !ids[`{"hidden":7}`] || !ids["7?"] || Leak(s) != nil {
		t.Errorf("%d problems, %d held out", len(ids), len(held))
	}
	other, err := Rows("maze.py", raw[:199])
	if err != nil || other.Hash() == s.Hash() {
		t.Errorf("fewer rows have the same hash, %v", err)
	}
	for _, bad := range []string{`{"question":7}`, `[]`} {
		if _, err := Rows("maze.py", append(raw, json.RawMessage(bad))); err == nil || errors.Is(err, errNoQuestion) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := Rows("maze.py", raw[:1]); err == nil {
		t.Error("one problem cannot be trained on and held out")
	}
}
