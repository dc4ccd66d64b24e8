package tasks

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Matrices and grids: spiral_matrix, rotate_matrix, manipulate_matrix,
// pool_matrix, binary_matrix, rotten_oranges, largest_island.

const matrixFormat = "The answer is a matrix in the same form: one row a line, numbers with spaces between."

// turned is the grid rotated clockwise by 90 degrees.
func turned(grid [][]int) [][]int {
	out := make([][]int, len(grid[0]))
	for j := range out {
		for i := len(grid) - 1; i >= 0; i-- {
			out[j] = append(out[j], grid[i][j])
		}
	}
	return out
}

// transposed mirrors along the main diagonal.
func transposed(grid [][]int) [][]int {
	out := make([][]int, len(grid[0]))
	for j := range out {
		for i := range grid {
			out[j] = append(out[j], grid[i][j])
		}
	}
	return out
}

func cloned(grid [][]int) [][]int {
	out := make([][]int, len(grid))
	for i := range grid {
		out[i] = slices.Clone(grid[i])
	}
	return out
}

// spiral reads the grid clockwise from the outside in.
func spiral(grid [][]int) []int {
	var out []int
	for len(grid) > 0 {
		out = append(out, grid[0]...)
		if grid = grid[1:]; len(grid) > 0 { // turn the rest counterclockwise
			grid = turned(turned(turned(grid)))
		}
	}
	return out
}

func init() {
	type settings struct {
		MinN int `toml:"min_n" range:"[2,100]" about:"minimum number of rows and columns"`
		MaxN int `toml:"max_n" range:"[2,100]" about:"maximum number of rows and columns"`
	}
	generate(family[settings]{
		name: "spiral_matrix", summary: "read a matrix in a spiral",
		about:      "list the entries of a square matrix in a clockwise spiral. Right: the numbers in that order, with white space between.",
		format:     "The answer is the numbers with spaces between.",
		defaults:   settings{2, 10},
		curriculum: []Attribute{{"n", []float64{10, 25, 50, 100}, []string{"min_n", "max_n"}}},
		check:      sameFields,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinN, s.MaxN)
			grid := digitGrid(r, n, n, 9)
			return problem{
				key:      gridText(grid),
				question: "Read this matrix clockwise in a spiral: along the first row, down the last column, back along the last row, up the first column, and on inside.\n" + gridText(grid),
				answer:   spaced(spiral(grid)),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinN         int `toml:"min_n" range:"[2,100]" about:"minimum number of rows and columns"`
		MaxN         int `toml:"max_n" range:"[2,100]" about:"maximum number of rows and columns"`
		MinRotations int `toml:"min_rotations" range:"[0,100]" about:"minimum number of quarter turns"`
		MaxRotations int `toml:"max_rotations" range:"[0,100]" about:"maximum number of quarter turns"`
	}
	generate(family[settings]{
		name: "rotate_matrix", summary: "rotate a matrix by quarter turns",
		about:    "rotate a square matrix clockwise. Right: the rotated matrix, row by row.",
		format:   matrixFormat,
		defaults: settings{2, 10, 0, 10},
		curriculum: []Attribute{
			{"n", []float64{10, 25, 50, 100}, []string{"min_n", "max_n"}},
			{"num_rotations", []float64{1, 5, 10, 15, 20}, []string{"min_rotations", "max_rotations"}},
		},
		check: sameGrid,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n, turns := r.Between(s.MinN, s.MaxN), r.Between(s.MinRotations, s.MaxRotations)
			grid := digitGrid(r, n, n, 9)
			out := grid
			for range turns % 4 {
				out = turned(out)
			}
			return problem{
				question: fmt.Sprintf("Rotate this matrix clockwise by %d degrees.\n%s", 90*turns, gridText(grid)),
				answer:   gridText(out),
			}, true
		},
	})
}

