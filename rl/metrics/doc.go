// Package metrics has the names of everything a run measures, with unit,
// meaning and how to read it, and writes rows of them as JSON lines.
//
// A row is one object: step, stage, then the metrics in the order of the table.
// Equal rows are equal bytes: floats are written in the shortest form that reads
// back to the same float64, and what is not finite as null. A name that is not in
// the table is an error, so the table is complete.
//
// A Writer belongs to one goroutine.
package metrics
