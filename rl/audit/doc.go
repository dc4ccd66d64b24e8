// Package audit asks how far a reward can be trusted. It grades completions twice, shows where the
// graders differ, and tries attacks on both: texts that may earn a reward without being an answer.
//
//	samples {row, completion, stored verdict} ─> auditor.add ─┬─> agreement, disagreements
//	                                                          ├─> shares by verdict and rule, reasons for not scoring
//	                                                          ├─> stored verdicts that are not reproduced
//	                                                          └─> some rows ─> attacks ─> what each earned
//	                                                     auditor.end ─> Report.Text, Report.JSON
//
// # Graders
//
// Each sample has two graders: the one whose verdicts were paid, and a second one. If the user
// names no second one, the function second chooses it: the same check with another way to extract
// the answer, so that the difference is the cost of extraction; if there is none, a check of
// another kind.
//
// # Attacks
//
// attacks.go has the table. An attack makes texts from a row, and the verdicts of each grader on
// them are counted. An attack is hopeless if none of its texts can be right. A grader that calls
// one of them right has a hole, and [Report.Problems] names it. Other attacks are only shown: what
// the commonest answer earns, given every time, is the level of chance, not a hole.
//
// Hits by chance are counted apart. A text may state the row's answer by chance: an empty
// completion where the answer is empty, or 9^9 where a grader reads the last number and 9 is right.
// Hedging attacks put wrong answers beside the reference; these are answers of other rows that the
// grader itself calls wrong when they stand alone. The form of an answer (bare, between tags, in a
// box, after ####, after =) is the first form in which the grader accepts the row's own reference.
//
// Graded verdicts, such as an overlap of words, are shown with their mean score;
// only a full score counts as paid.
//
// Worlds, which are played in turns, are attacked by package worlds below this one.
//
// # Costs
//
// Samples are not kept. Memory holds the first attackRows different rows of each grader, and the
// examples that are shown. Nothing is random and nothing depends on time. An auditor is not safe
// for concurrent use.
package audit
