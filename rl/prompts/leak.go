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

// HeldOut are held-out problems, to compare each draw with. The zero value holds out none.
type HeldOut struct {
	known map[string]bool
	of    func(row verify.Problem) string // what tells problems apart
	like  map[string]bool                 // their texts, white space folded, which Like compares made rows with
}

// TextsOf are held-out problems that their texts tell apart.
func TextsOf(heldOut []verify.Problem) HeldOut { return knownBy(heldOut, identity) }

// IDsOf are held-out problems that only their IDs tell apart: those of a world, which tells some of a
// problem while it is played.
func IDsOf(heldOut []verify.Problem) HeldOut {
	return knownBy(heldOut, func(row verify.Problem) string { return row.ID })
}

func knownBy(heldOut []verify.Problem, of func(row verify.Problem) string) HeldOut {
	h := HeldOut{map[string]bool{}, of, map[string]bool{}}
	for _, row := range heldOut {
		h.known[of(row)] = true
		h.like[folded(identity(row))] = true
	}
	return h
}

// Refuse returns ErrLeak for a training problem that is a held-out one.
func (h HeldOut) Refuse(training ...verify.Problem) error {
	if len(h.known) == 0 {
		return nil
	}
	for _, row := range training {
		if name := h.of(row); h.known[name] {
			return leak(name, name)
		}
	}
	return nil
}

// Like returns ErrLeak for a row whose text is that of a held-out problem, white space apart.
func (h HeldOut) Like(rows ...verify.Problem) error {
	for _, row := range rows {
		if name := identity(row); h.like[folded(name)] {
			return leak(name, name)
		}
	}
	return nil
}
