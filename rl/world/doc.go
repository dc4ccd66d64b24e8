// Package world has the types of worlds, which answer a policy: a problem is then not one question
// and one answer, but an episode of turns.
//
//	World.Begin(row, dice) ─> Episode, what it says first
//	Episode.Step(turn)     ─> Reply: what it says next, a reward, or a verdict: the episode is over
//
// A [World] is immutable and safe for concurrent use. An [Episode] belongs to one goroutine. All
// randomness comes from the dice that Begin gets. So the same turns with the same dice are the same
// episode, in a replay and on another machine.
//
// A mistake of a player and a fault of the world are told apart. The answer to a mistake (a
// malformed move, a number that cannot be read) is a [Reply], and the episode is scored. An error
// of Begin or Step says that the world broke, and the episode is not scored.
//
// What a world says first depends only on the problem and not on the dice. The samples of a problem
// are compared with each other, which is fair only if all were asked the same.
//
// A [Seated] world may be played by several, who take turns: each reads and writes apart from the others.
//
//	Seated.Sit(row, dice) ─> Table, whom it asks first
//	Table.Step(turn)      ─> Reply: whom it asks next and what that one reads, or the verdicts of all
//
// A [Player] takes a seat without a model. [Players] are the players that a world brings; [Play]
// plays an episode with one. Demonstrations are such episodes. Where a world has a second seat, as nim
// does, a partner that the world brings takes it.
//
// Package tasks has the worlds: a task that implements [World] is one.
//
// # Tools
//
// A [Tool] answers calls. [Tooled] is the world of problems with one answer before which a policy may
// call tools:
//
//	policy   <calculator>47+38-12</calculator>   [Calls] reads the calls of a turn
//	tool     73                                  a reply, which the policy reads and never learns
//	policy   73                                  a turn without calls is the answer
//
// A mistake in a call is a reply like every other, so no call ends a run or leaves an episode without a
// score. Only an error of the tool says that the tool broke, which is a fault of the world. A tool that is pure
// is called again where a run is resumed, and says the same. Of others a [Journal] knows the answers, and a
// call with effects is never made twice.
//
// Package tools, below this one, has the tools.
package world
