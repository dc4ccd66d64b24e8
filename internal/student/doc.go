// Package student has the distribution of Student's t, by which tests and intervals of means go.
//
// Degrees of freedom may be any number above 0, and need not be whole. [Tail] is exact to some 14
// digits. It is pure arithmetic and safe for concurrent use.
//
// Source: https://dlmf.nist.gov/8.17.
package student
