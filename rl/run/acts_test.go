package run

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/train"
	_ "github.com/rlzero/rlzero/verify/instruct"
	_ "github.com/rlzero/rlzero/verify/program" // its verifiers, which recipes name
)

// setByTest are keys of a stage that TestActs sets itself, so that a step takes a moment, or
// that act later than in the second step.
var setByTest = []string{
	"name", "kind", "skip", "steps", "prompts_per_step", "group_size", "tree.roots", "tree.rounds", "tree.open", "tree.width", "max_sampled_tokens", "checkpoint_every",
	"eval_every", "eval_problems", "patience", "sample_every", "token_every", "optimizer.lr", "optimizer.warmup_steps",
	"sampling.max_completion_tokens", "second_chance.replace", "batch_size", "max_tokens", "until_valid", "hold_steps", "decay_steps", "test_every",
	"verifier", // acts through the reward that names it
	"make",     // acts through the source that draws the rows
}

const (
	noRatio       = "one update of a rollout has the ratio 1: the clipped ratio has the gradient of the log-prob"
	rareRatio     = "it guards against a ratio beyond 3, and none comes, in the recipe's own run either"
	allBelow      = "no advantage is above 0"
	groupsOf4     = "the rates of groups of 4 are multiples of a quarter"
	oneToken      = "an answer of the test's task is one token, which has no beginning to give"
	imitated      = "a step of imitation at the test's rate leaves no group with a signal"
	noWords       = "the tiny model writes no words: rewards are equal"
	noneSolved    = "two steps solve none of the hardest problems: no advantage differs from 0"
	noPair        = "a group without a pair has no loss in any case"
	unwritten     = "no step here makes such a row"
	generates     = "the generator alone learns by it, and writes no problem here"
	measuredAlone = "the metrics alone read it"
	stands        = "its learning rate is 0 while the preference model learns"
)

// doesNotAct says why a key of a recipe makes no difference here, in one of its stages at
// least: most cannot by what they are, and what a few guard against comes in no run of the
// recipe; weights are those of the policy. Listed keys are tried as well: one that acts, or that is not changed, has to go.
var doesNotAct = map[string]string{
	"rloo algorithm.policy":                      noRatio,
	"reinforce-moving-baseline algorithm.policy": noRatio,
	"autowebglm algorithm.policy":                noRatio,
	"archer algorithm.policy":                    noRatio,
	"refalign algorithm.policy":                  noRatio,
	"greedy-rollout-baseline algorithm.policy":   noRatio,
	"crew-dpo algorithm.keep":                    noPair,
	"agent-rlvr algorithm.keep":                  noPair,
	"copo reward":                                "the value that it names is read by the method alone",
	"soft-verdict algorithm.policy":              noRatio,
	"raif algorithm.clip_high":                   noRatio,
	"rlcr algorithm.keep":                        noWords,
	"reasoning-patterns algorithm.advantage":     noWords,
	"reasoning-patterns algorithm.beta":          noWords,
	"reasoning-patterns algorithm.value_coef":    noWords,
	"reasoning-patterns optimizer.value_lr":      noWords,
	"self-certainty reward":                      "the value that it names is read by the metrics alone",
	"self-prm reward":                            "as self-certainty reward",
	"hrm reward":                                 "as self-certainty reward",
	"nlpo models.lag.renew":                      "the run renews it after 20 steps, which these courses do not do",
	"math-shepherd reward":                       "as self-certainty reward",
	"math-shepherd algorithm.least":              measuredAlone,
	"qwen-math algorithm.pick":                   measuredAlone,
	"dler algorithm.policy":                      rareRatio,
	"da-dler algorithm.policy":                   rareRatio,
	"nsr algorithm.clip_high":                    allBelow,
	"guru reward":                                "its engine and the task agree on every program",
	"rlmt algorithm.loss":                        stands,
	"rlmt updates_per_rollout":                   stands,
	"socratic-zero make.0.where":                 generates,
	"socratic-zero make.1.where":                 generates,
	"socratic-zero learn":                        generates,
}

// actsLater says why a key makes no difference in those small steps that makes one in the recipe's own run: TestActsLater
// sees it there.
var actsLater = map[string]string{
	"webrl replay.store":                    "two steps teach the model that pays too little: it holds no episode for done",
	"webrl algorithm.loss":                  "a head begins at 0, so that the first step moves nothing else, and the second begins at the reference",
	"greedy-rollout-baseline best":          "the first epoch has a moving average as its baseline",
	"oreal algorithm.beta":                  "a head begins at 0, so that the first step moves no policy, and the second begins at the reference",
	"balanced-filtering algorithm.rate_low": groupsOf4,
	"b-star algorithm.state.hot":            "in the few steps of the test the hottest is never the best",
	"sws source":                            unwritten,
	"sws make.0.where":                      unwritten,
	"sws algorithm.state.best":              unwritten,
	"sws algorithm.state.total":             unwritten,
	"sws algorithm.state.timed":             unwritten,
	"rubicon algorithm.keep":                "graded rewards leave no group uniform",
	"drive algorithm.clip_high":             noneSolved,
	"ppo-plus-plus second_chance":           oneToken,
	"ppo-plus-plus numbers.prefix_share":    oneToken,
	"ghpo second_chance":                    oneToken,
	"ghpo numbers.prefix_share":             oneToken,
	"sparkle second_chance":                 oneToken,
	"sparkle numbers.prefix_share":          oneToken,
	"sasr algorithm.state.now":              imitated,
	"sasr algorithm.clip_high":              imitated,
	"acereason updates_per_rollout":         "few groups of programs differ: one update takes them all",
	"supo algorithm.keep":                   "every episode of the tiny model comes to an end",
	"deepresearcher reward":                 "the tiny model searches for what is there, and answers in time",
}

