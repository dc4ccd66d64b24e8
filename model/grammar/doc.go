// Package grammar says which tokens may come next where a text has to have a form: a value
// of a JSON schema, any JSON object, a call of a tool.
//
//	schema ── JSON ──> Form ── New ──> Grammar: a pushdown automaton over bytes
//	                                     │ Start, Next
//	vocabulary ── NewVocabulary ──> trie ── State.Allow ──> a bit for each token
//
// A Grammar is a set of rules, and a rule is a finite automaton over bytes that may call
// others: so a schema may contain itself. What was read so far is a list of stacks, one for
// each reading that is still possible. A token is allowed if all of its bytes can be read. The
// bits of a token are found by walking the trie of the vocabulary, and are kept for each node
// of a rule: only tokens that leave the rule have to be looked at again, with the stack at
// hand. It is the division that xgrammar makes (Dong et al., arXiv 2411.15100) between
// tokens that depend on the context and those that do not.
//
// What has no way to an end is cut out of the automaton, bytes without a token of their own
// included. So there is always a token that is allowed, and whatever follows the bits comes
// to a valid text or to the limit of tokens.
//
// # The schemas
//
// The subset is about that of OpenAI's strict mode
// (https://platform.openai.com/docs/guides/structured-outputs): type, properties, required,
// additionalProperties: false, items, minItems, maxItems, enum, const, anyOf, $ref within the
// schema, pattern (the syntax of Go's regexp, https://golang.org/s/re2syntax), minLength,
// maxLength, format (date, date-time, time, uuid, ipv4), and minimum, maximum and their
// exclusive forms with whole numbers. Any other keyword is an error that names it. Properties
// come in the order of the schema, and those that it does not name are not written. A text
// that is written is always valid; not every valid text can be written: numbers have at most
// 18 digits before and after the point and exponents of two, days of February end at 28,
// and white space is one space, or a line break and up to 32 spaces.
//
// # Units
//
// Bits are words of 32: token id is bit id%32 of word id/32.
//
// # Memory
//
// At most 32,768 states of at most 256 readings are kept, and 16 MiB of bits; they are made
// again after that. A single token that would take more states is an error ([ErrMemory]):
// alternatives that begin alike can have more than there is room for.
//
// # Threads
//
// A Vocabulary does not change. A Grammar and its States may be used by many goroutines,
// which wait for one another.
package grammar
