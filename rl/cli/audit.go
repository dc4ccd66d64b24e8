package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/audit"
)

const auditHelp = `Says how far a reward can be trusted. Reads the completions of a run, or a file of lines as
rlzero verify reads them (- is standard input). Needs no device. It asks:

   - Does grading the completions again give the stored verdicts?
   - Where does a second grader disagree, and how often does a grader score
     nothing? --against names the second grader, with options as in
     "math extract=strict". Without --against, it is the same verifier with
     another way to extract the answer, or else a verifier of another kind.
   - What would attacks earn: no answer, the prompt, every candidate at once,
     two answers, phrases that fool judges, huge numbers, programs that exit
     early?

The exit code is 1 if there is a problem: the grader, or the one that --against names, pays
an attack that cannot be right; grading again does not reproduce a stored verdict; or a
problem of the task cannot be drawn again. Attacks that are right by chance, such as an empty
completion where the answer is empty, are counted separately.

Examples:
   rlzero audit runs/first
   rlzero audit sums.jsonl --verifier gsm8k \
      --against 'number extract=last_number'

The second example shows what it costs to take the last number of a text as the answer. From
its output:

   $ cat sums.jsonl
   {"question":"What is 3 + 4?","answer":"7","completion":"3 + 4 = 7"}
   {"question":"What is 3 + 5?","answer":"8","completion":"It is 8."}

   the graders agree on 0.0 % of 2 completions
      line 1: What is 3 + 4?
         completion  3 + 4 = 7
         1 wrong       there is no number after #### [hashes: ""]
         2 right       equal to 7 [last_number: "7"]
      either (the reference or another), paid by grader 2
         completion  #### 8 or 7
         right       equal to 7 [last_number: "7"]
   PROBLEM: number extract=last_number pays the attack "either": 4 of 12
   tries

--json writes one object per line, by "kind":
   summary       source, completions, lost, stored, stored_differ
   lost          reason
   judge         verifier, which asks a model and is not audited
   stored        where, prompt, completion, verdict, score, now
   grader        graders, grader, n, mean, not_scored_share, verdicts, rules,
                 reasons
   agreement     graders, n, differ, share, first_then_second (counts by
                 verdict)
   disagreement  graders, where, prompt, answer, completion, verdicts (of
                 both)
   attack        attack, about, hopeless, grader, tries, mean, paid,
                 by_chance, not_scored, example (prompt, answer, completion,
                 verdict; null if none was paid)
   result        ok, problems; always the last`

func auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "grade the completions of a run again, and attack its reward", ArgsUsage: "RUN|FILE",
		Description: auditHelp,
		Flags: []cli.Flag{
			verifierFlag,
			&cli.StringFlag{Name: "against", Usage: "second grader: `NAME`, or \"NAME key=value ...\""},
			&cli.IntFlag{Name: "limit", Usage: "number of examples of each kind", Value: 5},
			jsonFlag,
		},
		Action: auditRewards,
	}
}

func auditRewards(c *cli.Context) error {
	args, err := positional(c, "RUN|FILE")
	if err != nil {
		return err
	}
	if c.Int("limit") < 0 {
		return badValue("limit", c.Int("limit"), "whole numbers from 0")
	}
	if err := checkVerifier(c); err != nil {
		return err
	}
	report, err := audited(c, args[0])
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = report.JSON(c.App.Writer)
	} else {
		err = report.Text(c.App.Writer)
	}
	if problems := report.Problems(); err == nil && len(problems) > 0 {
		return hint.With(fmt.Errorf("the audit found %s", terminal.Count(len(problems), "problem", "")), "the end of its report lists them")
	}
	return err
}

func audited(c *cli.Context, path string) (*audit.Report, error) {
	o := audit.Options{Verifier: c.String("verifier"), Against: c.String("against"), Limit: c.Int("limit"), Told: programsTold(c)}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if o.Verifier != "" {
			return nil, hint.With(usagef("--verifier does not go with a run, whose recipe names its verifier"), "--against names a second grader")
		}
		return audit.Run(path, o)
	}
	if _, err := os.Stat(path); path != "-" && errors.Is(err, fs.ErrNotExist) {
		return nil, withEntry(usagef("%s: there is no such run or file", path), path)
	}
	in, err := input(c, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return audit.File(path, in, o)
}
