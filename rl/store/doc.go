// Package store keeps a run's folder: small files, append-only logs and
// checkpoints, so that a process killed at any moment, or a disk that fails,
// loses at most the work since the last checkpoint. It knows nothing of models.
//
//	RUN/lock                       there while a process writes the run, and locked by it
//	RUN/NAME                       WriteFile: replaced as a whole or not at all
//	RUN/NAME.jsonl                 Log: one JSON value per line, only appended to; Journal: no checkpoint cuts it
//	RUN/checkpoints/step-NNNNNN/   SaveCheckpoint: complete from the moment it has this name
//	RUN/best/step-NNNNNN/          SaveBest: the best model so far, likewise; no run goes on from it
//	RUN/checkpoints/*.old          the previous checkpoint of the same step, while it is being replaced
//	*.tmp                          unfinished, or being removed; cleared when the run is opened again
//
// # Durability
//
// Everything is created under a temporary name, written, fsynced and renamed; then its folder is
// fsynced. So a name never stands for half a file, not even after a power cut (Pillai et al., OSDI
// 2014, "All File Systems Are Not Created Equal", show what file systems reorder without the
// fsyncs). The manifest.json of a checkpoint is written last. It has the size and SHA-256 of each
// of its files and the lengths of the logs in bytes at that moment, and is checked before the
// checkpoint is used. Logs are fsynced before each checkpoint and not in between.
//
// On Windows folders cannot be fsynced; NTFS orders their changes by its journal.
//
// # Threads
//
// A Run and its Logs belong to one goroutine; one process writes a run at a
// time. Reading (Latest) needs no lock and may happen during a run.
package store
