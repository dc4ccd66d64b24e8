// Package tools has the tools of this program, which implement [world.Tool]. All are pure.
//
//	calculator   exact arithmetic
package tools
