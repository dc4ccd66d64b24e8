package run

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/resolve"
)

// TestParts: a part needs those that are opened before it alone.
func TestParts(t *testing.T) {
	var before []string
	for _, p := range slices.Concat(stageParts, folderParts) {
		for _, need := range strings.Fields(p.needs) {
			if !slices.Contains(before, need) {
				t.Errorf("%s needs %s, which is opened after it", p.name, need)
			}
		}
		before = append(before, p.name)
	}
}

// TestPartsClose: what was opened is closed, the last first; what failed to open and what comes after
// it is not.
func TestPartsClose(t *testing.T) {
	var said []string
	made := func(name string, err error) part {
		return part{name, "", func(*opening) error {
			said = append(said, "open "+name)
			return err
		}, func(*run) { said = append(said, "close "+name) }}
	}
	failure := errors.New("no")
	r := &run{}
	err := r.open(Options{Opened: &resolve.Opened{}}, made("a", nil), made("b", nil), made("c", failure), made("d", nil))
	r.close()
	r.close()
	if want := "open a, open b, open c, close b, close a"; !errors.Is(err, failure) || strings.Join(said, ", ") != want {
		t.Errorf("%v: %v, want %s", err, said, want)
	}
}
