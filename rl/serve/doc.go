// Package serve answers the HTTP requests that OpenAI's clients send, with a model of
// rlzero.
//
//	body ── readQuery ──> query ── readPrompts ──> token ids ── draw ──> events ──> answer, or events of a stream
//	                                                             │
//	                                                  sample.Engine: all requests advance together
//
// An answer is a function of the model, the request and its seed: it has the same bytes,
// up to the time in "created", whatever else the server does, and the completions are
// those of rlzero sample and of a training rollout with the same seed and stream. Choice i
// of an answer draws from stream draw_stream + i. A request without a seed gets one, which
// the answer tells. The events of a stream are those of the choices, each in order; how
// they alternate, and how many are written at once, depends on the load (streamPace).
//
// Nothing in a request is ignored. A key is followed or refused, and the refusal names it;
// a key whose value changes nothing passes. New keys are rows of the tables in query.go,
// with what reads them.
//
// An answer that has to follow a form (response_format, tools that have to be called) is
// drawn under the guide of a grammar (model/grammar); with a response_format beside tools the
// form is either, and what is strict about a tool is refused where a text of the form could look
// like its call (Llama 3). /v1/check takes the same keys, as the form decides what is drawn; "chat" says
// that it was a chat, whose completions end in other tokens and may be calls. Calls of tools are taken out of the
// text by the family of the chat template ([chat.Calls]); what is no call to the letter is
// text. A stream tells a call when it is whole.
//
// # Units
//
// Log-probs and entropies are in nats. They are those of the whole distribution at the
// temperature, as in training, and of the unscaled one at temperature 0 or with
// logprobs_at 1. Offsets of text are in characters. Ids are rows of the embedding, from 0.
//
// # Threads
//
// A Server's handler may be called by many goroutines. The engine calls back from one
// goroutine for all requests (feed), which never waits for a client. Before it begins on work
// after there was none, it waits for requests that come together (gather).
//
// # Sources
//
// The forms are those of https://platform.openai.com/docs/api-reference and, for token
// ids, prompt_logprobs, /tokenize and /detokenize, of
// https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
package serve
