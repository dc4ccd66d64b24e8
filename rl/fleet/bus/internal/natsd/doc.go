// Package natsd is a small server of the core NATS protocol
// (https://docs.nats.io/reference/reference-protocols/nats-protocol). It carries messages from
// those who publish on a subject to those who subscribe to it, and keeps none.
//
//	connection ── parser ── command ── index: who subscribes ── outbox of each ── connection
//	reading goroutine of the publisher                          writing goroutine of the subscriber
//
// # What it speaks
//
// INFO, CONNECT, PUB, HPUB, SUB, UNSUB, MSG, HMSG, PING, PONG, +OK for those who ask for it, and
// -ERR. Whoever asks that nobody hears is told so (no_responders). Subscriptions may have the
// wildcards * and >. CONNECT comes first. A message has at most 1 MiB, a line 4096 bytes.
//
// Left out, and refused: queue groups, accounts, JWT, passwords, clusters, streams, WebSocket.
//
// # Who comes in
//
// With users, a client signs a nonce by its nkey (Ed25519), and a user may publish and subscribe
// to what it was given, nothing else. Without users everybody may do all. With a TLS
// configuration, connections are encrypted after INFO, as NATS does. A connection from within
// the process has no socket and is not encrypted, and needs a key like any other.
//
// # Bounds
//
// Each client has a goroutine that reads and one that writes, and at most
//
//	10 s    to connect, for each MiB that it is sent, and until it is asked whether it is there
//	30 s    of silence, though asked twice
//	64 MiB  that wait to be sent to it, 32 of them while the others are written
//
// and is cut off beyond. So a slow or stuck client holds up nobody. The exception is a
// connection from within the process: publishers wait for it instead, so that a flood makes the
// process slower than it would be, and does not cut it off. It must not stop reading.
//
// A client that breaks the protocol is told why by -ERR, and closed. What is not allowed, and a
// subject that is none, is told and nothing else.
//
// # Threads
//
// All functions may be called at any time by any goroutine. Messages of one client to another
// arrive in order.
package natsd