// staysPut says why the recipe is not accepted with a key put back. Listed keys are tried as well.
var staysPut = map[string]string{
	"arena-rl truth":           "as reward-math",
	"autorule source":          "its judge reads what the made rows have",
	"autorule truth":           "as reward-math",
	"rusca source":             "as autorule",
	"rusca truth":              "as reward-math",
	"b-star reward":            "its method reads the value that it names",
	"think-rm truth":           "as reward-math",
	"secrepair truth":          "as reward-math",
	"libra truth":              "as reward-math",
	"cooper truth":             "the model that learns beside the policy takes it for the reward",
	"oreal learn":              "the method of the stage reads the head that it trains",
	"thinktuning source":       "as ampo",
	"ampo source":              "the second chance takes what the drawn rows have",
	"reward-math learn":        "as prompt-curriculum",
	"qwen-math learn":          "as prompt-curriculum",
	"rnd learn":                "as oreal",
	"webrl trains":             "as cooper",
	"webrl truth":              "it is measured, and never paid",
	"early-rejection learn":    "as oreal",
	"grounded-prm trains":      "as cooper",
	"math-shepherd tree":       "the rows that its stage makes read nodes",
	"prompt-curriculum learn":  "the curriculum reads the head that it trains",
	"grounded-prm tree":        "as prorag",
	"prorag trains":            "as cooper",
	"cr-planner trains":        "as cooper",
	"cr-planner tree":          "as prorag",
	"prorag tree":              "the method of its stage reads nodes",
	"socratic-zero learn":      "it reads what only made rows have",
	"rlot trains":              "it lets the model write that has random weights",
	"zerosearch trains":        "as rlot",
	"ai-searchplanner trains":  "as rlot",
	"router-r1 trains":         "as rlot",
	"ppr trains":               "as cooper",
	"carr trains":              "as cooper",
	"archer learn":             "as oreal",
	"archer replay":            "its critics learn from the store",
	"mrmbench learn":           "as oreal",
	"reasoning-vectors trains": "the formula of a model names who learns there",
	"reward-math truth":        "it is measured, and never paid",
	"rlmt truth":               "as reward-math",
	"rlpt truth":               "as reward-math",
	"rlprompt truth":           "as reward-math",
	"rlprompt learn":           "as oreal",
	"critique-rl truth":        "as reward-math",
	"rlbff truth":              "as reward-math",
	"master-rm truth":          "as reward-math",
	"writing-zero truth":       "as reward-math",
	"contrastive-sql truth":    "as reward-math",
	"rlmt learn":               "the reward reads the head that it trains",
}

// manyPrompts are recipes whose parts wait for what few groups show.
var manyPrompts = map[string]int{"empo": 32, "b-star": 24, "cr-planner": 48, "laser-d": 32, "think-rm": 32, "sws": 32, "clpo": 96, "alp-gmm": 32, "self-rewarded-efficiency": 32, "adcl": 32, "trapo": 32, "co-reward": 24, "critique-coder": 32, "socratic-zero": 32, "coderl-plus": 32, "libra": 32, "agent-rlvr": 32, "prorag": 32, "reinforced-ir": 32, "routerag": 32, "cures": 32, "oorl": 32, "synlogic": 32}

// moreSteps are those of recipes whose parts wait for what earlier steps leave.
var moreSteps = map[string]int{"trapo": 8, "b-star": 20, "rlpr": 12, "drpo": 24, "co-reward": 3, "gain-rl": 24, "laser-d": 4}

// longImitation are the steps of imitation of recipes whose parts wait for what the policy writes: the first ones, at
// the test's rate, undo what the start knows.
var longImitation = map[string]int{"int": 40, "critique-rl": 60, "clpo": 40, "rlot": 60, "think-rm": 120, "libra": 120, "rusca": 120, "router-r1": 60, "critique-coder": 120, "socratic-zero": 200}

// stubs are verifiers in place of those that read what the tiny model never writes.
var stubs = map[string]string{
	"spct": "def reward(row, completion):\n    return completion.count('1') % 2",
	"int":  "def reward(row, completion):\n    return hash(row['question']) % 2, row['answer']", // what it proposes is never one step
}

// longest are the tokens of a completion of recipes whose answers are longer than a call of a tool.
var longest = map[string]int{"tablegpt-r1": 32}

// easyTask is one that a tiny model learns the form of in a moment, and solves now and then. It
// stands in for the task of every recipe.
const easyTask = `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.1}}`

// calculatorTask is easyTask with a tool.
const calculatorTask = `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, calls = "tags", episode = {turns = 2, tokens = 64}, settings = {terms = 3, max_number = 3, max_total = 6, careless = 0.5, brief = 1.0}, tool = [{tool = "calculator", options = {digits = 2}, shown = "{id}", shown_share = 0.5}]}`