// matrixSteps draw a step of manipulate_matrix: its text and its result, or
// false where it would leave nothing.
var matrixSteps = []func(r *random.Rand, grid [][]int) (string, [][]int, bool){
	func(r *random.Rand, grid [][]int) (string, [][]int, bool) {
		turns := r.Between(1, 3)
		for range turns {
			grid = turned(grid)
		}
		return fmt.Sprintf("Rotate it clockwise by %d degrees", 90*turns), grid, true
	},
	func(_ *random.Rand, grid [][]int) (string, [][]int, bool) {
		for _, row := range grid {
			slices.Reverse(row)
		}
		return "Mirror it left to right", grid, true
	},
	func(_ *random.Rand, grid [][]int) (string, [][]int, bool) {
		slices.Reverse(grid)
		return "Mirror it top to bottom", grid, true
	},
	func(_ *random.Rand, grid [][]int) (string, [][]int, bool) {
		return "Mirror it along the diagonal from the top left to the bottom right", transposed(grid), true
	},
	func(_ *random.Rand, grid [][]int) (string, [][]int, bool) {
		return "Mirror it along the diagonal from the top right to the bottom left", turned(turned(transposed(grid))), true
	},
	func(r *random.Rand, grid [][]int) (string, [][]int, bool) {
		from, to := r.Between(0, 9), r.Between(0, 9)
		for _, row := range grid {
			for j := range row {
				if row[j] == from {
					row[j] = to
				}
			}
		}
		return fmt.Sprintf("Replace every %d by %d", from, to), grid, true
	},
	func(r *random.Rand, grid [][]int) (string, [][]int, bool) {
		top, left := r.Between(0, len(grid)-1), r.Between(0, len(grid[0])-1)
		bottom, right := r.Between(top, len(grid)-1), r.Between(left, len(grid[0])-1)
		var out [][]int
		for _, row := range grid[top : bottom+1] {
			out = append(out, row[left:right+1])
		}
		return fmt.Sprintf("Keep only rows %d to %d and columns %d to %d, counted from 1", top+1, bottom+1, left+1, right+1), out, true
	},
	func(r *random.Rand, grid [][]int) (string, [][]int, bool) {
		n := r.Between(2, 4)
		var out [][]int
		for i, row := range grid {
			if (i+1)%n != 0 {
				out = append(out, row)
			}
		}
		return fmt.Sprintf("Remove rows %d, %d, %d and so on, counted from 1, as far as there are any", n, 2*n, 3*n), out, true
	},
	func(r *random.Rand, grid [][]int) (string, [][]int, bool) {
		n := r.Between(2, 4)
		out := make([][]int, len(grid))
		for i, row := range grid {
			for j, x := range row {
				if (j+1)%n != 0 {
					out[i] = append(out[i], x)
				}
			}
		}
		return fmt.Sprintf("Remove columns %d, %d, %d and so on, counted from 1, as far as there are any", n, 2*n, 3*n), out, true
	},
	func(r *random.Rand, grid [][]int) (string, [][]int, bool) {
		n := r.Between(2, 9)
		for _, row := range grid {
			for j := range row {
				if row[j]%n == 0 {
					row[j] = 0
				}
			}
		}
		return fmt.Sprintf("Replace every number that %d divides by 0", n), grid, true
	},
}

func init() {
	type settings struct {
		MinRows       int `toml:"min_rows" range:"[2,100]" about:"minimum number of rows"`
		MaxRows       int `toml:"max_rows" range:"[2,100]" about:"maximum number of rows"`
		MinCols       int `toml:"min_cols" range:"[2,100]" about:"minimum number of columns"`
		MaxCols       int `toml:"max_cols" range:"[2,100]" about:"maximum number of columns"`
		MinTransforms int `toml:"min_transforms" range:"[1,50]" about:"minimum number of steps"`
		MaxTransforms int `toml:"max_transforms" range:"[1,50]" about:"maximum number of steps"`
	}
	generate(family[settings]{
		name: "manipulate_matrix", summary: "apply steps to a matrix",
		about:    "apply rotations, mirrorings, replacements and removals to a matrix in turn. Right: the resulting matrix, row by row.",
		format:   matrixFormat,
		defaults: settings{2, 10, 2, 10, 1, 10},
		curriculum: []Attribute{
			{"rows", []float64{10, 25, 50, 100}, []string{"min_rows", "max_rows"}},
			{"cols", []float64{10, 25, 50, 100}, []string{"min_cols", "max_cols"}},
			{"num_transforms", []float64{1, 3, 5, 10, 15}, []string{"min_transforms", "max_transforms"}},
		},
		check: sameGrid,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			start := digitGrid(r, r.Between(s.MinRows, s.MaxRows), r.Between(s.MinCols, s.MaxCols), 9)
			grid, text := cloned(start), ""
			for i := range r.Between(s.MinTransforms, s.MaxTransforms) {
				step, next, _ := pick(r, matrixSteps)(r, cloned(grid))
				grid = next
				text += fmt.Sprintf("%d. %s.\n", i+1, step)
			}
			return problem{
				question: "Begin with this matrix:\n" + gridText(start) + "\nChange it step by step:\n" + text + "Which matrix do you have then?",
				answer:   gridText(grid),
			}, true
		},
	})
}

