//go:build !unix

package cli

// ignoreFileSizeSignal: there is no such signal here.
func ignoreFileSizeSignal() {}