// easyOnes are problems of worlds and mixtures that a tiny model learns the form of in a moment. They stand in for
// those of recipes with these tasks, by the task, or by the recipe that needs others; the models begin from the recipe
// beside them, as those of another line, or as those of easyTask.
var easyOnes = map[string]struct{ from, task string }{
	"guess":             {"guess-tiny", `task={name = "guess", eval_problems = 1, eval_samples = 1, settings = {size = 7, largest = 15, turns = 3, recap = true, aimed = 0.5}}`},
	"mixture":           {"mixture-tiny", `task={name = "mixture", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 16, settings = {of = "chain_sum max_number=2 max_total=4 careless=0.2 brief=0.5; program max_factor=4 max_total=12 careless=0.5"}}`},
	"coderl-plus":       {"mixture-tiny", `task={name = "mixture", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 16, settings = {of = "program max_factor=9 max_total=12 careless=0.5; trace max_factor=4 max_total=12 careless=0.2"}}`},
	"program":           {"autotriton", `task={name = "program", eval_problems = 1, eval_samples = 1, settings = {max_factor = 4, max_total = 12, careless = 0.5}}`},
	"llm-proxy-reward":  {"countdown-tiny", `task={name = "countdown", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {numbers = 2, max_number = 22, max_total = 45, aimed = 0}}`},
	"rewrite":           {"convsearch-r1", `task={name = "rewrite", eval_problems = 1, eval_samples = 1, settings = {things = 8, relations = 3, noise = 8, talk = 1, aimed = 0.4, thought = true}}`},
	"thinktuning":       {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 20, settings = {terms = 3, max_number = 2, max_total = 4, careless = 0.3}}`},
	"master-rm":         {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 10, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.1}}`},
	"int":               {"countdown-tiny", `task={name = "countdown", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 40, settings = {numbers = 3, max_number = 4, max_total = 7, aimed = 0.5}}`},
	"rlmt":              {"countdown-tiny", `task={name = "countdown", eval_problems = 1, eval_samples = 1, settings = {numbers = 2, max_number = 4, max_total = 7, aimed = 0.5}}`},
	"countdown_search":  {"astro", `task={name = "countdown_search", eval_problems = 1, eval_samples = 1, settings = {fewest = 2, max_number = 3, max_total = 6, tries = 2, verifies = true}}`},
	"ampo":              {"astro", `task={name = "countdown_search", eval_problems = 1, eval_samples = 1, settings = {numbers = 2, max_number = 4, max_total = 8, tries = 1, verifies = false, backward = true}}`},
	"order-of-rows":     {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, settings = {terms = 4, max_number = 20, max_total = 40, careless = 0.1}}`},
	"climb":             {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, settings = {terms = 4, max_number = 20, max_total = 40, careless = 0.1}}`},
	"latent-trajectory": {"chain-sum-tiny", easyTask},                                                                                                                                                        // of two layers
	"self-prm":          {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 16, settings = {terms = 3, max_number = 2, max_total = 4, careless = 0.1}}`}, // with a solution and a verdict
	"critique-rl":       {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 18, settings = {terms = 3, max_number = 2, max_total = 4, careless = 0.3}}`}, // with a working
	"rlprompt":          {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 16, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.1}}`}, // texts stand after a completion
	"think-rm":          {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {terms = 2, max_number = 2, max_total = 4, careless = 0.3}}`},
	"rooms":             {"rooms-tiny", `task={name = "rooms", eval_problems = 1, eval_samples = 1, settings = {rooms = 4, turns = 6, aimed = 0.5}}`},
	"library":           {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 8, settings = {hops = 1, things = 8, relations = 3, noise = 3, turns = 3, searched = 0.5}}`},
	"reseek":            {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 1, things = 8, relations = 3, noise = 3, turns = 3, searched = 0.5, judged = true, lies = 0.3}}`},
	"chatr1":            {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 1, things = 8, relations = 3, noise = 3, turns = 3, searched = 0.5, talk = 1}}`},
	"ssp":               {"ssp", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 1, things = 8, relations = 3, noise = 1, turns = 2, searched = 0.5}, episode = {tokens = 60}}`},
	"absolute-zero":     {"absolute-zero", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.1}}`},
	"clpo":              {"clpo", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 9, settings = {terms = 3, max_number = 3, max_total = 5, careless = 0.3}}`},
	"sws":               {"sws", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 9, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.3}}`},
	"rlpt":              {"clpo", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 12, settings = {terms = 3, max_number = 2, max_total = 4, careless = 0.3}}`},
	"secrepair":         {"autotriton", `task={name = "program", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {max_factor = 4, max_total = 12, careless = 0.5}}`},
	"table":             {"tablegpt-r1", `task={name = "table", eval_problems = 1, eval_samples = 1, settings = {rows = 3, most = 3, words = 0.8, careless = 0.4}}`},
	"socratic-zero":     {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {terms = 3, max_number = 20, max_total = 40, careless = 0.1}}`},
	"zerosearch":        {"library", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 1, things = 8, relations = 3, noise = 3, turns = 3, searched = 0.8, writer = "simulator"}}`},
	"ai-searchplanner":  {"library", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 1, things = 8, relations = 3, known = 1, noise = 3, turns = 3, searched = 0.8, reader = "reader"}}`},
	"supo":              {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 2, things = 8, relations = 3, noise = 3, turns = 3, searched = 0.8}, episode = {tokens = 34, summary = {at = 20, ask = ":"}}}`},
	"masksearch":        {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 3, things = 8, relations = 3, noise = 3, turns = 4, searched = 0.5}}`},
	"routerag":          {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 2, things = 8, relations = 3, noise = 3, turns = 3, searched = 0.8, routes = true}}`},
	"adasearch":         {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 1, things = 8, relations = 4, known = 2, noise = 3, turns = 3, searched = 0.5}}`},
	"grpo-tcr":          {"calculator-tiny", calculatorTask},
	"datarus":           {"calculator-tiny", calculatorTask},
	"calculators":       {"calculator-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, calls = "tags", episode = {turns = 3, tokens = 96}, settings = {terms = 3, max_number = 3, max_total = 6, careless = 0.5, brief = 1.0}, tool = [{tool = "calculator", name = "dear", options = {digits = 2}, shown = "{id}", shown_share = 0.3}, {tool = "calculator", name = "cheap", options = {digits = 1}, shown = "{id}", shown_share = 0.5}]}`},
	"router-r1":         {"calculators", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, calls = "tags", episode = {turns = 3, tokens = 96}, settings = {terms = 3, max_number = 3, max_total = 6, careless = 0.5, brief = 1.0}, tool = [{tool = "ask", name = "dear", options = {model = "big", context = 24, max_tokens = 6, temperature = 1}, shown = "{question}", shown_share = 0.3}, {tool = "ask", name = "cheap", options = {model = "small", context = 24, max_tokens = 6, temperature = 1}, shown = "{question}", shown_share = 0.5}]}`},
	"rlot":              {"", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 8, episode = {turns = 3, tokens = 56}, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.1}, tool = [{tool = "blocks", options = {model = "writer", step = "^[^=]*=[0-9]+", draws = 4, context = 40, max_tokens = 16}}]}`}, // of the start of easyTask
	"forms":             {"rooms-tiny", `task={name = "forms", eval_problems = 1, eval_samples = 1, settings = {pages = 2, fields = 2, values = 3, turns = 6, aimed = 0.9}}`},
	"behavior-priming":  {"library-tiny", `task={name = "library", eval_problems = 1, eval_samples = 1, settings = {hops = 1, things = 8, relations = 3, noise = 3, turns = 3, searched = 0.5, lies = 0.3, slips = 0.5}}`},

	"pedagogical-alignment": {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 16, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.1}}`},
	"critique-coder":        {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {terms = 2, max_number = 2, max_total = 4, careless = 0.3}}`},
	"libra":                 {"chain-sum-tiny", `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {terms = 2, max_number = 2, max_total = 4, careless = 0.3}}`},
}

