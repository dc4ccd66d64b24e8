// Package record has the logs of a run folder: the type of each line, its writer and its readers.
// Writers and readers of a log use the same type, so a new fact of a completion is one field here.
//
//	a step ── Writer.Append ──> completions.jsonl ──┬─ Each ──────────> every line, in order
//	                                                ├─ Open, Lines ──> those of a step or a group
//	                                                └─ Reader ────────> pieces of whole lines
//
// The lines are [Completion], [Tokens], [Evaluation], [HeldOut], [Update], [Schedule], [Judgement] and
// [Call]. Package metrics has the rows of metrics.jsonl and timing.jsonl, because their names are a
// table of their own, and package watch the alerts, which its rules write. Both read with this
// package. Each line but a Call begins with step and stage; an [Index] relies on that. The finders of
// fields.go rely on the order of the keys of Completion.
//
// # Bounds
//
// Nothing reads a whole log into memory. A [Reader] holds one piece of some megabytes. A line that
// is longer takes the room that it needs, up to [MaxBytes]. Each and Lines refuse a longer line
// with file, line and bound. An Index notes it in [Step].Skipped and goes on.
//
// # Units and caveats
//
// Steps count through all stages, from 1; 0 is before the first. Groups and samples count
// from 0, lines of a file from 1, offsets are bytes. Numbers that are not finite are null.
//
// Only whole lines count: a run in progress may be writing the last one. A log that has become
// shorter, as after a resume, is read from its beginning again. Writer, Reader, Index and Log
// belong to one goroutine.
package record
