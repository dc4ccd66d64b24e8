// Package chat writes conversations as the token ids that a model reads, with the chat
// template of that model.
//
//	messages ─ template ─ text ─ tokenizer ─┬─ Prompt: ids up to where the assistant speaks
//	                                        └─ Lesson: ids of the whole, and which of them are learned
//
// Nothing else in the program renders a template for a model, so that training,
// sampling, scoring and evaluations read the same prompts.
//
// # What a template appends
//
// [New] renders conversations of a few known words, as a whole and turn by turn, and compares the
// results. This shows which token ends a turn, whether a system message is read, and whether a turn
// stays unchanged when the conversation goes on. Some templates drop the thoughts of earlier turns,
// for example; [Format.Rewrites] names what changes.
//
// # What is learned
//
// If the template has {% generation %} blocks, they say what is learned. Otherwise three texts are
// compared: the conversation before an answer, with the generation prompt; the same with the
// answer, up to the token that ends the turn; and the whole conversation. Each has to be the
// beginning of the next. The part that the second adds to the first is learned. An answer for which
// this does not hold is read and not learned.
//
// A conversation is tokenised in parts that begin and end where the assistant begins and ends to
// speak. These are the tokens that a model reads and writes when it is sampled.
//
// # Control tokens
//
// A template puts the text of messages between control tokens such as <|im_end|>. Text
// that contains one would be read as the end of its own turn, and is refused unless
// [Options] allow it.
//
// Units: ids are rows of the embedding; spans are places in the ids, from 0, ends
// excluded. A [Format] is immutable and safe for concurrent use.
package chat
