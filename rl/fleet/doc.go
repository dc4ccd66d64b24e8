// Package fleet lets workers draw and judge the completions of a run. A completion is a function of
// weights, prompt, random numbers and numerics. So no byte of the run depends on where it is
// computed, and a worker's answer can be proved right or wrong.
//
//	requests ── cut ──> items ── Carrier ──> workers: Fetch weights, Sample
//	    ^                                        │
//	segments <── table: first right result <── check <── results
//
// # Rooms
//
// A [Fleet] is a sampler built on three values. Each has a file of its own, and none has a lock:
//
//	ledger      the announced weights, the items that go with them, and what came of each
//	dispatcher  how large items are, when they are offered again, how long a silence is usual
//	trust       who is refused, how each worker computes, which of its answers nobody has checked
//
// Ledger and trust compute nothing and talk to nobody. Only the dispatcher has the carrier and a
// clock. The Fleet does what needs the trainer's device: it draws canaries, checks answers, and
// computes items that nobody answers.
//
// # Items
//
// An [Item] is everything that its completions depend on and nothing else; its id is the
// SHA-256 of its encoding. A [Result] names the item that it answers. The trainer keeps a table
// from id to the first right result. So it does not matter how often an item is offered, to whom,
// or in what order results come.
//
// # Episodes
//
// In a world that is the same wherever this program is, a worker plays whole episodes: it answers an
// item that asks for first turns with all turns, and with what it read between them (ahead.go). The
// trainer plays the episodes itself, from these turns and by its own world. A later turn is an answer
// to the item that asks for it, whose prompt is what the trainer comes to, and is checked as such. So no
// reply, reward or verdict of a world is taken from a worker. One that computes the same bits, and whose
// episode goes on otherwise, ends too early or goes on after its end, is refused. What is missing is
// drawn as usual.
//
// # Checks
//
// A canary shows how a worker computes. It is an item whose answer the trainer knows. Each worker
// gets one when it joins, when it joins again, and every 16 policies.
//
//   - All bits are equal: in mode [Exact] the results of the worker are used as they are. A share of
//     the items is checked. A keyed hash chooses them once the result is there, so a worker cannot
//     tell which.
//   - The tokens are equal and the log-probs nearly so, as on a device of another kind: only the
//     ids are used, as drafts. The same is done with all workers in mode [Draft]. The trainer checks
//     every draw, replaces the first that differs and samples the rest. The run then has the bytes
//     of one machine whatever the workers are.
//   - The tokens differ: the worker has other weights or does not work, and is refused.
//
// A worker with another numerics version, as with matrix cores, differs without being wrong.
// Whoever opens workers or lets them in refuses it before its canary, with the reason.
//
// A worker whose result is wrong is refused: its results are dropped, and the carrier gives
// it nothing more. Its earlier answers that nobody checked are checked now, if the policy
// still has those weights. If it has not, or if the run has used a wrong answer, Sample fails
// with a [rollout.LateError], and the run goes back to a point before that answer. [Dispute] has all
// that is needed to draw the item again.
//
// # Verdicts
//
// In mode Exact workers also run the verifiers that run programs, see package verdict.
// They return only the verdicts that are settled; the trainer finds the others by its own limits.
// Meanwhile it judges items itself, from the last one on, and waits for nobody. It judges a share
// of the workers' items again by its own limits, and uses its own verdicts for them. A worker is
// refused, as one that draws wrongly is, if its verdicts differ at three items where this machine
// reaches its own verdict again in new interpreters. The run then looks back in the same way. A
// single difference may be chance, as when a program prints addresses; it is reported. Reasons are
// not compared, since the message of a failing program may have addresses of its process. For items
// that are not checked the worker's reasons are kept.
//
// # Waiting
//
// Nobody waits for ever. When no result comes for a while, all open items are offered
// again; the third time the trainer computes them itself. Times decide who computes what
// and never what comes out. Wall clocks of different machines are not compared.
//
// With a lag the run asks for completions before it needs them: Begin offers the items, and the
// Sample that follows takes what has come. The weights do not change in between, so checks, and
// items that the trainer computes itself, are the same with a lag and without.
//
// Where the run takes groups as they arrive, Pick returns those that are there, as soon as there
// are enough. When the weights change, open items are offered again with the new ones. A worker
// still finishes the item that it has, and the first answer is used, even if old weights drew it.
// The trainer no longer has old weights, so it uses such an answer only in mode Exact and only of
// workers whose bits are equal. The items that the key chooses for a check are drawn by the trainer
// while it has the weights, and a late answer is compared with that. If it is wrong, the run goes
// back to before the first unchecked answer of that worker. Once a worker has answered a canary too
// late, the trainer answers each canary itself while it has the weights. It can then judge an
// answer that comes up to 16 policies later. A worker that is slower still gets no work.
//
// # Carriers
//
// A carrier moves encoded items, results and weights: it has a [TrainerSide] and a
// [WorkerSide]. [Memory] does so within a process.
// The package knows no network, no files and no model. What arrives is bounded, decoded
// and checked here; a malformed result is dropped and counted.
//
// # Threads
//
// A Fleet belongs to the goroutine of its run, and so do its three values. One more goroutine
// hands on what the carrier brings. [Work] runs in a goroutine of its own for each worker. All of
// them use the carrier.
package fleet
