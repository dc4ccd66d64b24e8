// Package verify decides whether a completion is right.
//
// A verifier is a pure function of a task row and a completion. It has no clock, no randomness, no
// network and no files, and only the parsers of this package evaluate text that a model wrote. The
// exceptions are the verifiers of programs and queries, which run them in boxes and bounded engines
// (package verify/program).
//
//	row {question, answer, metadata} ─┐
//	                                  ├─> Verifier ─> Verdict {score, verdict, reason, extracted, rule}
//	completion ── extraction ─────────┘
//
// # Verdicts
//
// "right" scores 1 and "wrong" 0; "graded" has a score in between. "not_scored" means that the
// verifier cannot judge, since the row lacks what it needs. Such a completion is left out of its
// group and counted. It is never scored as 0; its Score is NaN, so that a sum over it cannot go
// unnoticed. Whatever a model writes leads to right, wrong or graded: a model cannot talk itself
// out of being scored.
//
// A row that cannot be judged should be found when its file is read, not when a run meets it.
// [Check] asks the verifier; each verifier that needs something of a row is a [Checker].
//
// # Budgets
//
// limits.go holds the caps in bytes, digits and nesting. Every parser is one pass over the text,
// and arithmetic is exact (big.Rat) over numbers of capped length. So the work of a verdict is
// linear in the completion, and no time limit is needed. "math" counts its arithmetic in steps
// (package mathans). Text metrics cap the length of both texts, JSON its depth and size. A
// completion over budget is "wrong", with the cap in the reason.
//
// # Names
//
// Verifiers are looked up by name ([New], [Grade]); each has a text for
// "rlzero verifiers show NAME". Other packages add theirs with [Register]:
// rl/tasks adds task:NAME for each of its tasks. Register is called from init
// functions only; everything else is safe for concurrent use.
//
// Where reasoning-gym knows the same form, extraction follows it: the last <answer>…</answer>
// counts (github.com/open-thought/reasoning-gym, utils.py).
package verify
