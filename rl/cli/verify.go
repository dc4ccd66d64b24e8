package cli

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl"
	"github.com/rlzero/rlzero/rl/audit"
	_ "github.com/rlzero/rlzero/verify/instruct" // its verifiers register themselves
	_ "github.com/rlzero/rlzero/verify/program"  // the same
)

const verifyHelp = `Reads {"answer":"...","completion":"..."} lines (a task row may add fields, a line
may name its own "verifier") and writes
{"score":1,"verdict":"right","reason":"...","extracted":"..."}.

Example:
   echo '{"answer":"1/2","completion":"The answer is 0.5"}' | rlzero verify --verifier number --in -

A line may have "options":{...} for its verifier, such as {"extract":"strict"}, and "verifier"
for one of its own. A verdict of wrong or not scored is a result: exit code 0.

With --audit RUN, or --audit FILE of such lines, it asks instead how far the reward can
be trusted, and needs no device:
   - do the stored verdicts come out again?
   - where does a second grader differ, and how often is nothing scored? The second one
     is --against NAME, with options as in "math extract=strict"; without it the same
     check with another way to take the answer out, or a check of another kind.
   - what do attacks earn: no answer, the prompt, every candidate at once, two answers,
     phrases that fool judges, huge numbers, programs that exit early ...?
An attack that cannot be right and is paid by the grader or by one named with --against, a
stored verdict that does not come out again and a problem that cannot be drawn again are
problems: exit code 1. What is right by chance, as an empty completion where nothing is
the answer, is counted apart.

Example: how much would it pay to take the last number of a text for its answer?
   $ cat sums.jsonl
   {"question":"What is 3 + 4?","answer":"7","completion":"3 + 4 = 7"}
   {"question":"What is 3 + 5?","answer":"8","completion":"It is 8."}
   $ rlzero verify --audit sums.jsonl --verifier gsm8k --against 'number extract=last_number'
   the graders agree on 0.0 % of 2 completions
      line 1: What is 3 + 4?
         completion  3 + 4 = 7
         1 wrong       no #### with a number behind it [hashes: ""]
         2 right       equal to 7 [last_number: "7"]
   what attacks earn             tries      1: mean    paid  by chance      2: mean    paid  by chance
      code                          36        0.000       0          0        0.056       0          2
    ! either                        12        0.000       0          0        0.333       4          0
      either (the reference or another), paid by grader 2
         completion  #### 8 or 7
         right       equal to 7 [last_number: "7"]
   PROBLEM: number extract=last_number pays the attack "either": 4 of 12 tries
It loses no right answer, but whoever names several is paid for the last; and {{7*7}} is a
7 by chance.

--json writes one object per line, by "kind":
   summary       source, completions, lost, stored, stored_differ
   lost          reason
   stored        where, prompt, completion, verdict, score, now
   grader        graders, grader, n, mean, not_scored_share, verdicts, rules, reasons
   agreement     graders, n, differ, share, first_then_second (counts by verdict)
   disagreement  graders, where, prompt, answer, completion, verdicts (of both)
   attack        attack, about, hopeless, grader, tries, mean, paid, by_chance, not_scored,
                 example (prompt, answer, completion, verdict; null if none was paid)
   result        ok, problems; always the last`

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "grade answers with a verifier, or audit the rewards of a run",
		Description: verifyHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "in", Usage: "JSON lines; - for standard input"},
			&cli.StringFlag{Name: "verifier", Usage: "verifier of lines that name none; see rlzero verifiers"},
			&cli.StringFlag{Name: "audit", Usage: "audit a run folder, or JSON lines; - for standard input"},
			&cli.StringFlag{Name: "against", Usage: "second grader of an audit: NAME, or \"NAME key=value ...\""},
			&cli.IntFlag{Name: "limit", Usage: "examples of each kind in an audit", Value: 5},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			if c.IsSet("audit") {
				return auditRewards(c)
			}
			for _, flag := range []string{"against", "limit", "json"} {
				if c.IsSet(flag) {
					return usagef("--%s goes with --audit RUN_OR_FILE", flag)
				}
			}
			in, err := input(c, c.String("in"))
			if err != nil {
				return err
			}
			defer in.Close()
			return rl.Grade(c.String("in"), in, c.App.Writer, c.String("verifier"))
		},
	}
}

func auditRewards(c *cli.Context) error {
	if c.IsSet("in") {
		return usagef("--in does not go with --audit: name the file there")
	}
	if c.Int("limit") < 0 {
		return usagef("--limit is %d: accepted are 0 and more", c.Int("limit"))
	}
	report, err := audited(c, c.String("audit"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = report.JSON(c.App.Writer)
	} else {
		err = report.Text(c.App.Writer)
	}
	if problems := report.Problems(); err == nil && len(problems) > 0 {
		return fmt.Errorf("the audit found problems, %d of them: see the end of its report", len(problems))
	}
	return err
}

func audited(c *cli.Context, path string) (*audit.Report, error) {
	o := rl.AuditOptions{Verifier: c.String("verifier"), Against: c.String("against"), Limit: c.Int("limit")}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if o.Verifier != "" {
			return nil, usagef("--verifier does not go with a run, which has its own; --against names the other grader")
		}
		return rl.AuditRun(path, o)
	}
	in, err := input(c, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return rl.AuditFile(path, in, o)
}
