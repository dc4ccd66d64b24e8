// Package outside has the worlds of others, programs that answer a policy over pipes, and tools of others.
//
//	World.Begin ─> episode ── {"id":"1","op":"step","text":"50"} ──> program's standard input
//	                       <── {"id":"1","messages":[…]} ────────── its standard output
//
// # The protocol
//
// Each side writes one JSON object a line. The first line of the program says what it is:
//
//	{"protocol": 1, "name": "guess", "pure": true, "at_once": 64}
//
// pure says that the same turns after the same beginning are told the same; at_once how many episodes the program
// holds at a time, and further ones get a further process. "rows": true adds that it has problems of its own,
// "judges": true that it can judge an episode that a limit ends, "forks": true that episodes can be copied, which a
// check tries and training has no use for.
//
// A request has an op, and but for rows the id of its episode. An answer has the id of its request. Of one
// episode there is one request at a time; those of different episodes are answered in any order:
//
//	begin  row, chance  an episode of a problem begins; all that is random in it follows from chance, a text
//	step   text, cut    a turn of the policy; cut: a limit of tokens cut it off
//	judge               a limit has ended the episode: its verdict
//	fork   to           a copy of the episode, with the id to; answered with the id alone
//	close               the episode is over; answered with the id, and the rest is not read
//	rows   from         {"rows": […]}: some problems from that number on, and none after the last; without an id
//
// An answer to begin and step has messages (each with a text, and a role, which is user without one, or tool),
// and may have a reward, a state, which is equal where situations are, and facts, numbers by name, of
// which each reply has those that the recipe names, or none. fresh, in an answer to step, has the policy forget all but
// the problem and these messages. A verdict ends the episode: a score from 0 to
// 1, with a reason, or the verdict "not_scored". An error says that the world broke.
//
// A line has at most [MaxLine] bytes and is UTF-8; unknown keys, and keys that are there twice, are refused.
// Each request is answered: a program that owes many answers that nobody waits for, such as those to close, is ended.
// Standard error is the program's log, whose end is shown where the program fails.
//
// [Bridge] is such a program in Python, for the environments of a library.
//
// # Whose fault
//
// A program that dies, or that answers nothing while an episode waits beyond its clock, is ended, with all its
// processes. The next episode gets a new one. Whoever plays tries the turn again in an episode that has
// a process of its own (package rollout), so a turn breaks nobody else's episode, and one that breaks its
// process twice is the policy's mistake. What has no meaning is the program's fault, however often it comes
// ([world.ErrSpoken]).
//
// # What is not pure
//
// Of a program that is not pure a journal keeps each answer. What the journal knows is not asked again; the
// program is told of it once something is asked that the journal does not know, and what it answers then is
// not read. That has a clock of its own ([world.Follower]), so it takes no time from the turn that is asked.
//
// # Servers of tools
//
// A [Server] speaks the Model Context Protocol over the same pipes. Its tools are listed once; a recipe keeps the
// list. Each episode that calls one has a process of its own, which all tools of the server share. The revision of
// 2026-07-28, which has no handshake, is tried first, and then that of 2025-11-25 and older ones. What isError
// marks is the policy's mistake, and so is an error of the protocol that says that a call is wrong; another error
// of the protocol is the server's fault, as long as it does not come again. Where calls have effects, which cannot
// be tried again, every error of the protocol is an answer. Calls that a journal answered are made again in a
// new process before the first that it does not know, but for those with effects. The client offers
// no sampling, no input and no roots.
//
// # Rights
//
// A program runs with the rights of the user. It sees few variables of the environment, and those that are
// named; their values are cut out of what it says. It dies with this process: it has a process group of its
// own, which is killed, its standard input ends, and on Linux the kernel kills it.
//
// # Threads
//
// A [World] is safe for concurrent use, an episode belongs to one goroutine.
package outside
