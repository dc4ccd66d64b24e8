// Package plain has small pieces of text for people.
//
//	Quote   a text as one word of a command line, so that shown commands can be copied
//	Count   a number with its noun: 1 problem, 2 problems
//
// All functions are pure.
package plain
