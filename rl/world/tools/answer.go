package tools

import "github.com/rlzero/rlzero/rl/world"

// answer is what a call is told: a text, or what was wrong with the call.
func answer(text string, mistake error) world.Answer {
	if mistake != nil {
		return world.Answer{Text: "mistake: " + mistake.Error(), Failed: true}
	}
	return world.Answer{Text: text}
}
