// Package watch reads the metrics of a run as they come and says when something is
// wrong: metrics in, alerts out.
//
//	rows of metrics.jsonl ── Watcher.Add ──> alerts ──> alerts.jsonl, terminal, page
//
// # Rules
//
// The rules are one table, in rules.go. Each is relative to the run: it compares the
// last steps of a stage with its first ones, with its best ones, or with what is exact.
// No threshold is a value of entropy or of reward, which differ by orders of magnitude
// from one task and model to the next. A rule needs two facts that agree, and an alert
// tells both: what was seen, and what it is seen against.
//
// A collapse (falls_apart) is told from the fifth step of a stage on, against the evaluation
// before the stage, with its causes, the likeliest first. While it lasts, the rules about what
// it brings with it are silent.
//
// A mean over steps is compared in standard errors of that mean, from the scatter of
// the steps themselves (Student 1908): what is within two of them is noise here.
//
// # Levels
//
//	info     worth knowing; nothing has to be done
//	warning  the run probably does not do what was meant
//	error    the run is broken: what it computes from here on is worth nothing
//
// An alert is raised once an episode: a rule that goes on holding is silent, and is
// armed again when it has not held for ten steps. No alert stops a run.
//
// # Units and caveats
//
// Steps count through all stages, from 1, as in metrics.jsonl. Alerts are a function of
// the rows alone, in their order: a resumed run that has read its rows again goes on to
// the same alerts. Rules that read held-out accuracy are as slow as its evaluations. A
// Watcher belongs to one goroutine.
package watch
