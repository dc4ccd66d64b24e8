package prompts

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/verify"
)

// ErrLeak: a held-out problem is among the training prompts, so that accuracy on the
// held-out problems would measure memory too.
var ErrLeak = errors.New("a held-out problem is among the training prompts")

// Leak looks for held-out problems among the training problems of a source that lists
// its rows. Texts that differ in white space alone are one problem.
func Leak(s Source) error {
	train, heldOut := s.Rows()
	questions := map[string]string{} // folded -> as it is held out
	for _, row := range heldOut {
		text := identity(row)
		questions[folded(text)] = text
	}
	for _, row := range train {
		own := identity(row)
		if text, there := questions[folded(own)]; there {
			return leak(text, own)
		}
	}
	return nil
}

func folded(text string) string { return strings.Join(strings.Fields(text), " ") }

func leak(heldOut, training string) error {
	err := fmt.Errorf("%w: %s is held out, and %s is trained on", ErrLeak, terminal.Quote(heldOut), terminal.Quote(training))
	return hint.With(err, "remove one of the two, or accept it with task.allow_leaks = true")
}

// HeldOutTexts are the texts of held-out problems, to compare each draw with.
type HeldOutTexts map[string]bool

// TextsOf are those of problems.
func TextsOf(heldOut []verify.Problem) HeldOutTexts {
	t := HeldOutTexts{}
	for _, row := range heldOut {
		t[identity(row)] = true
	}
	return t
}

// Refuse returns ErrLeak for a training problem that has the text of a held-out one.
func (t HeldOutTexts) Refuse(training ...verify.Problem) error {
	for _, row := range training {
		if text := identity(row); t[text] {
			return leak(text, text)
		}
	}
	return nil
}
