package formula

// normalisers take the tokens of an update to a number of the run. With a condition, numerator and
// divisor are over what fulfils it; the result is 0 if nothing does.
var normalisers = []Function{
	{Name: "token_mean", Usage: "token_mean(x[, where])", Meaning: "mean of x over all trained tokens", Formula: "sum of x / number of tokens", Source: "DAPO, arXiv 2503.14476", params: "rc", optional: 1,
		build: normaliser(func(c *compiler, s *scope, n *node, x, where int) int {
			return c.toUpdate(s, n, foldNamed("over"), x, where, c.count(s, n, where, Token, Run), Token, Run)
		})},
	{Name: "token_sum", Usage: "token_sum(x[, where])", Meaning: "sum of x over all trained tokens", params: "rc", optional: 1,
		build: normaliser(func(c *compiler, s *scope, n *node, x, where int) int {
			return c.toUpdate(s, n, foldNamed("sum"), x, where, -1, Token, Run)
		})},
	{Name: "seq_mean", Usage: "seq_mean(x[, where])", Meaning: "mean over completions of the mean of x over the tokens of each; a completion without tokens counts as 0. Of one value for each completion: their mean", Source: "GRPO, arXiv 2402.03300", params: "rc", optional: 1,
		build: normaliser(func(c *compiler, s *scope, n *node, x, where int) int {
			if c.finest(x, where) <= Completion {
				return c.toUpdate(s, n, foldNamed("over"), x, where, c.count(s, n, where, Completion, Run), Completion, Run)
			}
			tokens := c.count(s, n, where, Token, Completion)
			return c.overCompletions(s, n, c.toUpdate(s, n, foldNamed("over"), x, where, tokens, Token, Completion), where, tokens)
		})},
	{Name: "seq_sum", Usage: "seq_sum(x[, where])", Meaning: "mean over completions of the sum of x over the tokens of each", params: "rc", optional: 1,
		build: normaliser(func(c *compiler, s *scope, n *node, x, where int) int {
			return c.overCompletions(s, n, c.toUpdate(s, n, foldNamed("sum"), x, where, -1, Token, Completion), where, c.count(s, n, where, Token, Completion))
		})},
	{Name: "fixed_length", Usage: "fixed_length(x, length[, where])", Meaning: "as seq_sum, divided by a length", Formula: "sum of x / (completions * length)", Source: "Dr. GRPO, arXiv 2503.20783", params: "rnc", optional: 1,
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed(n.name))
			if args == nil {
				return -1
			}
			if l := c.ops[args[1]].level; l != Run {
				return c.fail(s, n.args[1].at, "fixed_length takes one length for the run, found %s", l.each())
			}
			where := -1
			if len(args) > 2 {
				where = args[2]
			}
			total := c.overCompletions(s, n, c.toUpdate(s, n, foldNamed("sum"), args[0], where, -1, Token, Completion), where, c.count(s, n, where, Token, Completion))
			return c.written(s, n, "/", total, args[1])
		}},
	{Name: "prompt_mean", Usage: "prompt_mean(x[, where])", Meaning: "mean over prompts of the mean of x over all tokens of each. Of one value for each prompt: their mean; a prompt without a value is left out", params: "rc", optional: 1,
		build: normaliser(func(c *compiler, s *scope, n *node, x, where int) int {
			if c.finest(x, where) <= Group {
				mean := c.toUpdate(s, n, foldNamed("mean"), x, where, -1, Group, Run)
				return c.written(s, n, "default", mean, c.literal(s, n.at, 0, false))
			}
			tokens := c.count(s, n, where, Token, Group)
			some := c.written(s, n, ">", tokens, c.literal(s, n.at, 0, false))
			mean := c.toUpdate(s, n, foldNamed("over"), x, where, tokens, Token, Group)
			return c.toUpdate(s, n, foldNamed("over"), mean, some, c.count(s, n, some, Group, Run), Group, Run)
		})},
	{Name: "trim", Usage: "trim(x, budget)", Meaning: "whether the token is kept: the tokens with the largest x are dropped until the mean of the rest is at most the budget", params: "rn", condition: true, Slope: "none", Source: "M2PO, arXiv 2510.01161",
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed("trim"))
			if args == nil {
				return -1
			}
			if l := c.ops[args[1]].level; l != Run {
				return c.fail(s, n.args[1].at, "trim takes one budget for the run, found %s", l.each())
			}
			return c.written(s, n, "<=", args[0], c.toUpdate(s, n, foldNamed("within"), args[0], -1, args[1], Token, Run))
		}},
}

// normaliser reads the arguments that all of them have.
func normaliser(build func(c *compiler, s *scope, n *node, x, where int) int) func(c *compiler, s *scope, n *node) int {
	return func(c *compiler, s *scope, n *node) int {
		args := c.arguments(s, n, functionNamed(n.name))
		if args == nil {
			return -1
		}
		where := -1
		if len(args) > 1 {
			where = args[1]
		}
		return build(c, s, n, args[0], where)
	}
}

// toUpdate is [compiler.fold] over what an update learns from.
func (c *compiler) toUpdate(s *scope, n *node, f *fold, x, where, k int, from, to Level) int {
	return c.fold(s, n, f, x, where, k, from, to, ofUpdate)
}

// count is how many rows count.
func (c *compiler) count(s *scope, n *node, where int, from, to Level) int {
	return c.toUpdate(s, n, foldNamed("count"), c.literal(s, n.at, 1, true), where, -1, from, to)
}

// overCompletions is the mean over the completions, or with a condition over
// those of which any token fulfils it.
func (c *compiler) overCompletions(s *scope, n *node, x, where, tokens int) int {
	some := -1
	if where >= 0 {
		some = c.written(s, n, ">", tokens, c.literal(s, n.at, 0, false))
	}
	return c.toUpdate(s, n, foldNamed("over"), x, some, c.count(s, n, some, Completion, Run), Completion, Run)
}