// numberGrid reads a matrix of decimals.
func numberGrid(text string) ([][]*big.Rat, error) {
	var out [][]*big.Rat
	for _, words := range gridOf(text) {
		row := make([]*big.Rat, len(words))
		for i, w := range words {
			x, err := verify.ParseNumber(w, true)
			if err != nil {
				return nil, err
			}
			row[i] = x
		}
		out = append(out, row)
	}
	return out, nil
}

// checkPooled: a matrix of the reference's shape whose numbers lie within 0.005,
// half a unit of the second decimal, or within 1 %, as the original has it.
func checkPooled(row verify.Problem, answer string) error {
	want, err := numberGrid(row.Answer)
	if err != nil || len(want) == 0 {
		return lacks("the row's answer is not a matrix")
	}
	got, err := numberGrid(answer)
	if err != nil {
		return err
	}
	near := func(got, want *big.Rat) bool {
		d, percent := distance(got, want), new(big.Rat).Mul(want, big.NewRat(1, 100))
		return d.Cmp(big.NewRat(1, 200)) <= 0 || d.Cmp(percent.Abs(percent)) <= 0
	}
	return judged(row, slices.EqualFunc(got, want, func(a, b []*big.Rat) bool { return slices.EqualFunc(a, b, near) }))
}

func init() {
	type settings struct {
		MinRows     int `toml:"min_rows" range:"[2,100]" about:"minimum number of rows"`
		MaxRows     int `toml:"max_rows" range:"[2,100]" about:"maximum number of rows"`
		MinCols     int `toml:"min_cols" range:"[2,100]" about:"minimum number of columns"`
		MaxCols     int `toml:"max_cols" range:"[2,100]" about:"maximum number of columns"`
		MinPoolSize int `toml:"min_pool_size" range:"[1,20]" about:"minimum number of rows and columns of a window"`
		MaxPoolSize int `toml:"max_pool_size" range:"[1,20]" about:"maximum number of rows and columns of a window"`
	}
	generate(family[settings]{
		name: "pool_matrix", summary: "pool the windows of a matrix by maximum or mean",
		about: `replace each window of a matrix by its largest number or its mean; windows at the right and
lower edge may be smaller. Right: a matrix whose numbers are within 0.005 or 1 %.`,
		format:   matrixFormat + " Round to 2 decimals.",
		defaults: settings{2, 10, 2, 10, 1, 3},
		curriculum: []Attribute{
			{"rows", []float64{10, 25, 50, 100}, []string{"min_rows", "max_rows"}},
			{"cols", []float64{10, 25, 50, 100}, []string{"min_cols", "max_cols"}},
			{"pool_size", []float64{3, 5, 7, 9}, []string{"min_pool_size", "max_pool_size"}},
		},
		check: checkPooled,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			grid := digitGrid(r, r.Between(s.MinRows, s.MaxRows), r.Between(s.MinCols, s.MaxCols), 9)
			size, mean := r.Between(s.MinPoolSize, s.MaxPoolSize), r.Chance(0.5)
			var out [][]string
			for top := 0; top < len(grid); top += size {
				var line []string
				for left := 0; left < len(grid[0]); left += size {
					sum, count, most := 0, 0, 0
					for _, row := range grid[top:min(top+size, len(grid))] {
						for _, x := range row[left:min(left+size, len(row))] {
							sum, count, most = sum+x, count+1, max(most, x)
						}
					}
					if mean {
						line = append(line, big.NewRat(int64(sum), int64(count)).FloatString(2))
					} else {
						line = append(line, strconv.Itoa(most))
					}
				}
				out = append(out, line)
			}
			what := map[bool]string{true: "mean", false: "largest number"}[mean]
			return problem{
				question: fmt.Sprintf("Cut this matrix into windows of %d x %d from the top left, without overlap; windows at the right and lower edge may be cut off. Replace each by its %s.\n%s", size, size, what, gridText(grid)),
				answer:   gridText(out),
			}, true
		},
	})
}

