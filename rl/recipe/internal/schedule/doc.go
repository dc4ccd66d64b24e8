// Package schedule gives the multiplier of a number of the recipe, such as the
// learning rate, at each step:
//
//	value at step i = base value × Schedule.At(i),   i = 0, 1, 2, ...
//
// The curves are those of transformers' get_scheduler (v4.57, src/transformers/optimization.py),
// also after the last step, where a cosine goes on. As there, warm-up starts at 0: the first step
// of a run that warms up changes nothing.
//
// Values are plain data and safe for concurrent use.
package schedule
