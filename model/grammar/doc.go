// Package grammar says which tokens may come next in a text that has to have a form: a value of a
// JSON schema, any JSON object, a call of a tool.
//
//	schema ── JSON ──> Form ── New ──> Grammar: a pushdown automaton over bytes
//	                                     │ Start, Next
//	vocabulary ── NewVocabulary ──> trie ── State.Allow ──> a bit for each token
//
// A Grammar is a set of rules. A rule is a finite automaton over bytes that may call other rules,
// so a schema may contain itself. A State is a list of stacks, one for each reading of the text
// that is still possible. A token is allowed if all of its bytes can be read. The bits are found by
// walking the trie of the vocabulary, and are kept for each node of a rule. Only tokens that leave
// the rule have to be checked again with the stack at hand. xgrammar makes the same distinction
// between tokens that depend on the context and those that do not (Dong et al., arXiv 2411.15100).
//
// States from which no end can be reached are removed from the automaton; a byte that is no token
// by itself counts as unreachable. So some token is always allowed, and a completion that follows
// the bits is a valid text or meets the limit of tokens.
//
// # The schemas
//
// The subset is about that of OpenAI's strict mode
// (https://platform.openai.com/docs/guides/structured-outputs): type, properties, required,
// additionalProperties: false, items, minItems, maxItems, enum, const, anyOf, $ref within the
// schema, pattern (the syntax of Go's regexp, https://golang.org/s/re2syntax), minLength,
// maxLength, format (date, date-time, time, uuid, ipv4), and minimum, maximum and their exclusive
// forms with whole numbers. Any other keyword is an error that names it. Properties come in the
// order of the schema; those that it does not name are not written. Every text that the grammar
// allows is valid, but not every valid text is allowed: numbers have at most 18 digits before and
// after the point and exponents of two digits, February ends at day 28, and white space is one
// space, or a line break and up to 32 spaces.
//
// # Units
//
// Bits are words of 32: token id is bit id%32 of word id/32.
//
// # Memory
//
// At most 32,768 states of at most 256 readings are kept, and 16 MiB of bits; beyond that they are
// dropped and made again. A single token that would take more states is an error ([ErrMemory]); a
// schema with many alternatives that begin alike can cause it.
//
// # Threads
//
// A Vocabulary does not change. Many goroutines may use a Grammar and its States; they wait for one
// another.
package grammar
