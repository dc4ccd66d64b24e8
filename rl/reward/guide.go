package reward

// Guide explains rewards to those who write recipes. The language is explained by
// [formula.Guide].
const Guide = `
REWARDS

   [[stage]]
   kind = "rl"
   max_not_scored = 0.5     # a step with a greater share of failures stops the run
   reward = """
   brief = shortest_right(right(task));          # a named part: logged separately
   if(right(form), task + 0.1*brief, -1)         # the reward of each completion
   """
   [[stage.verifier]]       # the formula may use it besides the task's own verdict
   name = "form"
   verifier = "format"      # rlzero verifiers lists them
   options = {tags = ["think", "answer"]}

The formula gives every completion of a step a number. task is the task's own
verdict, from 0 to 1, and every [[stage.verifier]] is a name for its score; NAME.value
is a number that its verdict has beside the score, such as form.blocks. row.NAME is a
member of the problem's metadata. Each verifier is run and logged, whether the formula
names it or not. metrics.jsonl has the mean of each term (reward/term/NAME: task, the
verifiers, what the formula names), completions.jsonl its value.

NOT SCORED
A completion whose reward is missing or not finite leaves its group: it is counted as
not scored, never as 0. A score is missing if the verifier could not judge; the name
unscored leaves out a completion by formula. If a step has a greater share of them than
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
result is a number in range, True, False, or None: not scored. A reason and a dict of
numbers may follow it: 0.5, "half", {"blocks": 3} makes mine.blocks 3. A call may
take a million steps and 64 MiB for results of + * % <<. There are no files, clock, random
numbers or load(). If a script fails, the completion is not scored; the reason names file
and line.
`
