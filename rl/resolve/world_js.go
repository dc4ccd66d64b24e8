package resolve

import (
	"errors"

	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/outside"
)

// errBrowser is why no program of others plays in a browser. Without what starts them the page is smaller.
var errBrowser = errors.New("a browser starts no programs; accepted: recipes without [task.world] and mcp")

func openWorld(_ *recipe.Recipe, _ bool, _ func(string), faults *recipe.Faults) (*outside.World, prompts.Source, []string) {
	faults.Fail("task.world.command", "%w", errBrowser)
	return nil, nil, nil
}

func openServer(_ *recipe.Tool, key string, _ bool, _ func(string), faults *recipe.Faults) []world.Tool {
	faults.Fail(key+".mcp", "%w", errBrowser)
	return nil
}

// AtOnce is 0: no programs are started.
func (*Opened) AtOnce() int { return 0 }

// Close does nothing: no programs are started.
func (*Opened) Close() {}

func (*Opened) playedByOthers(*rollout.Episodes) {}
