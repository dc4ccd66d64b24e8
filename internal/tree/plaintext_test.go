package tree

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// idioms are phrases that a reader has to guess at. They may not stand in what a
// user reads: strings of the program, documents, recipes. A phrase that puzzled a
// reader becomes a row here, with what to write in its place.
var idioms = []struct {
	pattern *regexp.Regexp
	write   string
}{
	{regexp.MustCompile(`everything is safe|\bonce more to\b`), "say what happens next, and what to press"},
	{regexp.MustCompile(`neither has what is`), "anything computed from it has none either"},
	{regexp.MustCompile(`\bwithout a word\b`), "silently, or without a message"},
	{regexp.MustCompile(`\bends? (a )?shaders?\b`), "stops a shader"},
	{regexp.MustCompile(`\bfor want of\b`), "it needs, or because it lacks"},
	{regexp.MustCompile(`\bis surplus\b`), "is not part of, or is not expected"},
	{regexp.MustCompile(`\bstands? in the place of\b`), "found this, expected that"},
	{regexp.MustCompile(`\b(begin|begins|beginning|begun) anew\b`), "start over"},
	{regexp.MustCompile(`\blies (still|in two|and not)\b`), "is in"},
	{regexp.MustCompile(`\blikeliest\b`), "most likely"},
	{regexp.MustCompile(`\bwhosoever\b|\bwhatsoever\b|\bheretofore\b|\bthereof\b|\bperchance\b`), "a word in use"},
	{regexp.MustCompile(`\b(that|which) (is|are) none\b`), "say what it is"},
	{regexp.MustCompile(`\bonce more is (said|done)\b`), "when the conversation goes on"},
	{regexp.MustCompile(`\b(stands?|stood) behind --|\b(is|comes?|goes|go) (more |on )?behind (it|them|the)\b`), "after it"},
	{regexp.MustCompile(`\beach for itself\b`), "separately"},
	{regexp.MustCompile(`\bno key any more\b`), "is no longer a key"},
	{regexp.MustCompile(`\b(can|could) be had (without|for)\b`), "can be earned without, or with"},
	{regexp.MustCompile(`\b(is|are) (another|others) than\b`), "differs from"},
	{regexp.MustCompile(`\bhave not the same\b`), "differ in"},
	{regexp.MustCompile(`\bless needs less\b|\bfrom until x\b`), "a whole sentence"},
	{regexp.MustCompile(`\baccepted (is|are)\b`), "; accepted: what is accepted"},
	{regexp.MustCompile(`\b(seed of everything|metrics? of one's own)\b`), "seed of all random numbers; your own metrics"},
	{regexp.MustCompile(`\b\d+ \w+\(s\)|%d \w+\(s\)`), "plain.Count: 1 problem, 2 problems"},
}

func TestPlainText(t *testing.T) {
	check := func(where, text string) {
		for _, i := range idioms {
			if found := i.pattern.FindString(text); found != "" {
				t.Errorf("%s: %q puzzles readers; write: %s", where, found, i.write)
			}
		}
	}
	for _, f := range parsedFiles(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					check(position(lit), text)
				}
			}
			return true
		})
	}
	err := eachFile(func(name string) error {
		if ext := path.Ext(name); ext != ".md" && ext != ".toml" {
			return nil
		}
		text, err := os.ReadFile(filepath.FromSlash(name))
		check(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestIdioms: the rows find such phrases, and plain text passes.
func TestIdioms(t *testing.T) {
	for text, want := range map[string]bool{
		"stopping as soon as everything is safe; once more to stop at once": true,
		"it has no value, and neither has what is made of it":               true,
		"this device ends shaders after 65,535 iterations":                  true,
		"has 5 device(s)": true,
		"the template changes the turn once more is said":         true,
		"kl_coef is no key any more":                              true,
		"less needs less memory and changes no result":            true,
		"the completion has 9 bytes: accepted are at most 8":      true,
		"base and new have not the same seeds":                    true,
		"the model was not found; accepted: a folder":             false,
		"the last total is 8; the prompt comes before the answer": false,
	} {
		found := false
		for _, i := range idioms {
			found = found || i.pattern.MatchString(text)
		}
		if found != want {
			t.Errorf("%q: found %v, want %v", text, found, want)
		}
	}
}
