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
// [New] renders conversations of a few known words, as a whole and turn by turn, and
// compares them: that tells the token that ends a turn, whether a system message is
// read, and whether a turn stays as it was when the conversation goes on.
// [Format.Rewrites] names what does not hold. Some templates drop the thoughts of
// earlier turns, for example.
//
// # What is learned
//
// The template's own {% generation %} blocks say so where it has them. Else the text of
// the conversation before an answer, with the generation prompt, has to be the begin of
// the text with the answer, and that, up to the token that ends the turn, the begin of
// the whole: what lies between is learned. An answer for which this does not hold is
// read and not learned.
//
// A conversation is tokenised in parts, cut where the assistant begins and ends to
// speak: those are the tokens that a model reads and writes when it is sampled.
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
