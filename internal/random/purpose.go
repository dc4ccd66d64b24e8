package random

// Purpose is a use of random numbers.
type Purpose uint32

// The purposes of a run. New ones are added at the end.
const (
	Draw         Purpose = iota + 1 // problems of a training step
	Sample                          // completions of a training step
	Probe                           // problems and completions of the warm-up's test of form
	HeldOut                         // completions of an evaluation
	Order                           // order of the prompts in the updates of a step
	Reward                          // random rewards of a control run
	Init                            // fresh weights
	Noise                           // the facts noise and chance of formulas
	Refill                          // problems and completions in place of groups whose keep is false
	Greedy                          // the fact greedy_reward
	SecondChance                    // completions in place of those of a group that meets a condition
	Replay                          // which stored groups take part in a step
	Setting                         // the fact prompt_chance of formulas that are evaluated before sampling
	Trial                           // the synthetic steps on which a method is tried when its recipe is read
	World                           // what is random in the worlds of episodes
	Place                           // points in the space of settings that a curriculum's teacher draws
	Fit                             // where the fits of such a teacher begin
	Contest                         // problems on which the policy and the best one so far are compared
	Judge                           // answers that a judge writes
	Branch                          // completions that go on from a fork of a tree
	Made                            // texts that a model writes for rows
	Rows                            // which made rows a step draws
	Propose                         // problems that the policy writes
	Player                          // what players without a model do in the seats of games
	Opponent                        // who plays a seat of a problem's games
	FreshPass                       // completions by which a curriculum sorts problems
	Restart                         // turns of a completion whose context began anew
	Entries                         // which entries of a list a second chance shows
)

// Stream is the stream of a purpose in a stage of a run, counted from 0; [At]
// takes it with the run's seed and an index.
func Stream(p Purpose, stage int) uint64 { return uint64(p)<<32 | uint64(stage) }
