// Package run goes through the stages of a recipe.
//
//	Options ── open ──> models, run folder
//	                      │
//	        ┌─────────────┴──────────────┐
//	        │ step ──> observe ──> save  │  until the stage is over
//	        └─────────────┬──────────────┘
//	                      └──> evaluation, checkpoint, next stage ... receipt
//
// Stages do the steps (package train). A step returns an event; observers write the logs and the
// report and show progress, and change nothing. Keepers save what a resumed run needs: the models,
// and the stage in progress. The run itself keeps its [State]: where it stands, and what it was
// begun with.
//
// A run is a function of recipe, seed and device. Killed at any moment and resumed, it
// continues to the same bytes: random numbers are keyed by position, and the logs are
// cut back to the checkpoint that the run continues from. At most the steps since that
// checkpoint are done again.
//
// A finished run can go on if only the lengths of its stages change. The checkpoint at the end of
// the last stage has what that stage needs: its optimizer's state and what it keeps from step to
// step. continued.json says which recipe followed which, and goes into the receipt.
//
// Beside the checkpoints, best/ has the model of the best evaluation, and result.json says where
// the run stands. Both depend only on the evaluations and are cut back with the logs. Nothing in
// the run depends on them.
//
// A run belongs to one goroutine. Cancel its context to stop it: it writes a checkpoint
// of the last step done, if there is none, and returns ErrInterrupted.
package run