// TestActs takes two steps of every stage of the recipes of published systems, with a tiny
// model that knows the form of answers and is right now and then. It then puts back, one at a
// time, the keys of the stages and the parts and numbers of their methods that differ from the
// recipe that it begins from: the weights must differ after one of the steps, or the key does
// nothing; of recipes about evaluation their own metrics may differ. Nothing is evaluated or written, and the first difference ends a run. In all of these
// steps sampler and trainer must agree to the bit (acting.exact).
func TestActs(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains by every recipe with each of its changes put back")
	}
	dev, err := gpu.Open("ref")
	must(t, err)
	defer dev.Close()
	start, rows, first := warmModel(t, dev), rowsOfAll(t), map[string][]rollout.Segment{}
	controlled, unneeded := map[string]bool{}, maps.Clone(doesNotAct) // fields of recipes; keys
	maps.Copy(unneeded, actsLater)
	maps.Copy(unneeded, staysPut)
	warm := map[string]string{} // models that know the form of answers to easyOnes
	other := func(name string) string {
		if easyOnes[name].from == "" {
			return start
		}
		if from := easyOnes[name].from; from == "library" || from == "calculators" {
			name = from
		}
		if warm[name] == "" {
			warm[name] = warmWorld(t, dev, easyOnes[name].from, easyOnes[name].task)
		}
		return warm[name]
	}
	for _, p := range presets.All() {
		if p.Field == "" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			full, err := recipe.Load(p.Name, nil)
			must(t, err)
			if !slices.ContainsFunc(full.Stages, func(st recipe.Stage) bool { return st.Learns() && !st.Skip }) {
				return // no weights tell whether a key acts
			}
			text, err := settings.Parse(p.Name, p.Text)
			must(t, err)
			base, err := recipe.Load(text.Tree()["base"].(string), nil)
			must(t, err)
			a := &acting{t: t, dev: dev, name: p.Name, field: p.Field, full: full, first: first, moved: map[string]bool{}, unneeded: unneeded}
			easy := full.Task.Name
			if easyOnes[p.Name].task != "" {
				easy = p.Name
			}
			if a.small(full, start, rows); easyOnes[easy].task != "" {
				a.other(easyOnes[easy].task, other(easy))
			}
			all := a.changes(stageTrees(t, full), stageTrees(t, base))
			if len(all) == 0 && p.Field != "evaluation" {
				t.Error("it says nothing that its base does not")
			}
			want := a.course(nil)
			a.compares(full)
			a.shows(p.Head.ShownBy)
			if !controlled[p.Field] && !slices.Equal(want, a.course(nil)) {
				t.Fatal("two equal courses differ: no difference shows that a key acts")
			}
			controlled[p.Field] = true
			for _, change := range all {
				if a.acts(want, change) {
					continue
				}
				if key := p.Name + " " + change.key; doesNotAct[key] != "" || actsLater[key] != "" {
					delete(unneeded, key)
					continue
				}
				t.Errorf("%s does nothing: with %s the weights are the same", change.key, strings.Join(change.sets, " or "))
			}
		})
	}
	if len(unneeded) > 0 && !filtered() {
		t.Errorf("doesNotAct, actsLater or staysPut names keys that act, or that their recipe does not change: %q", slices.Sorted(maps.Keys(unneeded)))
	}
}

// filtered tells whether some recipes alone are asked for.
func filtered() bool {
	f := flag.Lookup("test.run")
	return f != nil && strings.Contains(f.Value.String(), "/")
}

// acts tells whether the weights differ once a change is put back. What goes back beside it
// would make a difference of its own: where the recipe is accepted with that alone, it is what
// the change is held against.
func (a *acting) acts(want []string, c change) bool {
	if len(c.beside) > 0 && a.loads(c.beside[0]) {
		want = a.course(nil, c.beside...)
	}
	return slices.ContainsFunc(c.sets, func(set string) bool {
		return !slices.Equal(want, a.course(want, append([]string{set}, c.beside...)...))
	})
}

