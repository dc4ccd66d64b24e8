// Package metrics has the names of everything that a run measures, with unit, meaning and how to
// read it. It writes rows of metrics as JSON lines and reads them back.
//
// A row is one object: step, stage, then the metrics in the order of the table. Equal rows are
// equal bytes: floats are written in the shortest form that reads back to the same float64, and
// numbers that are not finite as null. Writing a name that is not in the table is an error, so the
// table is complete. [Read] accepts any name, since another version may have written it; null
// becomes NaN. [Each] gives one row at a time, and never holds a whole log in memory (package
// record).
//
// A Writer belongs to one goroutine.
package metrics
