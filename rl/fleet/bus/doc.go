// Package bus carries items, results and weights between a trainer and workers of other
// machines, over NATS. Only this package and the server below it, natsd, know NATS.
//
//	trainer: Hub ── fleet.Memory ──┐
//	                        requests and replies ── NATS server, embedded or external
//	workers: Work ── fleet.Work ───┘
//
// # The protocol
//
// A worker asks and the hub answers. Requests go to rl.NAME.KEY.VERB, replies to the worker's inbox
// _INBOX_KEY. NAME is the name of the fleet on its server, KEY the worker's public key. The verbs:
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
// On rl.NAME.say the hub tells all workers that the run has ended, again and again until they have
// left or been silent for too long, for 10 s at most.
//
// The server keeps no queue and no other state, since all of it can be made again from the run. A
// server that is killed loses nothing but time. A worker has one item at a time. When its beats
// stop for 6 s, or it asks for another item, the item is offered again. A worker whose connection
// was lost says hello again before its next item, and is given a canary. A lost message is asked
// for again, with growing waits, for ever.
//
// # Keys
//
// Keys are nkeys (Ed25519,
// https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth).
// Beyond loopback the embedded server requires keys and TLS. Its certificate has the trainer's key.
// A worker that was given this key accepts no other certificate, and needs neither an authority nor
// a clock. A worker may publish below rl.NAME.KEY, and read its own inbox and rl.NAME.say; nothing
// else. The hub replies only to the inbox of the worker that asked.
//
// On loopback without keys, every program of the machine may take part, under any name.
//
// # Bounds
//
// The hub takes one result for an item, from the worker that has the item, and no more bytes than
// the item allows. A longer result is cut off, and the fleet refuses the worker. A key has at most
// 8 connections to the embedded server, and a connection at most 16 subscriptions; the server
// refuses more. Package natsd has its other bounds.
//
// A worker accepts from its trainer a spec of at most 256 MiB, weights no larger than its model,
// and items whose results have less than 2 GiB.
//
// # Threads
//
// A Hub belongs to the goroutine of its run as a Fleet does; its replies come from
// goroutines of its own. Work returns when its context ends.
package bus
