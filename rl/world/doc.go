// Package world has the types of what answers a policy: a problem that is not one question and
// one answer, but an episode of turns.
//
//	World.Begin(row, dice) ─> Episode, what it says first
//	Episode.Step(turn)     ─> Reply: what it says next, a reward, or a verdict: the episode is over
//
// A [World] is immutable and safe for concurrent use. An [Episode] belongs to one goroutine. All
// that is random in it comes from the dice that Begin gets, so that the same turns after the same
// dice are the same episode, in a replay and on another machine.
//
// Whoever asks a world may be wrong and the world may be broken, and the two are told apart: what
// a seat did wrong (a malformed move, a number that is no number) is a [Reply], and is scored. An
// error of Begin or Step says that the world broke, and the episode is not scored.
//
// What a world says first depends on the problem alone and not on the dice: the samples of a
// problem are compared with each other, and comparing is fair where they were asked the same.
//
// A [Player] takes a seat without a model: [Players] are those that a world brings, and [Play]
// plays an episode with one. Demonstrations are such episodes.
//
// Which worlds there are says package tasks: a task that implements [World] is one.
package world
