package formula

import (
	"fmt"
	"strings"
)

// statScope is where a statistic looks.
type statScope struct {
	prefix   string
	over     string // what it is over
	from, to Level
	time     time
}

// time says over which completions an operation is.
type time uint8

const (
	ofArguments time = iota // over those of an update if it reads a value of an update, else over those of the step
	ofStep                  // over all that were sampled in the step
	ofUpdate                // over those that an update learns from
)

var (
	groupScope       = statScope{"group_", "over the completions of the prompt", Completion, Group, ofArguments}
	groupTokenScope  = statScope{"group_token_", "over all tokens of the prompt's completions that the policy wrote; a coarser value counts once for each token", Token, Group, ofArguments}
	promptsScope     = statScope{"prompts_", "over all prompts, each once", Group, Run, ofArguments}
	stepScope        = statScope{"step_", "over all completions of the step", Completion, Run, ofStep}
	stepTokenScope   = statScope{"step_token_", "over all tokens of the step that the policy wrote; a coarser value counts once for each token", Token, Run, ofStep}
	updateScope      = statScope{"update_", "over the completions that the update learns from", Completion, Run, ofUpdate}
	updateTokenScope = statScope{"update_token_", "over the tokens that the update learns from; a coarser value counts once for each token", Token, Run, ofUpdate}
)

// statisticsOf are the statistics of a scope. What has no value is left out; so
// are rows where the last argument, a condition, does not hold or has no value.
func statisticsOf(sc statScope) []Function {
	row := func(name, args, params, meaning, slope string, optional int) Function {
		return Function{Name: sc.prefix + name, Usage: sc.prefix + name + "(" + args + "[, where])", Meaning: meaning + ", " + sc.over, Slope: slope,
			params: params + "c", optional: 1, build: func(c *compiler, s *scope, n *node) int { return c.statistic(s, n, sc, name) }}
	}
	if sc.time == ofStep { // it takes no value of now
		plain := row
		row = func(name, args, params, meaning, _ string, optional int) Function {
			return plain(name, args, params, meaning, "none", optional)
		}
	}
	out := []Function{
		row("mean", "x", "r", "mean of x", "", 0),
		row("std", "x", "r", "standard deviation of x, divisor n-1; 0 for one value", "0 where all are equal", 0),
		row("sum", "x", "r", "sum of x; of a condition: how often it holds; 0 if nothing counts", "", 0),
		row("min", "x", "r", "least x", "of n equal ones 1/n each", 0),
		row("max", "x", "r", "greatest x", "of n equal ones 1/n each", 0),
		row("median", "x", "r", "median of x; of an even number of values the mean of the two in the middle", "none", 0),
		row("quantile", "x, q", "rn", "the quantile of x at q, from 0 to 1, interpolated linearly between two values", "none", 0),
		row("nth", "x, k", "rn", "the k-th greatest x; no value if there are fewer than k", "none", 0),
		row("count", "condition", "c", "how often a condition holds", "none", 0),
	}
	if sc.from == Token {
		return out
	}
	rank := row("rank", "x", "r", "place of x between 0, the least, and 1, the greatest; equal ones share the middle of their places", "none", 0)
	rank.Formula = "(less + (equal - 1)/2)/(n - 1), 1/2 for n = 1"
	zscore := row("zscore", "x", "r", "distance of x from the mean in standard deviations; 0 where all are equal", "", 0)
	zscore.Formula, zscore.build = "(x - mean)/std", nil
	zscore.names = []string{"x", "c"}
	zscore.text = fmt.Sprintf("if(%[1]sstd(x, c) > 0, (x - %[1]smean(x, c))/%[1]sstd(x, c), x - %[1]smean(x, c))", sc.prefix)
	return append(out, rank, zscore)
}

