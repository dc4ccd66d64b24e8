// Package watch reads the metrics of a run as they come, and raises alerts when something is wrong.
//
//	rows of metrics.jsonl ── Watcher.Add ──> alerts ──> alerts.jsonl, terminal, page
//
// # Rules
//
// The rules are one table, in rules.go. Each is relative to the run: it compares the last steps of
// a stage with its first ones, with its best ones, or with a value that is exact. No threshold is a
// value of entropy or of reward, since these differ by orders of magnitude between tasks and
// models. A rule needs two facts that agree, and an alert states both: what was seen, and what it
// was compared with.
//
// A collapse (falls_apart) can be reported from the fifth step of a stage on. It is measured
// against the evaluation before the stage, and the alert lists the likeliest causes first. While it
// lasts, the rules about its consequences are silent.
//
// A mean over steps is compared in standard errors of that mean, which come from the scatter of the
// steps themselves (Student 1908). A difference of less than two standard errors counts as noise.
//
// # Levels
//
//	info     worth knowing; nothing has to be done
//	warning  the run probably does not do what was meant
//	error    the run is broken: what it computes from here on is worth nothing
//
// An alert is raised once an episode: while a rule goes on holding it is silent, and it can fire
// again when it has not held for ten steps. No alert stops a run.
//
// # Units and caveats
//
// Steps count through all stages, from 1, as in metrics.jsonl. Alerts depend only on the rows and
// their order, so a resumed run that has read its rows again raises the same alerts. Rules that
// read held-out accuracy can fire only after an evaluation. A Watcher belongs to one goroutine.
package watch
