// Package student has the distribution of Student's t, by which tests and intervals of means go. It is
// pure arithmetic and safe for concurrent use.
package student
