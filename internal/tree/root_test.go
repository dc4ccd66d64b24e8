package tree

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the tests run in the root folder, from which they name files.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
