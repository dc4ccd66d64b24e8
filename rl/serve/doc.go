// Package serve answers the HTTP requests of OpenAI's and Anthropic's clients with a model of rlzero.
//
//	body ── wire.read ──> query ── prepare ──> token ids ── draw ──> events ── telling ──> parts ── wire.whole or wire.stream ──> answer
//	                                                         │
//	                                             sample.Engine: all requests advance together
//
// A wire format is a decoder, which makes a query of a body, and an encoder, which writes parts of an
// answer; what lies between knows none of them. There are four: completions and chats (openai.go,
// chunks.go), responses (responses.go) and messages (messages.go). /v1/embeddings draws nothing: the
// engine tells the hidden states of a prompt (embed.go).
//
// An answer is a function of the model, the request and its seed. It has the same bytes, except for
// the time in "created", whatever else the server does. The completions are those of rlzero sample
// and of a training rollout with the same seed and stream. Choice i of an answer draws from stream
// draw_stream + i. A request without a seed gets one, which the answer names. The events of each
// choice are streamed in order; how choices alternate, and how many events are written at once,
// depends on the load (streamPace).
//
// Nothing in a request is ignored. A key is obeyed or refused, and the refusal names it; a key
// whose value changes nothing is accepted. New keys are rows of the tables in wire.go, for all
// formats, or in the file of a format, with the functions that read them.
//
// An answer that has to follow a form (response_format, or tools that have to be called) is drawn
// under the guide of a grammar (model/grammar). With both response_format and tools, an answer may
// have either form; a strict tool is then refused if a text of the format could look like a call of
// it (Llama 3). /v1/check takes the same keys, since the form decides what is drawn. Its key "chat"
// says that the text was an answer to a chat; such completions end in other tokens and may be
// calls.
//
// Calls of tools are found in the text by the family of the chat template ([chat.Calls]); what is
// not exactly a call is text. A stream sends a call when it is complete.
//
// # Units
//
// Log-probs and entropies are in nats. They are those of the whole distribution at the
// temperature, as in training, and of the unscaled one at temperature 0 or with
// logprobs_at 1. Offsets of text are in characters. Ids are rows of the embedding, from 0.
//
// # Threads
//
// A Server's handler may be called by many goroutines. The engine calls back from one goroutine for
// all requests (feed), which never waits for a client. When the engine was idle, it waits a moment
// before it begins, so that requests that come together are drawn together (gather).
//
// # Sources
//
// The forms are those of https://platform.openai.com/docs/api-reference, of
// https://docs.anthropic.com/en/api/messages and, for token ids, ignore_eos, prompt_logprobs, /tokenize and /detokenize, of
// https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
package serve