// statistic compiles a call of one.
func (c *compiler) statistic(s *scope, n *node, sc statScope, name string) int {
	f := functionNamed(n.name)
	args := c.arguments(s, n, f)
	if args == nil || !c.within(s, n, sc, args[0]) {
		return -1
	}
	x, where, k := args[0], -1, -1
	rest := args[1:]
	if name == "quantile" || name == "nth" {
		if k = rest[0]; c.ops[k].level > sc.to {
			return c.fail(s, n.args[1].at, "%s takes %s here, found %s", n.name, sc.to.each(), c.ops[k].level.each())
		}
		if o := &c.ops[k]; name == "quantile" && o.kind == literalOp && !(o.value >= 0 && o.value <= 1) {
			return c.fail(s, n.args[1].at, "%s of %v; accepted: from 0, the least, to 1, the greatest, such as 0.8", n.name, o.value)
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		if where = rest[0]; !c.within(s, n.args[len(n.args)-1], sc, where) {
			return -1
		}
	}
	if sc.time == ofStep {
		for i, arg := range args {
			if c.ops[arg].update {
				return c.fail(s, n.args[i].at, "%s is over the step, found a value of an update: write update_%s", n.name, strings.TrimPrefix(n.name, "step_"))
			}
		}
	}
	if name == "rank" {
		return c.add(s, op{kind: rankOp, fn: f, args: []int{x}, where: where, k: -1, level: sc.from, from: sc.from, to: sc.to, update: sc.time == ofUpdate, at: n.at})
	}
	return c.fold(s, n, foldNamed(name), x, where, k, sc.from, sc.to, sc.time)
}

// within holds the level of what a statistic reads against the level that it is
// over, and says what to write instead.
func (c *compiler) within(s *scope, n *node, sc statScope, x int) bool {
	l := c.ops[x].level
	switch {
	case sc.from == Token || l == sc.from || l == Run:
		return true
	case l > sc.from && sc.from == Completion:
		c.fail(s, n.at, "%s takes one value for each completion, found %s; write mean(...), sum(...), highest(...) around it to say how its %ss become one value", sc.prefix, l.each(), l)
	case l > sc.from:
		c.fail(s, n.at, "%s takes one value for each group, found %s; write group_mean(...) or another group_ statistic around it", sc.prefix, l.each())
	case sc.to == Run:
		c.fail(s, n.at, "%s takes one value for each completion, found %s; write prompts_... to count each prompt once, or each(...) to count it once for each completion", sc.prefix, l.each())
	default:
		c.fail(s, n.at, "%s takes one value for each completion, found %s: it is the same for all of them", sc.prefix, l.each())
	}
	return false
}

// groupOnly are statistics that have a group alone.
var groupOnly = []Function{
	others("mean", "mean of x over the other completions of the prompt; no value if there is none", ""),
	others("std", "standard deviation of x over the other completions of the prompt, divisor n-1; 0 for one", "0 where all are equal"),
	{Name: "group_at", Usage: "group_at(x, condition)", Meaning: "x of the first completion of the prompt, by sample number, for which the condition holds", params: "rc",
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed("group_at"))
			if args == nil || !c.within(s, n, groupScope, args[0]) || !c.within(s, n, groupScope, args[1]) {
				return -1
			}
			return c.fold(s, n, foldNamed("first"), args[0], args[1], -1, Completion, Group, ofArguments)
		}},
	place("mean"), place("sum"), pairs,
}

func others(name, meaning, slope string) Function {
	full := "group_others_" + name
	return Function{Name: full, Usage: full + "(x[, where])", Meaning: meaning, Slope: slope, params: "rc", optional: 1,
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed(full))
			if args == nil || !c.within(s, n, groupScope, args[0]) {
				return -1
			}
			o := op{kind: othersOp, fn: functionNamed(full), fold: foldNamed(name), args: args[:1], where: -1, k: -1, level: Completion, from: Completion, to: Group, at: n.at, carries: c.ops[args[0]].carries}
			if len(args) > 1 {
				if o.where = args[1]; !c.within(s, n.args[1], groupScope, o.where) {
					return -1
				}
			}
			return c.add(s, o)
		}}
}

// place is a statistic over the tokens that have the same position.
func place(name string) Function {
	full := "group_place_" + name
	return Function{Name: full, Usage: full + "(x)", Meaning: name + " of x over the trained tokens of the group's completions that have the same position", params: "r",
		Source: "arXiv 2602.07078", build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed(full))
			if args == nil {
				return -1
			}
			return c.add(s, op{kind: placeOp, fn: functionNamed(full), fold: foldNamed(name), args: args, where: -1, k: -1, level: Token, from: Token, masked: true, at: n.at, carries: c.ops[args[0]].carries})
		}}
}

