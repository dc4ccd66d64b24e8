package recipe

import (
	"slices"
	"strings"
	"testing"
)

// TestExpectations: what is expected names a metric, a recipe of the program that is not the recipe
// itself, and a side.
func TestExpectations(t *testing.T) {
	for _, c := range []struct{ table, want string }{
		{`metric = "eval/pass@1"\nthan = "countdown-tiny"\ndirection = "lower"`, ""},
		{`metric = "policy/entropy"\nthan = "raft; stage.rl.steps=3"`, ""},
		{`metric = "my/size_spread"\nthan = "raft"`, ""},
		{`metric = "eval/pas@1"\nthan = "raft"`, `expect.0.metric = "eval/pas@1" is not a metric; did you mean eval/pass@K?`},
		{`metric = "my/none"\nthan = "raft"`, `expect.0.metric = "my/none" is no metric of this recipe`},
		{`metric = "eval/pass@1"\nthan = "raftt"`, `expect.0.than = "raftt" is not a recipe of the program; did you mean raft?`},
		{`metric = "eval/pass@1"\nthan = "r"`, `expect.0.than = "r" is not a recipe of the program`},
		{`metric = "eval/pass@1"\nthan = "dump"`, `expect.0.than = "dump" is the recipe itself`},
		{`metric = "eval/pass@1"\nthan = "dump; stage.rl.curriculum.weight=1"`, ""},
		{`metric = "eval/pass@1"\nthan = "start"`, ""},
		{`metric = "eval/pass@1"\nthan = 'dump; stage.rl.reward="half = task/2; half"'`, ""},
		{`metric = "eval/pass@1"\nthan = 'dump; stage.rl.reward="half = task/2; half'`, "expect.0.than: the quote \" in column 23 of"},
		{`metric = "eval/pass@1"\nthan = "raft"\nstart = "own"`, ""},
		{`metric = "eval/pass@1"\nthan = "start"\nstart = "own"`, `expect.0.start = "own" does not go with than = "start"`},
		{`metric = "eval/pass@1"\nthan = "raft"\nstart = "owm"`, `expect.0.start = "owm"`},
		{`metric = "eval/pass@1"`, "has no control"},
		{`than = "raft"`, "has no metric"},
		{`metric = "eval/pass@1"\nthan = "raft"\ndirection = "up"`, `expect.0.direction = "up"`},
		{`metric = "eval/pass@1"\nthan = "raft"\nmargin = 3`, "margin"},
	} {
		text := `base = "chain-sum-tiny"
name = "dump"
[[stage]]
name = "rl"
algorithm = {preset = "grpo", metrics = {"my/size_spread" = "step_std(reward)"}}
[[expect]]
` + strings.ReplaceAll(c.table, `\n`, "\n")
		_, err := Parse("r.toml", text, nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.table, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "r.toml:")):
			t.Errorf("%s: %v, want %q", c.table, err, c.want)
		}
	}
}

// TestSplitSets: semicolons take changes apart unless they stand between quotes.
func TestSplitSets(t *testing.T) {
	for text, want := range map[string][]string{
		"raft":                          {"raft"},
		" raft ;; a.b=1 ; ":             {"raft", "a.b=1"},
		`raft; a="x = 1; x"; b=2`:       {"raft", `a="x = 1; x"`, "b=2"},
		`raft; a='x = "1; 2"; x'; b=2`:  {"raft", `a='x = "1; 2"; x'`, "b=2"},
		`raft; a="x \"; y"; b='\'; c=3`: {"raft", `a="x \"; y"`, `b='\'`, "c=3"},
		`it's.toml; a={b = "1; 2"}`:     {"it's.toml", `a={b = "1; 2"}`},
		`raft; a="""x; "y"; z"""; b=1`:  {"raft", `a="""x; "y"; z"""`, "b=1"},
	} {
		source, sets, err := SplitSets(text)
		if got := append([]string{source}, sets...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, _, err := SplitSets(`räft; a='b"; c`); err == nil || !strings.Contains(err.Error(), "the quote ' in column 9 of") {
		t.Errorf("an open quote: %v", err)
	}
}

// FuzzSplitSets: what was taken apart and is put together again comes apart as before.
func FuzzSplitSets(f *testing.F) {
	for _, text := range []string{"raft", `a; b="c; d"; e='f;'`, `a; b="\";"; c`, "a; '", `a;"""b;"""`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, sets, err := SplitSets(text)
		if err != nil {
			return
		}
		again, more, err := SplitSets(strings.Join(append([]string{source}, sets...), ";"))
		if err != nil || again != source || !slices.Equal(sets, more) {
			t.Errorf("%q: %q %q, then %q %q, %v", text, source, sets, again, more, err)
		}
	})
}

// TestHash: what a recipe computes tells hashes apart, and what people read does not.
func TestHash(t *testing.T) {
	of := func(sets ...string) string {
		r, err := Load("raft", sets)
		if err != nil {
			t.Fatal(err)
		}
		return r.Hash()
	}
	if of() != of("about=other") || of() != of(`expect=[{metric = "eval/pass@1", than = "rloo"}]`) {
		t.Error("what people read makes another hash")
	}
	if of() == of("stage.rl.algorithm.beta=0.002") || of() == of("seed=2") {
		t.Error("another method has the same hash")
	}
}
