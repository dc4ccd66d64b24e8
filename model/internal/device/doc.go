// Package device has the parts of a device that all passes use: memory that is allocated, or only
// counted, under a label (Pool); memory in which phases take turns (Scratch); views into it and uploads
// to them; and work that is recorded once and submitted often (Recorder, Programs).
//
//	Pool.Words ─> gpu.View ─ Put, Upload
//	Programs.Run(key) ─ Recorder.Op … ─> gpu.Program ─> Submit
//
// Sizes and offsets are in 32-bit words unless a name says bytes. Nothing here is safe for
// concurrent use but Enter and Leave of a Phase.
package device
