// Package infer has the commands that put questions to a model: sample continues prompts, score
// computes the log-probs of given tokens, tokens shows how text becomes tokens. Input and output
// are JSON lines.
//
//	{"prompt":...}, {"messages":...} or {"ids":...} ── Sample ──> {"ids","text","logprobs","stop"}
//	{"text":...}, {"messages":...} or {"ids":...}   ── Score ───> {"ids","logprobs","entropy","mean_logsoftmax"}
//	the same, of a model with a head                ── ScoreHead ─> {"ids","scores"}
//	{"text":...}                                    ── Tokens ──> {"ids","decoded"}
//
// Messages are rendered with the model's chat template (package chat). Sample continues where the
// assistant speaks; Score reads a whole conversation as training would. After messages, a
// completion also ends where the template ends a turn.
//
// Log-probs and entropies are in nats, of logits divided by the temperature. A line
// that cannot be read is an error of lines.ErrInput that names file and line.
//
// Functions may be called from several goroutines, each with a model of its own.
package infer
