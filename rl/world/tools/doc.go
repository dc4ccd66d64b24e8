// Package tools has the tools of this program, which implement [world.Tool]. All are pure.
//
//	calculator   exact arithmetic
//	search       documents by the words of a query
package tools
