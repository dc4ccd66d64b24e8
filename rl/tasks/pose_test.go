package tasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestPosed: what a task draws is a problem when somebody writes it, with the same answer and identity; held-out
// problems and what is none are refused with a reason.
func TestPosed(t *testing.T) {
	for _, name := range Posers() {
		task, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		p := task.(Poser)
		for i := range 300 {
			row := p.Draw(random.At(3, 3, uint64(i)), Split(i%2))
			got, err := p.Pose(row, row.Question)
			if (err == nil) != (SplitOf(row.ID) == Train) || got.ID != row.ID || got.Answer != row.Answer || got.Question != row.Question {
				t.Fatalf("%s: %+v is posed as %+v, %v", name, row, got, err)
			}
			if _, err := p.Pose(row, "x"+row.Question); err == nil {
				t.Errorf("%s accepts x%s", name, row.Question)
			}
		}
	}
	if !slices.Equal(Posers(), []string{"chain_sum", "library"}) {
		t.Errorf("posers %q", Posers())
	}
	sums, _ := New("chain_sum")
	for text, want := range map[string]string{
		"1+2": "ends in a colon", "5:": "2 to 4 terms", "1+1+1+1+1:": "2 to 4 terms", "1-2:": "outside 0 to 40", "0+1:": "from 1 to 20", "01+1:": "from 1 to 20", "1+21:": "from 1 to 20", "1++1:": "from 1 to 20", "": "", "+:": "", "1+2=3:": "from 1 to 20", ":": "",
	} {
		if p, err := sums.(Poser).Pose(verify.Problem{}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is posed as %+v, %v", text, p, err)
		}
	}
	if p, err := sums.(Poser).Pose(verify.Problem{}, "12+7-5:"); err != nil || p.Answer != "14" || sums.(Demonstrator).Verify(p, "12+7=19-5=14", true).Verdict != verify.Right {
		t.Errorf("%+v, %v", p, err)
	}
	books, _ := New("library")
	row := verify.Problem{Answer: "3", Metadata: metadata(map[string]any{"documents": []string{"7 k 12", "12 m 3", "3 k 7"}, "chain": []string{"12 m 3"}})}
	for text, want := range map[string]string{"7km:": "", "12 m:": "", "7k:": "not the one", "7kk:": "no document", "7kmkm:": "1 to 2 relations", "7km": "colon", "7:": "1 to 2", "": "1 to 2"} {
		p, err := books.(Poser).Pose(row, text)
		if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) || err == nil && p.Answer != "3" {
			t.Errorf("%q is posed as %+v, %v", text, p, err)
		}
	}
}

// TestProposers: those who are imitated write problems of which some are accepted and some not, of several lengths.
func TestProposers(t *testing.T) {
	for _, name := range Posers() {
		task, _ := New(name)
		p := task.(Poser)
		valid, lengths := 0, map[int]int{}
		for i := range 300 {
			r := random.At(9, 9, uint64(i))
			row := p.Draw(r, Train)
			asked := row
			asked.Question = row.Answer + ":"
			text := ""
			if w, played := task.(Episodic); played {
				e, err := world.Play(t.Context(), w, p.Proposer(), asked, w.Turns(), r, r)
				if err != nil {
					t.Fatal(err)
				}
				text = e.Turns[len(e.Turns)-1].Text
			} else {
				text = p.Proposer().Play([]world.Message{{Role: world.User, Text: asked.Question}}, r)
			}
			if posed, err := p.Pose(row, text); err == nil {
				valid++
				lengths[len(posed.Question)]++
			}
		}
		if valid < 30 || valid > 290 || len(lengths) < 3 {
			t.Errorf("%s: %d of 300 are problems, of the lengths %v", name, valid, lengths)
		}
	}
}

// FuzzPose: no text breaks a task, and what is accepted is a problem that it poses itself.
func FuzzPose(f *testing.F) {
	f.Add("12+7-5:")
	f.Add("7km:")
	row := verify.Problem{Answer: "3", Metadata: metadata(map[string]any{"documents": []string{"7 k 12", "12 m 3"}, "chain": []string{"12 m 3"}})}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range Posers() {
			task, _ := New(name)
			if p, err := task.(Poser).Pose(row, text); err == nil {
				if again, err := task.(Poser).Pose(row, p.Question); err != nil || again.ID != p.ID {
					t.Errorf("%s: %q is posed as %q, and that as %+v, %v", name, text, p.Question, again, err)
				}
			}
		}
	})
}
