// Package web listens on an address for people and programs on this machine, and refuses everybody
// else. Both the pages that rlzero shows in a browser and its API use it.
//
//	Listen, ListenAPI ──> Server ── Serve(ctx, handler) ──> requests that passed the door
//
// # What a page refuses
//
//	a Host that is not the server's own            403: DNS rebinding ends here
//	an Origin that is not the server's own         403: another page's script
//	a method other than GET and HEAD               405: everything is read only
//	no token, where the address is not loopback    401
//
// The default address is loopback. An address beyond it needs a random token, which is part of the
// printed link. A browser that follows the link keeps the token in a cookie that scripts cannot
// read. A page has no TLS: on a network that others can listen to, use an SSH tunnel.
//
// # What the API refuses
//
//	a Host that is not the server's own or named   403
//	an Origin that is not named                    403: no page calls it by itself
//	no token in "Authorization: Bearer TOKEN"      401, beyond loopback or where one is given
//
// Every reply carries a Content-Security-Policy under which the browser loads nothing
// from elsewhere, and headers that forbid framing and sniffing.
//
// A Server may be used by several goroutines. Serve returns when its context ends.
package web
