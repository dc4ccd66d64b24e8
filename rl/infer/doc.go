// Package infer has the commands that ask a model something: sample continues
// prompts, score computes the log-probs of given tokens, tokens shows how text is
// read. Input and output are JSON lines.
//
//	{"prompt":...} or {"ids":...} ── Sample ──> {"ids","text","logprobs","stop"}
//	{"text":...} or {"ids":...}   ── Score ───> {"ids","logprobs","entropy","mean_logsoftmax"}
//	{"text":...}                  ── Tokens ──> {"ids","decoded"}
//
// Log-probs and entropies are in nats, of logits divided by the temperature. A line
// that cannot be read is an error of lines.ErrInput that names file and line.
//
// Functions may be called from several goroutines, each with a model of its own.
package infer
