// Package audit asks how far a reward can be trusted: it grades completions
// twice, shows where the graders differ, and tries on them what earns a reward
// without being an answer.
//
//	samples {row, completion, stored verdict} ─> auditor.add ─┬─> agreement, disagreements
//	                                                          ├─> shares by verdict and rule, reasons for not scoring
//	                                                          ├─> stored verdicts that are not reproduced
//	                                                          └─> some rows ─> attacks ─> what each earned
//	                                                     auditor.end ─> Report.Text, Report.JSON
//
// # Graders
//
// Two for each sample: the one whose verdicts were paid, and a second one, which
// second chooses where the user names none: the same check with another way to
// take the answer out where there is one, so that the difference is what
// extraction costs; else a check of another kind.
//
// # Attacks
//
// attacks.go has the table. An attack makes texts from a row; each grader's
// verdict on them is counted. An attack is hopeless when no text of it can be
// right: a grader that calls one right has a hole, and [Report.Problems] names
// it. Others are only shown: what always giving the commonest answer earns is
// the level of chance, not a hole.
//
// Chance is kept apart. A text that states the row's answer, such as an empty
// completion where nothing is the answer, or 9^9 where a grader that reads the
// last number finds the 9 that is right, is counted as right by chance. The wrong answers that hedging attacks put beside the reference are
// answers of other rows that the grader itself calls wrong when they stand alone.
// The form of an answer (bare, between tags, in a box, after ####, after =) is
// the first in which the grader takes the row's own reference.
//
// Graded verdicts, such as an overlap of words, are shown with their mean score;
// only a full score counts as paid.
//
// # Costs
//
// Samples are not kept: memory is that of the first attackRows different rows of
// each grader and of the examples shown. Nothing is random and nothing depends on
// time. An auditor is not safe for concurrent use.
package audit
