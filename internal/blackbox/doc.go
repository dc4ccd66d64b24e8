// Package blackbox tests the program as people meet it, from outside: there is no code in it.
//
//	script_test.go         the commands of testdata/script: arguments, texts, exit codes, files
//	guides_test.go         every command of README.md and of the guides
//	kill_test.go           runs that are killed at random moments and resumed
//	full_test.go           a run whose disk is full
//	machines_linux_test.go a run over several machines, each of them a network namespace
//	sockets_linux_test.go  counts the sockets that a command opens
//	release_test.go        the binary of a release: its size, and what it needs
//	rate_test.go, page_rate_test.go  benchmarks of whole runs
//
// In a script the binary of the test stands for the program; the other tests build the program.
package blackbox
