// Package bus carries items, results and weights between a trainer and workers of other
// machines, over NATS. It is the only package that knows NATS.
//
//	trainer: Hub ── fleet.Memory ──┐
//	                        requests and replies ── NATS server, embedded or external
//	workers: Work ── fleet.Work ───┘
//
// # The protocol
//
// A worker asks and the hub answers: requests go to rl.NAME.KEY.VERB, replies to the
// inbox _INBOX_KEY of the worker. NAME is that of the fleet on its server and KEY the
// worker's public key. The verbs:
//
//	hello  who the worker is; the reply names the run's spec, or says why the worker is refused
//	take   waits for an item
//	part   a part of a result
//	get    a part of weights, of the spec or of a delta, by digest
//	delta  the digest of a delta from the weights that the worker had last, see package delta
//	beat   every 2 s, without a reply
//	leave  the worker goes and gives its item back; without a reply
//	who    the workers of the fleet
//
// On rl.NAME.say the hub says to all that the run has ended.
//
// No queue and nothing else is kept at the server, as all of it can be made again from
// the run: a server that is killed loses nothing but time. A worker has one item at a
// time. When its beats stop for 6 s, or it asks for another item, the item is offered
// again. A worker whose connection was lost says hello again before its next item, and is
// given a canary. A message that gets lost is asked for again, with growing waits, for ever.
//
// # Keys
//
// Keys are nkeys (Ed25519, https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth).
// Beyond loopback the embedded server listens with keys and TLS alone. Its certificate
// has the trainer's key, and a worker that was given that key accepts no other
// certificate: no authority and no clock is asked. A worker may publish below
// rl.NAME.KEY and read its own inbox and what is said to all; nothing else. The hub
// answers into no other inbox than that of who asks.
//
// On loopback without keys every program of the machine may take part, in any name.
//
// # Bounds
//
// A result is taken from a worker that has an item, once, and no longer than the item
// allows. Longer ones are cut off, and the fleet refuses the worker. A key has at most 8
// connections to the embedded server, and a connection at most 16 subscriptions; what is
// above is closed within 2 s.
//
// A worker takes from its trainer a spec of at most 256 MiB, weights of at most what its
// model has, and items whose results have less than 2 GiB.
//
// # Threads
//
// A Hub belongs to the goroutine of its run as a Fleet does; its replies come from
// goroutines of its own. Work returns when its context ends.
package bus