// spread is the distance of each cell from the nearest source in steps to
// neighbours, through cells that may be entered; -1 where there is no way.
func spread(rows, cols int, source, enter func(i, j int) bool) [][]int {
	out := make([][]int, rows)
	var queue [][2]int
	for i := range out {
		out[i] = make([]int, cols)
		for j := range out[i] {
			if out[i][j] = -1; source(i, j) {
				out[i][j] = 0
				queue = append(queue, [2]int{i, j})
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, d := range [][2]int{{0, 1}, {1, 0}, {0, -1}, {-1, 0}} {
			i, j := at[0]+d[0], at[1]+d[1]
			if i >= 0 && i < rows && j >= 0 && j < cols && out[i][j] < 0 && enter(i, j) {
				out[i][j] = out[at[0]][at[1]] + 1
				queue = append(queue, [2]int{i, j})
			}
		}
	}
	return out
}

func init() {
	type settings struct {
		MinN  int     `toml:"min_n" range:"[2,100]" about:"minimum number of rows and columns"`
		MaxN  int     `toml:"max_n" range:"[2,100]" about:"maximum number of rows and columns"`
		PZero float64 `toml:"p_zero" range:"[0.01,0.99]" about:"share of zeros"`
	}
	generate(family[settings]{
		name: "binary_matrix", summary: "find the distance of each cell from the nearest 0",
		about:    "find each cell's distance from the nearest 0 of a binary matrix. Right: the matrix of distances.",
		format:   matrixFormat,
		defaults: settings{3, 10, 0.25},
		curriculum: []Attribute{
			{"p_zero", []float64{0.5, 0.25, 0.1, 0.05}, []string{"p_zero"}},
			{"n", []float64{10, 25, 50, 100}, []string{"min_n", "max_n"}},
		},
		check: sameGrid,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n, zeros := r.Between(s.MinN, s.MaxN), 0
			grid := digitGrid(r, n, n, 0)
			for i := range grid {
				for j := range grid[i] {
					if r.Chance(s.PZero) {
						zeros++
					} else {
						grid[i][j] = 1
					}
				}
			}
			distances := spread(n, n, func(i, j int) bool { return grid[i][j] == 0 }, func(int, int) bool { return true })
			return problem{
				key:      gridText(grid),
				question: "How far is each cell of this matrix from the nearest 0, in steps up, down, left and right? A 0 is 0 steps away.\n" + gridText(grid),
				answer:   gridText(distances),
			}, zeros > 0
		},
	})
}

func init() {
	type settings struct {
		MinN     int     `toml:"min_n" range:"[2,100]" about:"minimum number of rows and columns"`
		MaxN     int     `toml:"max_n" range:"[2,100]" about:"maximum number of rows and columns"`
		POranges float64 `toml:"p_oranges" range:"[0.01,1]" about:"share of cells with an orange"`
		PRotten  float64 `toml:"p_rotten" range:"[0.01,1]" about:"share of oranges that are rotten"`
		Balanced bool    `toml:"balanced" about:"leave fresh oranges in one grid in 10; false: leave it to chance"`
	}
	generate(family[settings]{
		name: "rotten_oranges", summary: "find when all oranges are rotten",
		about:      "find after how many minutes no orange is fresh, or -1 if one stays fresh. Right: a number equal to it.",
		format:     "The answer is the number of minutes, or -1 if some orange stays fresh.",
		defaults:   settings{10, 30, 0.85, 0.1, true},
		curriculum: []Attribute{{"n", []float64{10, 25, 50, 100}, []string{"min_n", "max_n"}}},
		check:      sameNumber,
		balance: halves("in which an orange stays fresh", "in which all oranges become rotten", func(p problem) bool { return p.answer == "-1" },
			func(s *settings) (float64, bool) { return rareKind, s.Balanced }),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinN, s.MaxN)
			grid := digitGrid(r, n, n, 0)
			for i := range grid {
				for j := range grid[i] {
					if r.Chance(s.POranges) {
						if grid[i][j] = 1; r.Chance(s.PRotten) {
							grid[i][j] = 2
						}
					}
				}
			}
			minutes := 0
			times := spread(n, n, func(i, j int) bool { return grid[i][j] == 2 }, func(i, j int) bool { return grid[i][j] == 1 })
			for i := range grid {
				for j := range grid[i] {
					if minutes = max(minutes, times[i][j]); grid[i][j] == 1 && times[i][j] < 0 {
						minutes = n * n
					}
				}
			}
			if minutes == n*n {
				minutes = -1
			}
			return problem{
				key:      gridText(grid),
				question: "In this grid 0 is an empty cell, 1 a fresh and 2 a rotten orange. Each minute all fresh oranges above, below, left or right of a rotten one become rotten. After how many minutes is no orange fresh?\n" + gridText(grid),
				answer:   strconv.Itoa(minutes),
			}, true
		},
	})
}

