package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// The Game of Life: game_of_life, game_of_life_halting.

// lifeStep is Conway's rule on a torus.
func lifeStep(grid [][]int) [][]int {
	rows, cols := len(grid), len(grid[0])
	next := digitLike(rows, cols)
	for i := range grid {
		for j := range grid[i] {
			n := -grid[i][j]
			for y := i + rows - 1; y <= i+rows+1; y++ {
				for x := j + cols - 1; x <= j+cols+1; x++ {
					n += grid[y%rows][x%cols]
				}
			}
			if n == 3 || n == 2 && grid[i][j] == 1 {
				next[i][j] = 1
			}
		}
	}
	return next
}

func digitLike(rows, cols int) [][]int {
	grid := make([][]int, rows)
	for i := range grid {
		grid[i] = make([]int, cols)
	}
	return grid
}

const lifeRules = "The board of the Game of Life below wraps around at its edges. In a step, a cell is alive if 3 of its 8 neighbours were, or if it was and 2 were."

// jsonGrid writes a grid as JSON, a row a line.
func jsonGrid(grid [][]int, separator string) string {
	rows := make([]string, len(grid))
	for i, row := range grid {
		raw, err := json.Marshal(row)
		if err != nil {
			panic(err) // numbers
		}
		rows[i] = string(raw)
	}
	return "[" + strings.Join(rows, ","+separator) + "]"
}

// lifeCells is a grid of numbers or truth values, as the original reads them.
func lifeCells(text string) ([][]int, error) {
	var raw [][]any
	if err := parseJSON(text, &raw); err != nil {
		return nil, err
	}
	out := make([][]int, len(raw))
	for i, row := range raw {
		for _, cell := range row {
			switch cell {
			case 0.0, false:
				out[i] = append(out[i], 0)
			case 1.0, true:
				out[i] = append(out[i], 1)
			default:
				return nil, fmt.Errorf("a cell is neither 0 nor 1")
			}
		}
	}
	return out, nil
}

func init() {
	type settings struct {
		GridSizeX       int `toml:"grid_size_x" range:"[3,100]" about:"number of columns"`
		GridSizeY       int `toml:"grid_size_y" range:"[3,100]" about:"number of rows"`
		FilledCells     int `toml:"filled_cells" range:"[1,8000]" about:"number of living cells at the start; at most the number of cells"`
		SimulationSteps int `toml:"simulation_steps" range:"[1,50]" about:"number of steps"`
	}
	generate(family[settings]{
		name: "game_of_life", summary: "advance a board of the Game of Life",
		about:    `advance a board by some steps. Right: a list of lists of 0 and 1 equal to the final board.`,
		format:   "The answer is the board as a list of rows in JSON, such as [[0,1],[1,0]].",
		defaults: settings{10, 10, 10, 1},
		curriculum: []Attribute{
			{"grid_size_x", []float64{10, 25, 50, 100}, []string{"grid_size_x"}}, {"grid_size_y", []float64{10, 25, 50, 100}, []string{"grid_size_y"}},
			{"filled_cells", []float64{10, 100, 1000, 5000}, []string{"filled_cells"}}, {"simulation_steps", []float64{1, 2, 5, 10}, []string{"simulation_steps"}},
		},
		check: func(row verify.Problem, answer string) error {
			want, err := lifeCells(row.Answer)
			if err != nil {
				return lacks("the row's answer: %v", err)
			}
			got, err := lifeCells(answer)
			if err != nil {
				return err
			}
			return judged(row, slices.EqualFunc(got, want, slices.Equal[[]int]))
		},
		valid: func(s *settings) error {
			if cells := s.GridSizeX * s.GridSizeY; s.FilledCells > cells {
				return outOfRange("filled_cells", s.FilledCells, fmt.Sprintf("a whole number from 1 to %d, the number of cells", cells))
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			grid := digitLike(s.GridSizeY, s.GridSizeX)
			for _, k := range sample(r, countTo(s.GridSizeX*s.GridSizeY), s.FilledCells) {
				grid[k/s.GridSizeX][k%s.GridSizeX] = 1
			}
			out := grid
			for range s.SimulationSteps {
				out = lifeStep(out)
			}
			return problem{
				question: fmt.Sprintf("%s What does it look like after %d steps?\n%s", lifeRules, s.SimulationSteps, jsonGrid(grid, "\n ")),
				answer:   jsonGrid(out, ""),
			}, true
		},
	})
}

func init() {
	type settings struct {
		GridSizeX          int     `toml:"grid_size_x" range:"[5,100]" about:"number of columns"`
		GridSizeY          int     `toml:"grid_size_y" range:"[5,100]" about:"number of rows"`
		Density            float64 `toml:"density" range:"[0.01,0.5]" about:"share of living cells at the start"`
		MaxSimulationSteps int     `toml:"max_simulation_steps" range:"[1,200]" about:"number of steps simulated"`
		Balanced           bool    `toml:"balanced" about:"draw boards that die out and boards that do not equally often; false: leave it to chance"`
	}
	generate(family[settings]{
		name: "game_of_life_halting", summary: "decide whether a board of the Game of Life dies out",
		about:      `decide whether a board has no living cell after some steps. Right: True or False, in any case.`,
		format:     trueOrFalse,
		defaults:   settings{12, 12, 0.08, 20, true},
		curriculum: []Attribute{{"max_simulation_steps", []float64{20, 50, 100, 200}, []string{"max_simulation_steps"}}},
		check:      sameFold,
		balance:    truthBalance(func(s *settings) (float64, bool) { return 0.5, s.Balanced }),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			grid := digitLike(s.GridSizeY, s.GridSizeX)
			for i := range grid {
				for j := range grid[i] {
					if r.Chance(s.Density) {
						grid[i][j] = 1
					}
				}
			}
			halts := func(g [][]int) bool {
				for range s.MaxSimulationSteps {
					g = lifeStep(g)
				}
				return !slices.ContainsFunc(g, func(row []int) bool { return slices.Contains(row, 1) })
			}(grid)
			return problem{
				key:      gridText(grid) + fmt.Sprint(s.MaxSimulationSteps),
				question: fmt.Sprintf("%s Is no cell alive after %d steps?\n%s", lifeRules, s.MaxSimulationSteps, gridText(grid)),
				answer:   yesNo(halts),
			}, true
		},
	})
}
