// Package metrics has the names of everything a run measures, with unit,
// meaning and how to read it, writes rows of them as JSON lines and reads them back.
//
// A row is one object: step, stage, then the metrics in the order of the table.
// Equal rows are equal bytes: floats are written in the shortest form that reads
// back to the same float64, and what is not finite as null. A name that is not in
// the table is an error, so the table is complete. [Read] takes any name, as another
// version may have written it; null comes back as NaN. [Each] gives them one at a time, and
// holds no log in memory (package record).
//
// A Writer belongs to one goroutine.
package metrics
