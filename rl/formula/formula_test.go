package formula

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// data is a small step: two groups, of two completions and of one.
type data struct {
	group  []int
	tokens [][]int
	own    []bool
	facts  []Fact
	cols   map[string]Column
}

// small has completions of 2, 1 and 2 tokens; the last token is a tool's.
func small() data {
	d := data{group: []int{7, 7, 3}, tokens: [][]int{{2}, {1}, {1, 1}}, own: []bool{true, true, true, true, false}, cols: map[string]Column{}}
	d.add(Fact{Name: "reward", Level: Completion}, 1, 0, 0.5)
	d.add(Fact{Name: "A", Level: Completion}, 0.7, -0.7, 0)
	d.add(Fact{Name: "difficulty", Level: Group}, 2, 5)
	d.add(Fact{Name: "step", Level: Run}, 3)
	d.add(Fact{Name: "turn_reward", Level: Segment}, 1, 2, 3, 5)
	d.add(Fact{Name: "logp", Level: Token, Now: true, Slope: true}, -1.2, -0.3, -0.9, -2, -7)
	d.add(Fact{Name: "entropy", Level: Token, Now: true, Slope: true}, 0.5, 0.25, 1, 0.75, 2)
	d.add(Fact{Name: "old", Level: Token}, -1.1, -0.4, -0.9, -2, -3)
	return d
}

func (d *data) add(f Fact, v ...float64) {
	d.facts = append(d.facts, f)
	d.cols[f.Name] = Column{Level: f.Level, V: v}
}

