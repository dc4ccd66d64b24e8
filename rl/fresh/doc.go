// Package fresh makes models to begin from: random weights, a chat template, and a tokenizer that has
// learned the words of some rows.
//
//	rows ── Learn ──> tokenizer ── Size.Config ──> configuration ── Write ──> files of a Hugging Face folder
//
// The same rows, size and seed give the same bytes. A model knows nothing yet: imitation has to teach it
// the form of answers. Functions may be called from several goroutines.
package fresh