// acting is a recipe that is made small.
type acting struct {
	t     *testing.T
	dev   gpu.Device
	name  string
	field string
	sets  []string
	first map[string][]rollout.Segment // what the models of the start have drawn, by model and request

	unneeded map[string]string // lines of doesNotAct and staysPut that were not needed so far

	compared float64 // tokens whose log-probs sampler and trainer both computed
	full     *recipe.Recipe
	moved    map[string]bool // metrics that a step had with a value that says that something acts
}

// exact holds that policy/mismatch_kl is exactly 0, and no token's log-prob another one, over
// the tokens that a step's own policy drew: for whatever the recipe samples, filters or weighs.
func (a *acting) exact(row metrics.Row) {
	a.t.Helper()
	a.compared += row["policy/compared"]
	for name, value := range row {
		if metrics.Acts(name, value) {
			a.moved[name] = true
		}
	}
	if compared, is := row["policy/compared"]; is && compared == 0 {
		return // all that it learns from is replayed, or was written by others
	}
	if row["policy/mismatch_kl"] != 0 || row["policy/equal"] != row["policy/compared"] {
		a.t.Errorf("sampler and trainer differ: mismatch_kl %g, %g of %g log-probs are equal", row["policy/mismatch_kl"], row["policy/equal"], row["policy/compared"])
	}
}

// notHere says why the metric that shows a recipe's mechanism cannot move in two small steps.
var notHere = map[string]string{
	"limit-of-rlvr":     "nothing is evaluated here",
	"invisible-leash":   "nothing is evaluated here",
	"math-beyond":       "nothing is evaluated here",
	"reasoning-vectors": "nothing is evaluated here",
	"parallel-r1":       "the tiny model writes no tags",
}

// shows is an error if the metric in which a recipe is said to be seen has not moved.
func (a *acting) shows(metric string) {
	a.t.Helper()
	if moves := metric == "" || a.moved[metric]; moves == (notHere[a.name] != "") {
		a.t.Errorf("%s moves: %v (%q); those that do: %q", metric, moves, notHere[a.name], slices.Sorted(maps.Keys(a.moved)))
	}
}

// compares is an error if a recipe that learns from what it draws has compared nothing.
func (a *acting) compares(r *recipe.Recipe) {
	a.t.Helper()
	learns := slices.ContainsFunc(r.Stages, func(st recipe.Stage) bool { return st.Kind == recipe.KindRL && !st.Skip })
	if learns && a.compared == 0 {
		a.t.Error("no log-prob of the sampler was compared with the trainer's")
	}
}

// remembered is a sampler that draws no more than once, with the weights of the start, what a
// request asks for: it is a function of both, and most first steps ask for the same.
type remembered struct {
	rollout.Sampler
	start string                       // the model
	drawn map[string][]rollout.Segment // by model and request
}

func (m *remembered) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	var unknown []rollout.Request
	for _, r := range requests {
		if m.drawn[m.start+fmt.Sprint(r)] == nil {
			unknown = append(unknown, r)
		}
	}
	if len(unknown) > 0 {
		all, err := m.Sampler.Sample(ctx, unknown)
		if err != nil {
			return nil, err
		}
		for i, r := range unknown {
			m.drawn[m.start+fmt.Sprint(r)] = all[i]
		}
	}
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		out[i] = slices.Clone(m.drawn[m.start+fmt.Sprint(r)])
	}
	return out, nil
}

// other puts one of easyOnes in the place of the easy task, with a tiny model that knows its form.
func (a *acting) other(task, start string) {
	a.sets[0], a.sets[1] = task, "model={path = "+strconv.Quote(start)+"}"
	for i, set := range a.sets {
		if at, limit := strings.CutSuffix(set, "sampling.max_completion_tokens=14"); limit {
			a.sets[i] = fmt.Sprint(at, "sampling.max_completion_tokens=", max(28, longest[a.name])) // a call has its tags
		}
	}
}