// reductions take what is finer than a completion to one value for each.
var reductions = []Function{
	reduction("mean", "mean", "mean of x over the completion", ""),
	reduction("sum", "sum", "sum of x over the completion; 0 if nothing counts", ""),
	reduction("highest", "max", "greatest x of the completion", "of n equal ones 1/n each"),
	reduction("lowest", "min", "least x of the completion", "of n equal ones 1/n each"),
	reduction("first", "first", "x of the first token or segment that counts", ""),
	reduction("last", "last", "x of the last token or segment that counts", ""),
	reduction("deviation", "std", "standard deviation of x over the completion, divisor n-1; 0 for one value", "0 where all are equal"),
	{Name: "quantile", Usage: "quantile(x, q[, where])", Meaning: "the quantile of x over the completion at q, from 0 to 1, interpolated linearly between two values", Slope: "none", params: "rnc", optional: 1,
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed("quantile"))
			if args == nil {
				return -1
			}
			x, q, where := args[0], args[1], -1
			if len(args) > 2 {
				where = args[2]
			}
			if o := &c.ops[q]; o.level > Completion || o.kind == literalOp && !(o.value >= 0 && o.value <= 1) {
				return c.fail(s, n.args[1].at, "quantile takes a number from 0, the least, to 1, the greatest, for each completion, such as 0.8")
			}
			from := c.finest(x, where)
			if from <= Completion {
				return c.fail(s, n.at, "quantile takes a value for each token or segment, found %s: say over what: group_quantile(x, q), step_quantile(x, q)", c.ops[x].level.each())
			}
			return c.fold(s, n, foldNamed("quantile"), x, where, q, from, Completion, ofArguments)
		}},
	{Name: "rank", Usage: "rank(x[, where])", Meaning: "place of x among the tokens or segments of its completion, between 0, the least, and 1, the greatest; equal ones share the middle of their places", Formula: "(less + (equal - 1)/2)/(n - 1), 1/2 for n = 1", Slope: "none", params: "rc", optional: 1,
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed("rank"))
			if args == nil {
				return -1
			}
			where := -1
			if len(args) > 1 {
				where = args[1]
			}
			from := c.finest(args[0], where)
			if from <= Completion {
				return c.fail(s, n.at, "rank takes a value for each token or segment, found %s: say over what: group_rank(x), step_rank(x)", c.ops[args[0]].level.each())
			}
			return c.add(s, op{kind: rankOp, fn: functionNamed("rank"), args: args[:1], where: where, k: -1, level: from, from: from, to: Completion, masked: from == Token && (where < 0 || !c.reads(where, "own", map[int]bool{})), at: n.at})
		}},
	reduction("count", "count", "how often a condition holds in the completion", "none"),
}

func reduction(name, fold, meaning, slope string) Function {
	params, arg := "rc", "x"
	if name == "count" {
		params, arg = "cc", "condition"
	}
	return Function{Name: name, Usage: name + "(" + arg + "[, where])", Meaning: meaning, Slope: slope, params: params, optional: 1,
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed(name))
			if args == nil {
				return -1
			}
			x, where := args[0], -1
			if len(args) > 1 {
				where = args[1]
			}
			from := c.finest(x, where)
			switch {
			case from <= Completion && (name == "sum" || name == "count"):
				return c.fail(s, n.at, "%s takes a value for each token or segment, found %s: it is one value already", n.name, c.ops[x].level.each())
			case from <= Completion && where < 0:
				return x
			}
			return c.fold(s, n, foldNamed(fold), x, where, -1, max(from, Completion), Completion, ofArguments)
		}}
}

// segmentReductions take tokens to one value for each segment.
var segmentReductions = []Function{segmentReduction("mean"), segmentReduction("sum"), segmentReduction("first"), segmentReduction("last")}

func segmentReduction(name string) Function {
	full := "segment_" + name
	return Function{Name: full, Usage: full + "(x[, where])", Meaning: name + " of x over the tokens of the segment", params: "rc", optional: 1,
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed(full))
			if args == nil {
				return -1
			}
			where := -1
			if len(args) > 1 {
				where = args[1]
			}
			if from := c.finest(args[0], where); from != Token {
				return c.fail(s, n.at, "%s takes a value for each token, found %s", n.name, from.each())
			}
			return c.fold(s, n, foldNamed(name), args[0], where, -1, Token, Segment, ofArguments)
		}}
}
