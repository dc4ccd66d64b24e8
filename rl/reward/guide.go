package reward

// Guide explains the language to those who write recipes.
const Guide = `
REWARDS

   [[stage]]
   kind = "rl"
   max_not_scored = 0.5     # a step with a greater share of failures stops the run
   reward = """
   brief = shortest_right(right(task));          # a named part: logged separately
   if(right(form), task + 0.1*brief, -1)         # the reward of each completion
   """
   [[stage.verifier]]       # what it may use besides the task's own verdict
   name = "form"
   verifier = "format"      # rlzero verifiers lists them
   options = {tags = ["think", "answer"]}

An expression is computed for every completion of a step. It has numbers, names,
calls, + - * / and ( ), comparisons (< <= > >= == !=, not chained), and, or, not,
and comments from # to the end of the line. Parts may be given names
before it: name = expression; a part may use the parts before it. A condition counts as
1 or 0 where a number is expected. A number is not a condition: write right(task), not
task.

task is the task's own verdict, from 0 to 1, and every [[stage.verifier]] is a name
for its score; row.NAME is a number of the problem's metadata. Each verifier is run
and logged, whether the expression names it or not. metrics.jsonl has the mean of
each term (reward/term/NAME), completions.jsonl its value.

NOT SCORED
What a verifier could not judge has no value, and anything computed from it has none.
The same holds for a division by 0, a root or logarithm outside its domain, and a result
that is not finite. In if(c, x, y), the branch that is not taken may lack a value, and in
"and" and "or" the side that does not decide. default(x, y) is y where x has no value.
Statistics leave such completions out. A completion whose reward has no value leaves its
group: it is counted as not scored, never as 0. If the share of a step is above
max_not_scored, or nothing is left, the run saves a checkpoint, prints the most common
reason and stops.

SCRIPTS
   [[stage.verifier]]
   name = "mine"
   starlark = "mine.star"   # next to the recipe; its text becomes part of the run's recipe
   range = [0.0, 1.0]       # smallest and largest result

   def reward(row, completion):       # mine.star: Starlark, much like Python
       if "?" in completion:
           return 0, "it asks back"    # a reason may follow the number
       return 1 - min(len(completion), 400) / 400

row has id, question, answer and metadata (a dict); completion is the text. The
result is a number in range, True, False, or None: not scored. A call may
take a million steps and 64 MiB for results of + * % <<. There are no files, clock, random
numbers or load(). If a script fails, the completion is not scored; the reason names file
and line.
`