// small makes two steps of every stage that the recipe changes, and leaves out the others.
func (a *acting) small(full *recipe.Recipe, start, rows string) {
	a.sets = []string{easyTask, "model={path = " + strconv.Quote(start) + "}", "micro_batch_tokens=2048", "sampler_sequences=128", "expect=[]"} // it may name metrics that a change puts back
	if full.Task.FromData() {
		a.sets[0] = "task={verifier = \"task:chain_sum\", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, data = " + strconv.Quote(easyRows(a.t)) + "}"
	}
	if !full.Samples() {
		a.sets = []string{"task={held_out = 0.2, data = " + strconv.Quote(rows) + "}", "model={path = " + strconv.Quote(chatModel(a.t)) + "}"}
	}
	for i, st := range full.Stages {
		at := fmt.Sprintf("stage.%d.", i)
		set := func(format string, args ...any) { a.sets = append(a.sets, at+fmt.Sprintf(format, args...)) }
		if stub := stubs[a.name]; stub != "" && len(st.Verifiers) > 0 {
			set("verifier.0.source=%q", stub)
		}
		if st.Kind == recipe.KindMake {
			for _, few := range []string{"steps=2", "prompts_per_step=8", "group_size=4", "sample_every=0", "sampling.max_completion_tokens=14"} {
				set("%s", few)
			}
			if longImitation[a.name] > 0 { // of many problems
				set("prompts_per_step=128")
				if !slices.ContainsFunc(st.Make, func(m recipe.Making) bool { return m.Each == "pair" }) {
					set("group_size=1")
				}
			}
			for k, m := range st.Make {
				if m.By != "" {
					set("make.%d.max_tokens=20", k)
				}
			}
			continue
		}
		if st.Kind == recipe.KindEval {
			continue
		}
		set("algorithm.as_written=true") // a key that is put back may leave a method that learns nothing
		set("checkpoint_every=0")
		set("optimizer.lr=1e-2")
		set("optimizer.warmup_steps=0")
		if st.Kind != recipe.KindRL {
			set("batch_size=8")
			set("test_every=1000")
			if st.Kind == recipe.KindPreference {
				set("steps=2")
			} else {
				set("hold_steps=%d", max(1, longImitation[a.name]))
				set("decay_steps=1")
			}
			if st.SFT.MaxTokens > 0 {
				set("max_tokens=%d", min(80, st.SFT.MaxTokens))
			}
			if len(st.Sources) > 0 { // of the test's task
				set("max_tokens=48")
			}
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(st.Learn)) {
			if st.Learn[name].MaxTokens > 48 {
				set("learn.%s.max_tokens=48", name)
			}
		}
		if st.Numbers.MaxCompletionTokens != "" {
			set(`numbers.max_completion_tokens="8"`)
		}
		if st.Numbers.GroupSize != "" {
			set(`numbers.group_size="3"`)
		}
		if st.SecondChance.Rows != "" { // whether or not some group fails as a whole
			set("second_chance.when=group_min(reward) < 1")
		}
		if len(st.Curriculum.Teacher.Space) > 0 { // of the test's task
			set("curriculum.teacher.space={terms = [2, 4], max_number = [1, 2]}")
			set("curriculum.teacher.refit=16")
		}
		if st.Best.Every > 0 {
			set("best.every=2")
		}
		if st.Lists() && !full.Task.FromData() {
			set("curriculum.pool=48") // the task has 54
		}
		set("max_not_scored=1") // a key that is put back may leave a judge whose answers cannot be read
		set("steps=%d", max(2, moreSteps[a.name]))
		set("prompts_per_step=%d", max(8, manyPrompts[a.name]))
		if t := st.Tree; st.Grows() {
			set("tree.roots=%d", min(2, t.Roots))
			set("tree.rounds=%d", min(2, t.Rounds))
			set("tree.open=%d", min(2, t.Open))
			set("tree.width=%d", min(2, t.Width))
		} else {
			set("group_size=%d", min(4, st.GroupSize))
		}
		set("second_chance.replace=%d", min(2, st.SecondChance.Replace))
		set("updates_per_rollout=%d", min(4, st.UpdatesPerRollout))
		for _, never := range []string{"eval_every=0", "patience=0", "eval_problems=1", "sample_every=0", "token_every=0", "sampling.max_completion_tokens=14"} {
			set("%s", never)
		}
	}
}

// course takes the steps of the recipe with further overrides. It is the hashes of the
// weights after each, up to the first that is not that of another course, and of what a model says that
// a stage measures.
func (a *acting) course(other []string, sets ...string) []string {
	a.t.Helper()
	full, err := recipe.Load(a.name, slices.Concat(a.sets, sets))
	must(a.t, err)
	r := &run{}
	defer r.close()
	must(a.t, r.open(Options{Opened: opened(a.t, full), Device: a.dev}, stageParts...))
	collector := r.parts.Collector
	own := collector.Sampler
	if collector.Episodes == nil { // turns are asked for side by side
		collector.Sampler = &remembered{own, a.sets[1], a.first}
	}
	var course []string
	for at := (train.Position{}); at.Stage < len(full.Stages); at.Stage, at.Step = at.Stage+1, 0 {
		if full.Stages[at.Stage].Skip {
			continue
		}
		stage, err := train.New(r.parts, at.Stage)
		must(a.t, err)
		must(a.t, r.parts.Cast.Begin(full, at.Stage))
		if full.Stages[at.Stage].Kind == recipe.KindEval {
			course = append(course, a.said(r.parts.Cast))
		}
		for ; ; at.Step, at.Total = at.Step+1, at.Total+1 {
			event, err := stage.Step(a.t.Context(), at)
			if errors.Is(err, io.EOF) {
				break
			}
			// By a judge that a change has left untaught, or for want of rows that it would have written.
			if other != nil && (errors.Is(err, train.ErrNotScored) || errors.Is(err, recipe.ErrInvalid)) {
				return append(course, err.Error())
			}
			must(a.t, err)
			a.exact(event.Metrics)
			collector.Sampler = own
			n := len(course)
			if course = append(course, a.hash(r.parts.Cast.Policy)+a.measured(event.Metrics)); n < len(other) && course[n] != other[n] {
				return course
			}
		}
	}
	return course
}

// measured is what the metrics of a recipe's own say, if it is about what they measure.
func (a *acting) measured(row metrics.Row) string {
	if a.field != "evaluation" {
		return ""
	}
	own := maps.Clone(row)
	maps.DeleteFunc(own, func(name string, _ float64) bool { return !strings.HasPrefix(name, "my/") })
	return fmt.Sprint(own)
}

// said is the hash of some completions by whoever has the place of the policy, with their log-probs.
func (a *acting) said(c *cast.Cast) string {
	a.t.Helper()
	drawn, err := c.Own.Sample(a.t.Context(), []rollout.Request{{Prompt: []int{2, 3, 4}, N: 4, Params: rollout.Params{MaxTokens: 8, Temperature: 1}}})
	must(a.t, err)
	h := sha256.New()
	for _, s := range drawn[0] {
		fmt.Fprint(h, s.IDs, s.Logprob)
	}
	return string(h.Sum(nil))
}

