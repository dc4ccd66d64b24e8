package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestVerifierGroups: every verifier stands in one group, alone or by its family,
// and every name of a group is one of a verifier or of a family.
func TestVerifierGroups(t *testing.T) {
	var members []string
	for _, g := range verifierGroups {
		for _, name := range g.names {
			if slices.Contains(members, name) {
				t.Errorf("%s stands in two groups", name)
			}
			members = append(members, name)
			if (families[name] != "") != strings.HasSuffix(name, ":") || len(below(name)) == 0 {
				t.Errorf("%s, of the group %s, is neither a verifier nor a family", name, g.title)
			}
		}
	}
	for _, e := range verify.Entries() {
		if groupOf(e.Name) == "" {
			t.Errorf("verifier %s has no group; add it to verifierGroups", e.Name)
		}
	}
}
