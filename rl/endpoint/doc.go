// Package endpoint asks models that a server of this machine has, by POST /v1/chat/completions of OpenAI's API.
//
//	panel.Query ── JSON ──> 127.0.0.1:PORT ── JSON ──> judge.Said, or why there is none
//
// It is the only client of a network beside that of workers, and the command line alone hands it to a run. It connects
// to an address of this machine as it stands in a recipe: it looks up no name, follows no redirection and asks no proxy.
//
// # What is read
//
// At most 1 MiB of a reply, of which one choice, its text, why it ended, and the number of its tokens are read; anything
// else is skipped. A status other than 200, an answer that is no text or was ended by something other than itself or
// its length, one that comes too late, and one to another question are errors. A request names itself in X-Request-Id,
// and a server that says the name back, as rlzero serve does in the same header and vLLM in the id of its reply, says
// with it which question it has answered. Status 400, 413 or 422 says that it does not take the question, 429 or 500
// and above that it fails.
//
// # Threads
//
// What [New] returns may be called by several goroutines. A time limit counts while this process runs.
//
// # Source
//
// https://platform.openai.com/docs/api-reference/chat/create has the forms.
package endpoint