// hash is that of the policy's weights, an adapter's if they are what is trained.
func (a *acting) hash(p *cast.Policy) string {
	a.t.Helper()
	files, err := p.Save()
	must(a.t, err)
	h := sha256.New()
	for _, name := range []string{"model.safetensors", "adapter_model.safetensors"} {
		if write := files[name]; write != nil {
			must(a.t, write(h))
		}
	}
	return string(h.Sum(nil))
}

// change puts one thing back.
type change struct {
	key    string   // of the stage, such as algorithm.keep
	sets   []string // overrides, one of which has to act
	beside []string // what goes back with it
}

// changes lists what differs from the base, stage by stage. A stage that the base does not
// have is held against its first one of that kind. Stages that say nothing new are left out.
func (a *acting) changes(own, below []map[string]any) []change {
	a.t.Helper()
	var all []change
	for _, who := range slices.Sorted(maps.Keys(a.full.Models)) { // which is no copy that stays and reads the policy's prompts
		m := a.full.Models[who]
		for _, k := range []struct{ set, back string }{{"follow", "0"}, {"renew", "0"}, {"prompt", ""}} {
			if k.set == "follow" && m.Follow > 0 || k.set == "renew" && m.Renew > 0 || k.set == "prompt" && m.Prompt != "" {
				all = append(all, change{key: "models." + who + "." + k.set, sets: []string{"models." + who + "." + k.set + "=" + k.back}})
			}
		}
	}
	for i, st := range own {
		at := fmt.Sprintf("stage.%d", i)
		all = append(all, makes(own, i)...)
		if st["kind"] == recipe.KindMake { // the rest acts through the stages that draw its rows
			continue
		}
		j := slices.IndexFunc(below, func(b map[string]any) bool { return b["name"] == st["name"] })
		if j < 0 {
			j = slices.IndexFunc(below, func(b map[string]any) bool { return b["kind"] == st["kind"] })
		}
		if j < 0 && len(settings.Tables(st["source"])) > 0 { // what rows are made acts through it
			continue
		}
		if who, _ := st["trains"].(string); st["kind"] == recipe.KindEval && who != "" {
			m := a.full.Models[who]
			for key, back := range map[string]string{"weights": "policy", "logits": "policy + 1e-3*(" + m.Logits + ")"} {
				if key == m.Variant() {
					all = append(all, change{key: "models." + who + "." + key, sets: []string{"models." + who + "." + key + "=" + back}})
				}
			}
			continue
		}
		if j < 0 || st["kind"] == recipe.KindEval {
			a.sets = append(a.sets, at+".skip=true")
			continue
		}
		method := below[j]["algorithm"].(map[string]any)
		one := a.method(at+".algorithm", st["algorithm"].(map[string]any), method, ratioIsOne(st))
		stays := false
		for _, c := range a.keys(at, "", st, below[j]) {
			if !a.loads(c.sets[0]) { // the method reads what the key gives
				c.beside = []string{at + ".algorithm=" + tomlOf(method)}
				if alone := []string{"models={}"}; !a.loads(c.sets[0], c.beside...) && a.loads(c.sets[0], alone...) { // the key alone asks them
					c.beside = alone
				}
				if !a.loads(c.sets[0], c.beside...) {
					if key := a.name + " " + c.key; staysPut[key] != "" {
						delete(a.unneeded, key)
						stays = true
					} else {
						a.t.Errorf("%s cannot be put back: with %s, with its method or without, the recipe is not accepted", c.key, c.sets[0])
					}
					continue
				}
			}
			one = append(one, c)
		}
		if len(one) == 0 && st["kind"] != recipe.KindRL && !stays {
			a.sets = append(a.sets, at+".skip=true")
		}
		all = append(all, one...)
	}
	return all
}

