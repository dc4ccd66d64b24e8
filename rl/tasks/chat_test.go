package tasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// TestChat: a conversation says what the text says, once.
func TestChat(t *testing.T) {
	for _, f := range Families() {
		task := validated(t, f.New())
		row := task.Draw(random.At(41, 0, 0), Train)
		chat := Chat(task, row)
		if len(chat) != 2 || chat[0].Role != "system" || chat[1].Role != "user" || chat[0].Content == "" {
			t.Fatalf("%s: %+v", f.Name, chat)
		}
		text := chat[1].Content
		if _, teaches := task.(Demonstrator); !teaches {
			text += tagged
			if strings.Contains(chat[1].Content, "<answer>") || !strings.Contains(chat[0].Content, "between <answer> and </answer>") {
				t.Errorf("%s: the tags stand in %+v", f.Name, chat)
			}
		}
		if text != row.Question {
			t.Errorf("%s: the conversation %+v is not the text %q", f.Name, chat, row.Question)
		}
	}
}

// TestRows: rows of one seed are different, go on where fewer end, and those of
// the two splits have no problem in common, whatever the seeds.
func TestRows(t *testing.T) {
	for _, f := range Families() {
		task := validated(t, f.New())
		const n = 3
		of := map[Split]map[string]bool{Train: {}, HeldOut: {}}
		seeds := uint64(3)
		if testing.Short() {
			seeds = 1
		}
		for seed := range seeds {
			for split, seen := range of {
				rows, err := Rows(task, split, seed, n)
				if err != nil {
					t.Fatal(err)
				}
				fewer, err := Rows(task, split, seed, 2)
				if err != nil || !slices.EqualFunc(fewer, rows[:2], func(a, b verify.Problem) bool { return a.ID == b.ID && a.Question == b.Question }) {
					t.Errorf("%s: the first rows of %d are not those of 2: %v", f.Name, n, err)
				}
				ids := map[string]bool{}
				for _, row := range rows {
					ids[row.ID], seen[row.ID], seen[row.Question] = true, true, true
				}
				if len(ids) != n {
					t.Errorf("%s, %s: %d different rows of %d", f.Name, split, len(ids), n)
				}
			}
		}
		for id := range of[Train] {
			if of[HeldOut][id] {
				t.Errorf("%s: %q is in both splits", f.Name, id)
			}
		}
	}
	task := validated(t, &Countdown{Numbers: 2, MaxNumber: 3, MaxTotal: 6})
	if _, err := Rows(task, Train, 1, 1000); err == nil || !strings.Contains(err.Error(), "different train problems") {
		t.Errorf("more rows than problems: %v", err)
	}
}

// TestSet: settings from text.
func TestSet(t *testing.T) {
	task, err := New("graph_color")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"num_colors": "4", "edge_probability": "0.25"} {
		if err := Set(task, key, value); err != nil {
			t.Error(err)
		}
	}
	got := map[string]any{}
	for _, s := range Settings(task) {
		got[s.Key] = s.Value
	}
	if got["num_colors"] != 4 || got["edge_probability"] != 0.25 || got["min_num_vertices"] != 10 {
		t.Errorf("%v", got)
	}
	for _, c := range [][3]string{
		{"num_colors", "4x", `task graph_color: num_colors = "4x" is a string; accepted: a whole number from 2 to 10`},
		{"num_colors", "", `num_colors = "" is a string; accepted: a whole number from 2 to 10`},
		{"edge_probability", "1 2", "a number from 0.01 to 0.99"},
		{"num_colors", "11", "num_colors = 11 is out of range; accepted: a whole number from 2 to 10"},
		{"colors", "4", "task graph_color: unknown key colors; did you mean num_colors?"},
	} {
		if err := Set(task, c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s = %q: %v", c[0], c[1], err)
		}
	}
	countdown := &Countdown{Numbers: 4, MaxNumber: 22, MaxTotal: 45}
	if err := Set(countdown, "numbers", "3"); err != nil || countdown.Numbers != 3 {
		t.Errorf("%+v, %v", countdown, err)
	}
}
