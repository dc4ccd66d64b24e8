// Package verify decides whether a completion is right.
//
// A verifier is a pure function of a task row and a completion: no clock, no
// randomness, no network, no files, and text written by a model is never
// evaluated by anything but the parsers in this package. The exceptions are the
// verifiers of programs and queries, which exist to run them: package
// verify/program, in boxes and bounded engines.
//
//	row {question, answer, metadata} ─┐
//	                                  ├─> Verifier ─> Verdict {score, verdict, reason, extracted, rule}
//	completion ── extraction ─────────┘
//
// # Verdicts
//
// "right" scores 1 and "wrong" 0; "graded" has a score between. "not_scored"
// means that this verifier cannot judge: the row lacks what it needs. Such a
// completion is left out of its group and counted; it is never scored as 0, and
// its Score is NaN so that a sum over it cannot go unnoticed. Whatever a model
// writes leads to right, wrong or graded: a model cannot talk itself out of
// being scored.
//
// A row that cannot be judged is better found when its file is read than when a run
// meets it: [Check] asks a verifier, and each that needs something of a row is a
// [Checker].
//
// # Budgets
//
// limits.go holds the caps in bytes, digits and nesting. Every parser is one
// pass over the text, and arithmetic is exact (big.Rat) over numbers of capped
// length, so the work of a verdict is linear in the completion and there is
// nothing to time out. "math" counts its arithmetic in steps (package mathans),
// text metrics cap the length of both texts, JSON its depth and size. Over
// budget is "wrong" with the cap in the reason.
//
// # Names
//
// Verifiers are looked up by name ([New], [Grade]); each has a text for
// "rlzero verifiers show NAME". Other packages add theirs with [Register]:
// rl/tasks adds task:NAME for each of its tasks. Register is called from init
// functions only; everything else is safe for concurrent use.
//
// Extraction follows reasoning-gym where both know a form: the last
// <answer>…</answer> counts (github.com/open-thought/reasoning-gym, utils.py).
package verify