// makes puts back the conditions of a stage's tables that make rows. A bound is lowered to two rows, since two
// steps make fewer than a recipe keeps, and so are those of other tables with the same rows, of which the largest holds.
func makes(stages []map[string]any, i int) []change {
	var all []change
	tables := settings.Tables(stages[i]["make"])
	for k, m := range tables {
		key := fmt.Sprintf("make.%d.", k)
		if m["where"] != "" {
			all = append(all, change{key: key + "where", sets: []string{fmt.Sprintf(`stage.%d.%swhere=""`, i, key)}})
		}
		if fmt.Sprint(m["most"]) == "0" {
			continue
		}
		c := change{key: key + "most", sets: []string{fmt.Sprintf("stage.%d.%smost=2", i, key)}}
		for j, st := range stages {
			for l, other := range settings.Tables(st["make"]) {
				if (j != i || l != k) && other["rows"] == m["rows"] {
					c.beside = append(c.beside, fmt.Sprintf("stage.%d.make.%d.most=2", j, l))
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// stageTrees are the stages of a recipe as the tables of its resolved text.
func stageTrees(t *testing.T, r *recipe.Recipe) []map[string]any {
	t.Helper()
	text, err := settings.Parse(r.Name, r.Resolved())
	must(t, err)
	return settings.Tables(text.Tree()["stage"])
}

// keys are the keys of a table that differ, the method's excepted.
func (a *acting) keys(at, inside string, own, base map[string]any) []change {
	var all []change
	for _, key := range slices.Sorted(maps.Keys(own)) {
		name := strings.TrimPrefix(inside+"."+key, ".")
		if name == "algorithm" || slices.Contains(setByTest, name) || fmt.Sprint(own[key]) == fmt.Sprint(base[key]) {
			continue
		}
		table, is := own[key].(map[string]any)
		under, was := base[key].(map[string]any)
		if is && was {
			one := a.keys(at, name, table, under)
			if !slices.ContainsFunc(one, func(c change) bool { return !a.loads(c.sets[0]) }) {
				all = append(all, one...)
				continue
			} // keys that need each other go back together
		}
		back := base[key]
		if _, list := own[key].([]map[string]any); list && back == nil {
			back = []any{}
		}
		if name == "trains" { // which the text of a stage has that does not train the policy
			back = recipe.PolicyModel
		}
		all = append(all, change{key: name, sets: []string{at + "." + name + "=" + tomlOf(back)}})
	}
	return all
}

// loads tells whether the recipe is accepted with some more overrides.
func (a *acting) loads(set string, more ...string) bool {
	r, err := recipe.Load(a.name, slices.Concat(a.sets, []string{set}, more))
	if err == nil {
		_, err = resolve.Open(r, nil)
	}
	return err == nil
}

// partDefaults are the parts that mean something to the trainer, and what they are where a
// method does not say.
var partDefaults = map[string]string{"keep": "true", "advantage": "", "policy": "", "weight": "1", "penalty": "0", "loss": "token_mean(weight*policy + penalty)"}

// ratioIsOne tells whether all that a stage learns from is drawn with the weights that it is
// learned with: no clip of the ratio then makes a difference.
func ratioIsOne(st map[string]any) bool {
	chance, _ := st["second_chance"].(map[string]any)
	replay, _ := st["replay"].(map[string]any)
	return fmt.Sprint(st["updates_per_rollout"], st["lag"]) == "1 0" && textOr(chance["when"], "") == "" && textOr(replay["store"], "") == ""
}

// method puts back parts, numbers and states of a method. Where a part does not go with the
// rest, as with a loss of its own kind, the whole method is put back once.
func (a *acting) method(at string, own, base map[string]any, ratioIsOne bool) []change {
	var all []change
	whole := false
	for _, part := range slices.Sorted(maps.Keys(partDefaults)) {
		mine, its := textOr(own[part], partDefaults[part]), textOr(base[part], partDefaults[part])
		if mine == its {
			continue
		}
		if mine == "" { // the loss does without it
			whole = true
			continue
		}
		c := change{key: "algorithm." + part, sets: []string{at + "." + part + "=" + its}}
		if !a.loads(c.sets[0]) {
			whole = true
			continue
		}
		all = append(all, c)
	}
	named, other := a.formulas(at, own, base)
	all, whole = append(all, named...), whole || other
	if whole && a.loads(at+"="+tomlOf(base)) {
		all = append(all, change{key: "algorithm", sets: []string{at + "=" + tomlOf(base)}})
	}
	defaults := map[string]float64{}
	for _, p := range algo.Library() {
		maps.Copy(defaults, p.Parameters)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value, number := own[name].(float64)
		its, known := base[name].(float64)
		if !known {
			its, known = defaults[name]
		}
		if !number || known && value == its || ratioIsOne && (name == "clip_low" || name == "clip_high") {
			continue
		}
		// Where two bounds are too near to tell apart in two steps, the number has to act at 0. A
		// number of the method's own formulas has nothing to go back to: it has to act at 0 or 1.
		if !known {
			its = 1
		}
		key := at + "." + name + "="
		sets := slices.DeleteFunc([]string{key + tomlOf(its), key + "0.0"}, func(set string) bool { return !a.loads(set) })
		all = append(all, change{key: "algorithm." + name, sets: sets})
	}
	states, _ := own["state"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(states)) { // it stays as it is
		all = append(all, change{key: "algorithm.state." + name, sets: []string{at + ".state." + name + ".next=" + tomlOf(name)}})
	}
	return all
}

// formulas puts back the formulas that the method names itself: to those of its preset, or of
// the library. One of its own has nothing to go back to: the reward or 1 stands in its place.
// other: one of them goes with nothing that could stand there.
func (a *acting) formulas(at string, own, base map[string]any) (all []change, other bool) {
	known := map[string]string{}
	for _, p := range algo.Library() {
		known[p.Name] = p.Formula
	}
	if name := textOr(own["preset"], ""); name != "" {
		preset, err := algo.LoadMethod(name)
		must(a.t, err)
		maps.Copy(known, preset.Formulas)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		mine, text := own[name].(string)
		if _, trainers := partDefaults[name]; !text || trainers || name == "preset" || mine == textOr(base[name], "") {
			continue
		}
		back := []string{"reward", "1"}
		if its, there := known[name]; there {
			if strings.TrimSpace(its) == strings.TrimSpace(mine) {
				continue
			}
			back = []string{its}
		}
		i := slices.IndexFunc(back, func(its string) bool { return a.loads(at + "." + name + "=" + tomlOf(its)) })
		if i < 0 {
			other = true
			continue
		}
		all = append(all, change{key: "algorithm." + name, sets: []string{at + "." + name + "=" + tomlOf(back[i])}})
	}
	return all, other
}

func textOr(value any, fallback string) string {
	if text, ok := value.(string); ok {
		return text
	}
	return fallback
}

// tomlOf is a value as TOML.
func tomlOf(value any) string {
	switch v := value.(type) {
	case nil: // a table that the base does not have
		return "{}"
	case string:
		return strconv.Quote(v)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".eni") {
			text += ".0"
		}
		return text
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, tomlOf(x))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case map[string]any:
		var out []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, strconv.Quote(key)+" = "+tomlOf(v[key]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	return fmt.Sprint(value)
}
