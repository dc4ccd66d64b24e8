package terminal

import "fmt"

// Count is a number with the word that goes with it: 1 problem, 2 problems. An
// empty many is one with an s.
func Count(n int, one, many string) string {
	switch {
	case n == 1:
		many = one
	case many == "":
		many = one + "s"
	}
	return fmt.Sprintf("%d %s", n, many)
}
