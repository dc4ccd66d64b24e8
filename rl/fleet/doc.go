// Package fleet lets workers draw and judge the completions of a run. A completion is a function of
// weights, prompt, random numbers and numerics, so where it is computed changes no byte
// of the run, and a worker's answer can be proved right or wrong.
//
//	requests ── cut ──> items ── Carrier ──> workers: Fetch weights, Sample
//	    ^                                        │
//	segments <── table: first right result <── check <── results
//
// # Rooms
//
// A [Fleet] is the sampler over three values, each with a file, none with a lock:
//
//	ledger      the announced weights, what is handed out by them, and what came of it
//	dispatcher  how large items are, when they are offered again, how long a silence is usual
//	trust       who is refused, how each worker computes, what of its answers nobody checked
//
// The ledger and trust compute nothing and talk to nobody. The dispatcher alone has the carrier
// and a clock. What needs the trainer's device, drawing a canary, a check or an item that nobody
// answers, is the Fleet's.
//
// # Items
//
// An [Item] is everything that its completions depend on and nothing else; its id is the
// SHA-256 of its encoding. A [Result] names the item it answers. The trainer keeps a table
// from id to the first right result, so it does not matter how often an item is offered,
// to whom, or in what order results come.
//
// # Checks
//
// How a worker computes is found by a canary, an item of which the trainer knows the answer:
// each worker gets one when it joins, when it joins again, and every 16 policies. Where all
// bits are equal, mode [Exact] uses its results as they are. A share of the items is
// checked, chosen by a keyed hash when the result is there: a worker cannot tell which.
// Where the tokens are equal and log-probs nearly, as on a device of another kind, and for
// all workers in mode [Draft], the ids alone are used, as drafts: the trainer checks every
// draw, replaces the first that is another and samples the rest. The run then has the bytes
// of one machine whatever the workers are. A worker whose tokens differ has other weights or
// does not work, and is refused. One of another numerics version, as with matrix cores, differs
// without being wrong: whoever opens workers or lets them in refuses it before that, with the
// reason.
//
// A worker whose result is wrong is refused: its results are dropped, and the carrier gives
// it nothing more. What it answered before and nobody checked is checked now if the policy
// still has those weights. Otherwise, or where the run has used a wrong one, Sample fails
// with a [rollout.LateError], and the run goes back to before it. [Dispute] has all that is
// needed to draw the item again.
//
// # Verdicts
//
// In mode Exact workers also judge by the verifiers that run programs, see package verdict.
// They answer what is settled; the rest the trainer judges by its own limits. It judges
// beside them, from the last item on, so that nobody is waited for. A share of the items is
// judged again here, by the trainer's own limits, and its verdicts are used. A worker whose
// verdicts differ at three items, where this machine comes to its own again in new
// interpreters, is refused as one that draws wrongly, and the run looks back in the same
// way. A single one may be chance, as of addresses, and is told. Reasons are not compared:
// what a program says as it fails may have addresses of its process. Those of items that are
// not checked are the worker's.
//
// # Waiting
//
// Nobody waits for ever. When no result comes for a while, all open items are offered
// again; the third time the trainer computes them itself. Times decide who computes what
// and never what comes out. Wall clocks of different machines are not compared.
//
// With a lag the run asks for completions before it needs them: Begin offers the items, and the
// Sample that follows takes what has come. In between, the weights stay what they are, so checks
// and a trainer that computes items itself are the same with and without.
//
// Where the run takes groups as they come, Pick gives out what there is, as soon as there is
// enough. What is still open when the weights change is offered again by the new ones, and the
// answer that comes first is used: also one by old weights, as a worker goes on with what it has
// in its hands. The trainer has old weights no more, so such an answer is used in mode Exact only,
// of workers whose bits are equal. What the key chooses for a check is drawn here while the
// weights are there, and a late answer is compared with that; where it is wrong, the run goes back
// to before the first answer of that worker that nobody checked.
// So is the canary, once a worker has answered one too late, where it comes within 16 policies:
// a worker that is slower yet gets no work.
//
// # Carriers
//
// A carrier moves encoded items, results and weights: it has a [TrainerSide] and a
// [WorkerSide]. [Memory] does so within a process.
// The package knows no network, no files and no model: what arrives is bounded, decoded
// and checked here, and a malformed result is dropped and counted.
//
// # Threads
//
// A Fleet belongs to the goroutine of its run, and so do its three values; one more goroutine
// hands on what the carrier brings. [Work] runs in one of its own for each worker. A carrier is
// used by all of them.
package fleet
