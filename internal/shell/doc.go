// Package shell quotes text for a command line, so that people can copy the commands
// that messages show. It quotes as the shell of the system that the program runs on
// reads it: sh, or on Windows cmd. It runs nothing; its function is pure.
package shell
