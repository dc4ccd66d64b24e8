package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "composition",
		Summary: "apply made-up functions to strings, each to the result of the one before",
		Doc: `composition: apply functions to strings of letters, the innermost first, and write every result.

    .CAeabh:               hbae=icbf=icbf

A capital is a function, and a dot leaves the string as it is: it fills problems of a smaller
depth up to the same length. Nothing says what a capital means.

` + describeFunctions() + `
A problem has min_depth to max_depth functions, all depths equally likely. One problem in 16 is
held out, chosen by the CRC-32 of its text.

Right: the completion ends, and the string after its last "=" is the right one. The results
before it are not checked.

Demonstrations: the innermost shown_depth functions are applied correctly. In place of each of
the others a random one is drawn, so that they are right only by chance.

` + describeSettings(defaultComposition()),
		New: func() Task { return defaultComposition() },
	}, verify.Entry{
		Summary: "the task composition: the right string at the end",
		Doc: `task:composition: right when the completion's last result is the row's answer.

The last result is what follows the last "=", or the announced answer where there is
no "=".

Option extract: as for the verifier exact; default "announced".
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			exact, err := taskVerifier("exact", options, map[string]any{"normalize": "strip", "extract": "announced"})
			return compositionVerifier{exact}, err
		},
	})
}

// stringFunctions are the functions, each on a string of at least one letter, which stays as
// long as it is.
var stringFunctions = []struct {
	letter  byte
	meaning string
	apply   func(s []byte)
}{
	{'A', "the string backwards", func(s []byte) { slices.Reverse(s) }},
	{'B', "the first letter goes to the end", func(s []byte) {
		first := s[0]
		copy(s, s[1:])
		s[len(s)-1] = first
	}},
	{'C', "each letter the next one, j becomes a", func(s []byte) {
		for i := range s {
			s[i] = 'a' + (s[i]-'a'+1)%10
		}
	}},
	{'D', "a becomes j, b becomes i and so on", func(s []byte) {
		for i := range s {
			s[i] = 'j' - (s[i] - 'a')
		}
	}},
	{'E', "every letter as the first", func(s []byte) {
		for i := range s {
			s[i] = s[0]
		}
	}},
}

// alphabet are the letters of the strings.
const alphabet = "abcdefghij"

// identity fills problems of a smaller depth.
const identity = '.'

func describeFunctions() string {
	var out strings.Builder
	for _, f := range stringFunctions {
		fmt.Fprintf(&out, "    %c  %s\n", f.letter, f.meaning)
	}
	return out.String()
}

func defaultComposition() *composition {
	return &composition{Letters: 4, MinDepth: 1, MaxDepth: 3, ShownDepth: 1}
}

// composition is the task "composition".
type composition struct {
	Letters    int `toml:"letters" range:"[1,16]" about:"length of the strings"`
	MinDepth   int `toml:"min_depth" range:"[1,8]" about:"smallest number of functions"`
	MaxDepth   int `toml:"max_depth" range:"[1,8]" about:"largest number of functions; at least min_depth"`
	ShownDepth int `toml:"shown_depth" range:"[0,8]" about:"how many functions a demonstration applies correctly, from the innermost on"`
}

var _ Demonstrator = (*composition)(nil)

// Name implements [Task].
func (c *composition) Name() string { return "composition" }

// Validate implements [Task].
func (c *composition) Validate() error {
	if err := settings.Check(c); err != nil {
		return err
	}
	if c.MaxDepth < c.MinDepth {
		return outOfRange("max_depth", c.MaxDepth, fmt.Sprintf("at least min_depth = %d", c.MinDepth))
	}
	return probe(c.attempt)
}

// Difficulty implements [Task].
func (c *composition) Difficulty() string {
	return fmt.Sprintf("%d to %d functions of %d, on %d letters; demonstrations show %d of them as they are",
		c.MinDepth, c.MaxDepth, len(stringFunctions), c.Letters, c.ShownDepth)
}

// Draw implements [Task]. The row's answer is the last result, its metadata has the depth.
func (c *composition) Draw(r *random.Rand, split Split) verify.Problem {
	return draw(r, split, c.attempt)
}

func (c *composition) attempt(r *random.Rand) (verify.Problem, bool) {
	depth := r.Between(c.MinDepth, c.MaxDepth)
	problem := []byte(strings.Repeat(string(identity), c.MaxDepth-depth))
	for range depth {
		problem = append(problem, someFunction(r))
	}
	for range c.Letters {
		problem = append(problem, byte('a'+r.Between(0, 9)))
	}
	results := apply(string(problem[:c.MaxDepth]), string(problem[c.MaxDepth:]))
	return verify.Problem{
		ID:       string(problem),
		Question: string(problem) + ":",
		Answer:   results[len(results)-1],
		Metadata: metadata(map[string]any{"depth": depth, "functions": string(problem[:c.MaxDepth]), "letters": string(problem[c.MaxDepth:])}),
	}, true
}

func someFunction(r *random.Rand) byte {
	return stringFunctions[r.Between(0, len(stringFunctions)-1)].letter
}

// apply lists the results of functions, the last of which is applied first.
func apply(functions, letters string) []string {
	s := []byte(letters)
	var results []string
	for i := len(functions) - 1; i >= 0; i-- {
		for _, f := range stringFunctions {
			if f.letter == functions[i] {
				f.apply(s)
			}
		}
		results = append(results, string(s))
	}
	return results
}

// Demonstration implements [Demonstrator].
func (c *composition) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	var functions, letters string
	for key, value := range map[string]*string{"functions": &functions, "letters": &letters} {
		if found, err := row.Field(key, value); !found || err != nil || *value == "" {
			return "", fmt.Errorf("task composition: row %q does not belong to this task: it has no %s", row.ID, key)
		}
	}
	shown := []byte(functions)
	for i := range len(shown) - min(c.ShownDepth, len(shown)) {
		if shown[i] != identity {
			shown[i] = someFunction(r)
		}
	}
	return strings.Join(apply(string(shown), letters), "="), nil
}

// Verify implements [Task].
func (c *composition) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return verify.Reject(completion, lastResultRule, "the completion does not end within its length limit")
	}
	return judgeLastResult(row, completion)
}

const lastResultRule = "last_result"

// judgeLastResult judges a completion by what follows its last "=".
func judgeLastResult(row verify.Problem, completion string) verify.Verdict {
	last := completion[strings.LastIndex(completion, "=")+1:]
	if last != row.Answer {
		return verify.Reject(last, lastResultRule, "the last result is not %s", row.Answer)
	}
	return verify.Accept(last, lastResultRule, "the last result is %s", row.Answer)
}

// Valid implements [Demonstrator]: a result for each place of a function, each as long as the
// string. What the functions are is no part of the form.
func (c *composition) Valid(_ verify.Problem, completion string, ended bool) bool {
	results := strings.Split(completion, "=")
	return ended && len(results) == c.MaxDepth && !slices.ContainsFunc(results, func(s string) bool {
		return len(s) != c.Letters || strings.Trim(s, alphabet) != ""
	})
}

// Vocabulary implements [Demonstrator].
func (c *composition) Vocabulary() []string {
	tokens := []string{"<pad>", "<eos>", "=", ":", string(identity)}
	for _, f := range stringFunctions {
		tokens = append(tokens, string(f.letter))
	}
	return append(tokens, strings.Split(alphabet, "")...)
}

// PromptTokens implements [Demonstrator].
func (c *composition) PromptTokens() int { return c.MaxDepth + c.Letters + 1 }

// CompletionTokens implements [Demonstrator].
func (c *composition) CompletionTokens() int { return c.MaxDepth * (c.Letters + 1) }

// compositionVerifier is "task:composition".
type compositionVerifier struct{ exact verify.Verifier }

// Check implements [verify.Checker].
func (v compositionVerifier) Check(row verify.Problem) error { return verify.Check(v.exact, row) }

// Verify implements [verify.Verifier].
func (v compositionVerifier) Verify(row verify.Problem, completion string) verify.Verdict {
	if err := v.Check(row); err != nil {
		return verify.Abstain("%v", err)
	}
	if strings.Contains(completion, "=") {
		return judgeLastResult(row, strings.TrimSpace(completion))
	}
	return v.exact.Verify(row, completion)
}