// islandSizes are the numbers of connected ones.
func islandSizes(grid [][]int) []int {
	var sizes []int
	seen := cloned(grid)
	for i := range grid {
		for j := range grid[i] {
			if seen[i][j] == 0 {
				continue
			}
			reached := spread(len(grid), len(grid[0]), func(y, x int) bool { return y == i && x == j }, func(y, x int) bool { return grid[y][x] == 1 })
			size := 0
			for y := range reached {
				for x := range reached[y] {
					if reached[y][x] >= 0 {
						seen[y][x] = 0
						size++
					}
				}
			}
			sizes = append(sizes, size)
		}
	}
	return sizes
}

func init() {
	type settings struct {
		MinRows       int `toml:"min_rows" range:"[1,100]" about:"minimum number of rows"`
		MaxRows       int `toml:"max_rows" range:"[2,100]" about:"maximum number of rows"`
		MinCols       int `toml:"min_cols" range:"[1,100]" about:"minimum number of columns"`
		MaxCols       int `toml:"max_cols" range:"[2,100]" about:"maximum number of columns"`
		MinNumIslands int `toml:"min_num_islands" range:"[0,100]" about:"minimum number of walks that leave land"`
		MaxNumIslands int `toml:"max_num_islands" range:"[1,100]" about:"maximum number of walks that leave land"`
		MinIslandSize int `toml:"min_island_size" range:"[0,1000]" about:"minimum number of steps of a walk"`
		MaxIslandSize int `toml:"max_island_size" range:"[1,1000]" about:"maximum number of steps of a walk"`
	}
	generate(family[settings]{
		name: "largest_island", summary: "find the size of the largest island",
		about: `find the size of the largest group of connected ones. Random walks leave the land and
may meet. Right: a number equal to it.`,
		format:   "The answer is one whole number, 0 if there is no island.",
		defaults: settings{5, 10, 5, 10, 0, 5, 0, 10},
		curriculum: []Attribute{
			{"rows", []float64{5, 25, 50, 100}, []string{"min_rows", "max_rows"}}, {"cols", []float64{5, 25, 50, 100}, []string{"min_cols", "max_cols"}},
			{"num_islands", []float64{2, 5, 10, 20}, []string{"min_num_islands", "max_num_islands"}}, {"island_size", []float64{5, 10, 20, 30}, []string{"min_island_size", "max_island_size"}},
		},
		check: sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			grid := digitGrid(r, r.Between(s.MinRows, s.MaxRows), r.Between(s.MinCols, s.MaxCols), 0)
			for range r.Between(s.MinNumIslands, s.MaxNumIslands) {
				i, j := r.Between(0, len(grid)-1), r.Between(0, len(grid[0])-1)
				for range r.Between(s.MinIslandSize, s.MaxIslandSize) {
					grid[i][j] = 1
					d := pick(r, [][2]int{{0, 1}, {1, 0}, {0, -1}, {-1, 0}})
					i, j = min(max(i+d[0], 0), len(grid)-1), min(max(j+d[1], 0), len(grid[0])-1)
				}
			}
			return problem{
				key:      gridText(grid),
				question: "In this map 1 is land and 0 is water. Cells of land that touch at an edge, not only at a corner, belong to one island. How many cells has the largest island?\n" + gridText(grid),
				answer:   strconv.Itoa(slices.Max(append(islandSizes(grid), 0))),
			}, true
		},
	})
}
