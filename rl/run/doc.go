// Package run goes through the stages of a recipe.
//
//	Options ── open ──> models, run folder
//	                      │
//	        ┌─────────────┴──────────────┐
//	        │ step ──> observe ──> save  │  until the stage is over
//	        └─────────────┬──────────────┘
//	                      └──> evaluation, checkpoint, next stage ... receipt
//
// A step is a stage's (package train). It returns an event; observers write the logs
// and the report and show progress, and change nothing. What a resumed run needs is saved by keepers:
// the models, and the stage in progress. The run itself keeps its [State]: where it
// stands, and what it was begun with.
//
// A run is a function of recipe, seed and device. Killed at any moment and resumed, it
// continues to the same bytes: random numbers are keyed by position, and the logs are
// cut back to the checkpoint that the run continues from. At most the steps since that
// checkpoint are done again.
//
// A run belongs to one goroutine. Cancel its context to stop it: it writes a checkpoint
// of the last step done, if there is none, and returns ErrInterrupted.
package run
