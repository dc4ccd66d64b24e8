//go:build !unix

package cli

// failedWritesAreErrors: they are.
func failedWritesAreErrors() {}
