// Package worlds tries whether a world keeps what worlds promise, with players that need no model.
//
//	problems ─> the best player ─┐
//	         ─> random turns ────┼─> episodes ─> Report: what each earns, and faults
//	         ─> attacks ─────────┘
//
// The best player earns 1 in every episode, so that a policy can. Random turns earn what the world works
// out, so that chance is known. Attacks are players that say nothing, the same for ever, or what they
// were told; that claim or forge a win; or whose turns are cut off. None earns more than random turns.
//
// Everything that is said must have tokens in the vocabulary of the task: a reply without tokens would end
// a run.
//
// Of a program of others ([CheckOther]) there are neither such players nor figures: a player that guesses takes
// their place, and the check is about what can be compared: its canary, its episodes side by side, again, and
// copied.
//
// All random numbers are functions of the number of the problem, so that a check finds the same each time.
package worlds
