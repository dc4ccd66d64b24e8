package tasks

import (
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// Asker is a task whose world asks a model of the recipe, where its settings name one. The world of the task itself asks
// nobody, and goes by rules: demonstrations and players are of that.
type Asker interface {
	Episodic
	// Asks is who is asked, and how, and the setting that says so; nil: nobody is.
	Asks() (setting string, whom *tools.Whom)
	// Answered is the world whose questions are answered.
	Answered(by tools.Answerer) world.World
	// Lesson is a question that the world may ask about a problem, and what a rule says to it. Stages that imitate
	// teach it to the model.
	Lesson(r *random.Rand, row verify.Problem) (question, answer string, err error)
}