func (d data) table(t testing.TB) *Table {
	t.Helper()
	f, err := NewFrame(d.group, d.tokens, d.own)
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable(f)
	for name, c := range d.cols {
		if err := table.Add(name, c); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func (d data) compile(t testing.TB, parts map[string]string) *Program {
	t.Helper()
	p, err := Compile(Text{Parts: parts}, d.facts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// column evaluates one formula.
func (d data) column(t testing.TB, text string) Column {
	t.Helper()
	c, err := d.compile(t, map[string]string{"f": text}).On(d.table(t)).Column("f")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// Values counted by hand.
func TestValues(t *testing.T) {
	d := small()
	nan := math.NaN()
	for text, want := range map[string][]float64{
		"group_mean(reward)":                                   {0.5, 0.5},
		"reward - group_mean(reward)":                          {0.5, -0.5, 0},
		"group_others_mean(reward)":                            {0, 1, nan},
		"default(reward - group_others_mean(reward), 0)":       {1, -1, 0},
		"step_sum(reward)":                                     {1.5},
		"prompts_mean(difficulty)":                             {3.5},
		"step_mean(each(difficulty))":                          {3},
		"step_token_mean(reward)":                              {0.625}, // 1, 1, 0, 0.5
		"step_token_count(true)":                               {4},
		"step_token_count(true, own)":                          {4},
		"step_token_count(true, not own)":                      {1},
		"group_token_mean(old)":                                {-0.8, -2}, // -1.1, -0.4, -0.9; a tool wrote -3
		"group_token_mean(reward)":                             {2.0 / 3, 0.5},
		"group_token_std(old)":                                 {math.Sqrt(0.13), 0}, // 0.09, 0.16, 0.01
		"group_token_sum(old, position == 1)":                  {-2, -2},
		"group_token_min(old)":                                 {-1.1, -2},
		"group_token_max(old)":                                 {-0.4, -2},
		"group_token_median(old)":                              {-0.9, -2},
		"group_token_median(old, final)":                       {-0.65, -2},
		"group_token_quantile(old, 0.25)":                      {-1, -2},
		"group_token_quantile(old, difficulty/10)":             {-1.02, -2},
		"group_token_nth(old, 2)":                              {-0.9, nan},
		"group_token_count(old < -1)":                          {1, 1},
		"group_token_count(true, not own)":                     {0, 1},
		"own*(old - group_token_mean(old))":                    {-0.3, 0.4, -0.1, 0, 0},
		"sum(old)":                                             {-1.5, -0.9, -2},
		"sum(old, not own)":                                    {0, 0, -3},
		"mean(turn_reward)":                                    {1, 2, 4},
		"segment_sum(old)":                                     {-1.5, -0.9, -2, 0},
		"count(old < -1)":                                      {1, 0, 1},
		"after(1 + 0*old)":                                     {2, 1, 1, 1, 0},
		"before(position)":                                     {1, 3, 1, 1, 0},
		"discounted(if(final, reward, 0), 0.5)":                {0.5, 1, 0, 0.5, 0},
		"next(position)":                                       {2, 0, 0, 0, 0},
		"previous(position)":                                   {0, 1, 0, 0, 0},
		"shift(position, 1)":                                   {0, 1, 0, 0, 0},
		"shift(position, -1)":                                  {2, 0, 0, 0, 0},
		"shift(position, 5)":                                   {0, 0, 0, 0, 0},
		"running_max(position)":                                {1, 2, 1, 1, 0},
		"running_min(position)":                                {1, 1, 1, 1, 0},
		"deviation(position)":                                  {math.Sqrt2 / 2, 0, 0},
		"quantile(position, 0.25)":                             {1.25, 1, 1},
		"tokens":                                               {2, 1, 1},
		"group_size":                                           {2, 1},
		"token_mean(A)":                                        {0.175}, // 0.7, 0.7, -0.7, 0
		"token_mean(A, A > 0)":                                 {0.7},
		"token_mean(A, A > 1)":                                 {0},
		"seq_mean(A*tokens)":                                   {0.7 / 3},
		"seq_sum(A)":                                           {0.7 / 3},
		"prompt_mean(group_max(A))":                            {0.35},
		"fixed_length(A, 2)":                                   {0.7 / 3 / 2},
		"group_place_sum(old)":                                 {-2, -0.4, -2, -2, 0},
		"group_at(A, reward < 1)":                              {-0.7, 0},
		"group_pairs_log_sigmoid(3*A, reward)":                 {-math.Log1p(math.Exp(-4.2)), nan},
		"group_pairs_log_sigmoid(A, 1)":                        {nan, nan},
		"step_nth(reward, 2)":                                  {0.5},
		"step_nth(reward, 4)":                                  {nan},
		"step_quantile(reward, 0.25)":                          {0.25},
		"group_rank(reward)":                                   {1, 0, 0.5},
		"group_zscore(reward)":                                 {math.Sqrt(0.5), -math.Sqrt(0.5), 0},
		"z(x) = x - group_mean(x); z(reward) + z(2*reward)":    {1.5, -1.5, 0},
		"linear(0, 10, 1, 5)":                                  {5},
		"piecewise(1, 2, 7, 4, 9)":                             {7},
		"pass_at(4, 1, 2)":                                     {0.5},
		"pass_at(4, 2, 4)":                                     {1},
		"mod(7, 4)":                                            {3},
		"if(reward > 2, log(-1), 4)":                           {4, 4, 4},
		"trim(square(old), 1)":                                 {1, 1, 1, 0, 0}, // squares 1.21, 0.16, 0.81, 4
		"token_mean(reward*(1/(position - 1)*(position > 1)))": {0.25},
	} {
		got := d.column(t, text)
		if len(got.V) != len(want) {
			t.Errorf("%s has %v, want %v", text, got.V, want)
			continue
		}
		for i := range want {
			bound := 8 * 0x1p-52 * math.Abs(want[i]) // a few roundings
			if math.IsNaN(want[i]) != math.IsNaN(got.V[i]) || math.Abs(got.V[i]-want[i]) > bound {
				t.Errorf("%s = %v, want %v", text, got.V, want)
				break
			}
		}
	}
}

// What is wrong is told with its place and what to write.
func TestFaults(t *testing.T) {
	d := small()
	for text, want := range map[string]string{
		"token_mean(logp*B)":           "f: column 17: unknown name B",
		"token_mean(lopg)":             "did you mean logp?",
		"tokn_mean(logp)":              "did you mean token_mean?",
		"micro_token_mean(logp)":       "f: column 1: there is no micro_token_mean: a mean over a micro-batch",
		"turns":                        "there is no turns: a completion has one turn",
		"1 +\n  group_mean(logp)":      "line 2, column 3: group_ takes one value for each completion, found one value for each token",
		"step_mean(difficulty)":        "prompts_... to count each prompt once",
		"prompts_mean(reward)":         "write group_mean(...)",
		"batch_mean(reward)":           "column 1: batch_mean does not say over what: write step_mean, over all completions of the step, or update_mean, over those that the update learns from",
		"batch_token_std(logp)":        "write step_token_std, over all completions of the step, or update_token_std",
		"step_token_mean(logp)":        "column 17: step_token_mean is over the step, found a value of an update: write update_token_mean",
		"step_mean(update_mean(A))":    "step_mean is over the step, found a value of an update: write update_mean",
		"sum(reward)":                  "it is one value already",
		"after(reward)":                "takes a value for each token or segment",
		"if(reward, 1, 2)":             "if(condition, x, y) takes a condition here, found a number",
		"1 < 2 < 3":                    "comparisons cannot be chained",
		"reward ** 2":                  "write pow(x, y)",
		"f + 1":                        "f is defined in terms of itself",
		"z(a) = a + 1; z":              "z takes arguments",
		"z(a) = a + 1; z(1, 2)":        "z has 2 arguments; accepted: z(a)",
		"reward = 1; reward":           "reward is a fact",
		"clip(reward, 2, 1)":           "low is above high",
		"reward / 0":                   "division by 0",
		"mean()":                       "mean has 0 arguments; accepted: mean(x[, where])",
		"reward == \"math\"":           "text can only be compared with a fact that is text",
		"discounted(old, logp)":        "takes a constant here",
		strings.Repeat("(", 100):       "nested more than",
		"reward @ 2":                   "is not part of the language",
		"fixed_length(logp, reward)":   "takes one length for the run",
		"1 + ":                         "expected a value (a number, a name, a call or ( )), found the end",
		"\"open":                       "is not closed",
		"jsd(logp, 0.5)":               "there is no jsd: whole distributions are not kept; k1, k2 and k3 judge by the drawn token",
		"batch_place(reward)":          "there is no batch_place: nothing sorts the values of a batch; group_rank orders",
		"aot":                          "there is no aot: nothing sorts the margins",
		"a = b; b = 1; a":              "column 5: b has no value here, since a formula is read from its beginning; move b = ... before this place",
		"1 if reward > 0":              "column 3: if stands before what it chooses from; write if(condition, x, y)",
		"step_quantile(reward, 80)":    "column 23: step_quantile of 80; accepted: from 0, the least, to 1, the greatest, such as 0.8",
		"std(reward)":                  "there is no std: say over what",
		"token_mean(weight*policy)":    "there is no policy: the method has none; write policy",
		"reward − 1":                   `column 8: '−' is not part of the language; write -`,
		"β*reward":                     "write beta",
		"beta*reward":                  "there is no beta: the method has no such number; give it beside the formula",
		"mean(logp - ref_logp)":        "there is no ref_logp: write ref",
		"g(x) = g(x - 1); g(reward)":   "g is defined in terms of itself, and no formula repeats itself",
		"quantile(reward, 0.5)":        "found one value for each completion: say over what: group_quantile",
		"quantile(old, 50)":            "from 0, the least, to 1, the greatest",
		"rae":                          "there is no rae: write preset = \"rae\"",
		"group_quantile(reward, logp)": "takes a constant",
	} {
		_, err := Compile(Text{Parts: map[string]string{"f": text}}, d.facts)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Arithmetic that gives no number is an error at tokens and for the run, with its
// place, and a missing value with a reason above.
func TestNoNumber(t *testing.T) {
	d := small()
	for text, want := range map[string]string{
		"token_mean((old + 0.9)/(old + 0.9))": "f: column 23: / of 0 and 0 is not a number in group 1, completion 2, token 1",
		"(step - 3)/(step - 3)":               "/ of 0 and 0 is not a number",
		"pass_at(1e300, 1e300, 1e300)":        "pass_at of 1e+300 and 1e+300 and 1e+300 is not a number",
		"step_token_mean(log(old))":           "log of -1.1 is not a number in group 1, completion 1, token 1",
	} {
		_, err := d.compile(t, map[string]string{"f": text}).On(d.table(t)).Column("f")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if got := d.column(t, "A/A").Why[2]; got != "/ of 0 and 0 is not a number" {
		t.Errorf("reason %q", got)
	}
	d.cols["reward"] = Column{Level: Completion, V: []float64{1, math.NaN(), 0.5}, Why: map[int]string{1: "the answer is cut off"}}
	if got := d.column(t, "2*reward - group_mean(reward)"); got.V[0] != 1 || got.Why[1] != "the answer is cut off" {
		t.Errorf("%v, reasons %v", got.V, got.Why)
	}
	if got := d.column(t, "step_token_mean(reward)"); got.V[0] != 2.5/3 {
		t.Errorf("mean over tokens of those with a reward is %v", got.V)
	}
	if got := d.column(t, "group_mean(reward, reward > 1)"); got.Why[0] != "group_mean: no value in the group counts" {
		t.Errorf("reasons %v", got.Why)
	}
}

// TestCut: segments begin where they are told to, and at the beginning of each completion;
// tokens, groups and columns stay.
func TestCut(t *testing.T) {
	d := small()
	delete(d.cols, "turn_reward")
	table := d.table(t)
	p := d.compile(t, map[string]string{"f": "segment_sum(old)", "g": "mean(segment_sum(old))", "h": "segment_mean(old) + 0*position"})
	cut, err := table.Cut([]bool{false, true, true, false, false})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{"f": {-1.1, -0.4, -0.9, -2}, "g": {-0.75, -0.9, -2}, "h": {-1.1, -0.4, -0.9, -2, -2}} {
		c, err := p.On(cut).Column(name)
		if err != nil || !slices.Equal(c.V, want) {
			t.Errorf("%s: %v, want %v; error %v", name, c.V, want, err)
		}
	}
	if n := table.Size(Segment); n != 4 {
		t.Errorf("the table that was cut has %d segments now, want 4", n)
	}
	if _, err := d.table(t).Cut([]bool{true}); err == nil {
		t.Error("one value cuts five tokens")
	}
	if _, err := small().table(t).Cut(make([]bool, 5)); err == nil || !strings.Contains(err.Error(), "turn_reward") {
		t.Errorf("a table with a column of segments is cut: %v", err)
	}
	for part, want := range map[string]string{"f": "segment_sum has one value for each segment", "k": ""} {
		all := d.compile(t, map[string]string{"f": "2*segment_sum(old)", "k": "mean(old)"})
		if got := all.OfSegments(part); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
}

// TestConstants: what is a number after all is held against the same rules as one that is written
// out, and costs no operation.
func TestConstants(t *testing.T) {
	d := small()
	compile := func(text string) (*Program, error) {
		return Compile(Text{Parts: map[string]string{"f": text}, Parameters: map[string]float64{"none": 0, "two": 2}}, d.facts)
	}
	for text, want := range map[string]string{
		"reward/none":                        "division by 0",
		"reward/(two - 2)":                   "division by 0",
		"g(x) = reward/x; g(0)":              "division by 0",
		"clip(reward, two, 1)":               "low is above high",
		"linear(0, 1, two + 2, 3)":           "last is before first",
		"group_quantile(reward, two)":        "from 0, the least, to 1",
		"piecewise(0, two, 1, two/2, 2)":     "its bounds have to rise",
		"if(two > 1, reward/none, 0*reward)": "division by 0",
	} {
		if _, err := compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	p, err := compile("reward*(two*two - exp(0)/2)")
	if err != nil {
		t.Fatal(err)
	}
	computed := 0
	for _, used := range p.reach([]string{"f"}) {
		if used {
			computed++
		}
	}
	if c, err := p.On(d.table(t)).Column("f"); err != nil || computed != 3 || c.V[0] != 3.5*d.cols["reward"].V[0] {
		t.Errorf("%v, %v with %d operations; want 3: two operands and their product", c.V, err, computed)
	}
}

// TestRank: the place among the tokens of the completion, counted.
func TestRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	ranked := 0
	for range 50 {
		d := step(rng)
		table := d.table(t)
		p := d.compile(t, map[string]string{"f": "rank(floor(2*old))"})
		c, err := p.On(table).Column("f")
		if err != nil {
			t.Fatal(err)
		}
		for completion := range d.group {
			from, to := table.Tokens(completion)
			for i := from; i < to; i++ {
				if !table.Trained(i) {
					continue
				}
				less, equal, n := 0.0, 0.0, 0.0
				for j := from; j < to; j++ {
					if !table.Trained(j) {
						continue
					}
					n++
					switch x, y := math.Floor(2*d.cols["old"].V[i]), math.Floor(2*d.cols["old"].V[j]); {
					case y < x:
						less++
					case y == x:
						equal++
					}
				}
				want := 0.5
				if n > 1 {
					want = (less + (equal-1)/2) / (n - 1)
					ranked++
				}
				if c.V[i] != want {
					t.Fatalf("token %d of completion %d has rank %v, want %v", i-from, completion, c.V[i], want)
				}
			}
		}
		if local, why := d.compile(t, map[string]string{"f": "token_mean(rank(logp)*logp)"}).Local("f"); !local {
			t.Fatalf("a rank within a completion is not local: %s", why)
		}
	}
	if ranked < 100 {
		t.Errorf("%d tokens were ranked among others", ranked)
	}
}

// TestBare: where a formula needs a fact that may be missing, and where it says what holds then.
func TestBare(t *testing.T) {
	facts := []Fact{{Name: "left", Level: Segment}, {Name: "summary", Level: Segment, Condition: true}, {Name: "own", Level: Completion}}
	for text, want := range map[string]string{
		"own":                                    "",
		"own*left":                               "f: column 4: * needs a value of left",
		"x = left + 1; own*x":                    "f: column 10: + needs a value of left",
		"left":                                   "f: column 1: left needs a value of left",
		"own - sum(left)":                        "",
		"sum(own, left > 0)":                     "",
		"if(left > 1, 0, own)":                   "f: column 9: > needs a value of left",
		"own*if(summary, 0, left)":               "",
		"own*if(own > 0, left, own)":             "f: column 5: if needs a value of left",
		"own*if(summary, left, 0)":               "f: column 5: if needs a value of left",
		"if(not summary, left, own)":             "",
		"if(own > 1 and not summary, left, own)": "",
		"if(own > 1 or not summary, left, own)":  "f: column 1: if needs a value of left",
		"if(own > 1 or summary, own, left)":      "",
		"if(own > 1 and not summary, 0, left)":   "f: column 1: if needs a value of left",
		"own*default(left, 0)":                   "",
		"default(own, left)":                     "f: column 1: default needs a value of left",
		"sum(left) + mean(left)*left":            "f: column 23: * needs a value of left",
		"if(scored(left), 1, own)":               "",
	} {
		p, err := Compile(Text{Parts: map[string]string{"f": text}}, facts)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Bare("f", "left", "summary"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
