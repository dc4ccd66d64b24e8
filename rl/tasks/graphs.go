package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Graphs and paths: course_schedule, shortest_path, maze, path_star,
// graph_color, jugs, quantum_lock.

func init() {
	type settings struct {
		MinNumCourses       int     `toml:"min_num_courses" range:"[5,200]" about:"minimum number of courses"`
		MaxNumCourses       int     `toml:"max_num_courses" range:"[5,200]" about:"maximum number of courses"`
		MinNumPrerequisites int     `toml:"min_num_prerequisites" range:"[1,10]" about:"minimum number of prerequisites of a course"`
		MaxNumPrerequisites int     `toml:"max_num_prerequisites" range:"[1,10]" about:"maximum number of prerequisites of a course"`
		MinCycleLength      int     `toml:"min_cycle_length" range:"[3,20]" about:"minimum number of courses in a planted cycle"`
		MaxCycleLength      int     `toml:"max_cycle_length" range:"[3,20]" about:"maximum number of courses in a planted cycle"`
		PSolvable           float64 `toml:"p_solvable" range:"[0,1]" about:"share of problems without a cycle"`
	}
	generate(family[settings]{
		name: "course_schedule", summary: "decide whether all courses can be taken",
		about:    "decide whether all courses can be taken, given their prerequisites. Right: True or False, in any case.",
		format:   trueOrFalse,
		defaults: settings{5, 10, 1, 2, 3, 5, 0.5},
		curriculum: []Attribute{
			{"num_courses", []float64{5, 10, 25, 50, 100}, []string{"min_num_courses", "max_num_courses"}},
			{"num_prerequisites", []float64{2, 3, 4, 5}, []string{"min_num_prerequisites", "max_num_prerequisites"}},
			{"cycle_length", []float64{3, 4, 5}, []string{"min_cycle_length", "max_cycle_length"}},
		},
		check: sameFold,
		valid: func(s *settings) error {
			if s.MaxCycleLength > s.MinNumCourses {
				return outOfRange("max_cycle_length", s.MaxCycleLength, fmt.Sprintf("a whole number from 3 to min_num_courses = %d", s.MinNumCourses))
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinNumCourses, s.MaxNumCourses)
			order := sample(r, countTo(n), n) // no course needs a later one
			var needs [][2]int
			for i := 1; i < n; i++ {
				for _, k := range sample(r, countTo(i), min(i, r.Between(s.MinNumPrerequisites, s.MaxNumPrerequisites))) {
					needs = append(needs, [2]int{order[i], order[k]})
				}
			}
			solvable := r.Chance(s.PSolvable)
			if !solvable {
				cycle := sample(r, order, r.Between(s.MinCycleLength, s.MaxCycleLength))
				for i, c := range cycle {
					if edge := [2]int{c, cycle[(i+1)%len(cycle)]}; !slices.Contains(needs, edge) {
						needs = append(needs, edge)
					}
				}
			}
			shuffle(r, needs)
			var pairs []string
			for _, e := range needs {
				pairs = append(pairs, fmt.Sprintf("%d needs %d", e[0], e[1]))
			}
			return problem{
				question: fmt.Sprintf("There are courses 0 to %d. A course can be taken only after all those it needs: %s. Can all courses be taken?", n-1, strings.Join(pairs, ", ")),
				answer:   yesNo(solvable),
			}, true
		},
	})
}

var directions = map[string][2]int{"up": {-1, 0}, "down": {1, 0}, "left": {0, -1}, "right": {0, 1}}

// gridPath is the problem of a grid with *, # and walls X.
type gridPath struct {
	cells      [][]string
	start, end [2]int
	distances  [][]int // from the start; -1: not to be reached
}

func newGridPath(cells [][]string) (*gridPath, error) {
	g := &gridPath{cells: cells}
	starts, ends := 0, 0
	for i, row := range cells {
		if len(row) != len(cells[0]) {
			return nil, errors.New("the rows of the matrix have different lengths")
		}
		for j, c := range row {
			switch c {
			case "*":
				g.start = [2]int{i, j}
				starts++
			case "#":
				g.end = [2]int{i, j}
				ends++
			}
		}
	}
	if starts != 1 || ends != 1 {
		return nil, errors.New("the matrix does not have exactly one * and one #")
	}
	g.distances = spread(len(cells), len(cells[0]), func(i, j int) bool { return cells[i][j] == "*" }, func(i, j int) bool { return cells[i][j] != "X" })
	return g, nil
}

func (g *gridPath) length() int { return g.distances[g.end[0]][g.end[1]] }

// solution is a shortest path, or "infeasible".
func (g *gridPath) solution() string {
	if g.length() < 0 {
		return "infeasible"
	}
	var moves []string
	for at := g.end; at != g.start; {
		for _, name := range []string{"up", "down", "left", "right"} {
			d := directions[name]
			i, j := at[0]-d[0], at[1]-d[1]
			if i >= 0 && i < len(g.cells) && j >= 0 && j < len(g.cells[0]) && g.distances[i][j] >= 0 && g.distances[i][j] == g.distances[at[0]][at[1]]-1 {
				moves = append(moves, name)
				at = [2]int{i, j}
				break
			}
		}
	}
	slices.Reverse(moves)
	return strings.Join(moves, " ")
}

func (g *gridPath) check(answer string) error {
	if answer == "infeasible" {
		if g.length() >= 0 {
			return fmt.Errorf("there is a path of %d steps", g.length())
		}
		return nil
	}
	at, steps := g.start, strings.Fields(answer)
	for n, step := range steps {
		d, ok := directions[step]
		if !ok {
			return fmt.Errorf("%s is not a direction", short(step))
		}
		at = [2]int{at[0] + d[0], at[1] + d[1]}
		if at[0] < 0 || at[0] >= len(g.cells) || at[1] < 0 || at[1] >= len(g.cells[0]) || g.cells[at[0]][at[1]] == "X" {
			return fmt.Errorf("step %d leads into a wall or out of the grid", n+1)
		}
	}
	switch {
	case at != g.end:
		return fmt.Errorf("the path does not end at #")
	case len(steps) != g.length():
		return fmt.Errorf("it has %d steps, the shortest has %d", len(steps), g.length())
	}
	return nil
}

// randomCells is a grid of O and X with one start and one end.
func randomCells(r *random.Rand, rows, cols int, blocked float64) [][]string {
	cells := make([][]string, rows)
	for i := range cells {
		for range cols {
			cells[i] = append(cells[i], map[bool]string{true: "X", false: "O"}[r.Chance(blocked)])
		}
	}
	ends := sample(r, countTo(rows*cols), 2)
	cells[ends[0]/cols][ends[0]%cols] = "*"
	cells[ends[1]/cols][ends[1]%cols] = "#"
	return cells
}

func init() {
	type settings struct {
		MinRows  int     `toml:"min_rows" range:"[2,100]" about:"minimum number of rows"`
		MaxRows  int     `toml:"max_rows" range:"[2,100]" about:"maximum number of rows"`
		MinCols  int     `toml:"min_cols" range:"[2,100]" about:"minimum number of columns"`
		MaxCols  int     `toml:"max_cols" range:"[2,100]" about:"maximum number of columns"`
		PBlocked float64 `toml:"p_blocked" range:"[0,0.95]" about:"share of blocked cells"`
		Balanced bool    `toml:"balanced" about:"leave one grid in 10 without a path; false: leave it to chance"`
	}
	generate(family[settings]{
		name: "shortest_path", summary: "find a shortest path through a grid",
		about: `find a shortest path from * to # around X. Right: every shortest sequence of moves that
gets there, or "infeasible" if there is no path.`,
		format:   "The answer is moves such as: up left left down. If there is no way it is the word infeasible.",
		defaults: settings{5, 8, 5, 8, 0.4, true},
		curriculum: []Attribute{
			{"rows", []float64{10, 25, 50, 100}, []string{"min_rows", "max_rows"}},
			{"cols", []float64{10, 25, 50, 100}, []string{"min_cols", "max_cols"}},
		},
		check: func(row verify.Problem, answer string) error {
			var cells [][]string
			if err := needed(row, "matrix", &cells); err != nil {
				return err
			}
			g, err := newGridPath(cells)
			if err != nil {
				return &rowError{err}
			}
			return g.check(answer)
		},
		balance: halves("without a path", "with a path", func(p problem) bool { return p.answer == "infeasible" },
			func(s *settings) (float64, bool) { return rareKind, s.Balanced }),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			cells := randomCells(r, r.Between(s.MinRows, s.MaxRows), r.Between(s.MinCols, s.MaxCols), s.PBlocked)
			g, err := newGridPath(cells)
			if err != nil {
				return problem{}, false
			}
			return problem{
				key:      gridText(cells),
				question: "Find a shortest way from * to # in this grid. Steps lead to the next cell up, down, left or right; X cannot be entered, O can.\n" + gridText(cells),
				answer:   g.solution(), metadata: map[string]any{"matrix": cells},
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinDist     int     `toml:"min_dist" range:"[1,200]" about:"minimum number of steps of the path"`
		MaxDist     int     `toml:"max_dist" range:"[1,200]" about:"maximum number of steps of the path"`
		MinGridSize int     `toml:"min_grid_size" range:"[4,100]" about:"minimum number of rows and columns"`
		MaxGridSize int     `toml:"max_grid_size" range:"[4,100]" about:"maximum number of rows and columns"`
		PWall       float64 `toml:"p_wall" range:"[0,0.6]" about:"share of walls"`
	}
	generate(family[settings]{
		name: "maze", summary: "count the steps of a shortest path",
		about:    "find the length of a shortest path through a maze. Right: a number equal to it.",
		format:   wholeNumber,
		defaults: settings{5, 10, 5, 10, 0.3},
		curriculum: []Attribute{
			{"dist", []float64{10, 15, 20, 25}, []string{"max_dist"}}, // from min_dist on: one distance alone is one answer
			{"grid_size", []float64{10, 25, 50, 100}, []string{"min_grid_size", "max_grid_size"}},
		},
		check: sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinGridSize, s.MaxGridSize)
			g, err := newGridPath(randomCells(r, n, n, s.PWall))
			if err != nil {
				return problem{}, false
			}
			lines := make([]string, n)
			for i, row := range g.cells {
				lines[i] = strings.NewReplacer("X", "%", "O", ".", "*", "S", "#", "G").Replace(strings.Join(row, ""))
			}
			return problem{
				question: "How many steps has a shortest way from S to G in this maze? A step leads up, down, left or right; % is a wall, the maze ends at its edges.\n" + strings.Join(lines, "\n"),
				answer:   strconv.Itoa(g.length()),
			}, s.MinDist <= g.length() && g.length() <= s.MaxDist
		},
	})
}

func init() {
	type settings struct {
		Degree        int `toml:"degree" range:"[2,50]" about:"paths that leave the start"`
		NodeRange     int `toml:"node_range" range:"[1000,1000000]" about:"largest label"`
		MinPathLength int `toml:"min_path_length" range:"[2,50]" about:"minimum number of nodes of a path after the start"`
		MaxPathLength int `toml:"max_path_length" range:"[2,50]" about:"maximum number of nodes of a path after the start"`
	}
	generate(family[settings]{
		name: "path_star", summary: "find the arm of a star that ends at the goal",
		about:    "find the path from the start to the goal in a star of paths. Right: its labels in order, with white space between.",
		format:   "The answer is the labels from the start to the goal with spaces between.",
		defaults: settings{3, 100000, 3, 5},
		curriculum: []Attribute{
			{"degree", []float64{2, 3, 4, 5}, []string{"degree"}},
			{"node_range", []float64{10000, 50000, 100000, 200000}, []string{"node_range"}},
			{"path_length", []float64{3, 5, 6, 7}, []string{"min_path_length", "max_path_length"}},
		},
		check: sameFields,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			length, seen := r.Between(s.MinPathLength, s.MaxPathLength), map[int]bool{}
			label := func() int {
				for {
					if n := r.Between(1, s.NodeRange); !seen[n] {
						seen[n] = true
						return n
					}
				}
			}
			start := label()
			var edges, path []string
			for arm := range s.Degree {
				at := start
				nodes := []string{strconv.Itoa(start)}
				for range length {
					next := label()
					edges = append(edges, fmt.Sprintf("%d-%d", at, next))
					nodes = append(nodes, strconv.Itoa(next))
					at = next
				}
				if arm == 0 {
					path = nodes
				}
			}
			shuffle(r, edges)
			return problem{
				question: fmt.Sprintf("A graph has these edges, each written as two labels: %s. Find the path from %d to %s.", strings.Join(edges, " "), start, path[len(path)-1]),
				answer:   strings.Join(path, " "),
			}, true
		},
	})
}

// rareKind is the share of problems that have no solution, where the answer says so.
const rareKind = 0.1

// vertexLabels is how many labels vertices are given from.
const vertexLabels = 1000

// colouring is the row's part for graph_color.
type colouring struct {
	Vertices []int    `json:"vertices"`
	Edges    [][2]int `json:"edges"`
	Options  []int    `json:"color_options"`
}

func init() {
	type settings struct {
		NumColors       int     `toml:"num_colors" range:"[2,10]" about:"number of colours"`
		MinNumVertices  int     `toml:"min_num_vertices" range:"[3,100]" about:"minimum number of vertices"`
		MaxNumVertices  int     `toml:"max_num_vertices" range:"[3,100]" about:"maximum number of vertices"`
		EdgeProbability float64 `toml:"edge_probability" range:"[0.01,0.99]" about:"probability of an edge between two vertices of different planted colours"`
	}
	generate(family[settings]{
		name: "graph_color", summary: "colour a graph",
		about: `colour the vertices of a graph so that no edge joins two of one colour. The graphs are drawn
around a planted colouring. Right: a JSON object that gives each vertex one of the allowed
colours, as whole numbers, and no edge the same colour at both ends.`,
		format:   `The answer is a JSON object from vertices to colours, such as {"0": 1, "1": 2}.`,
		defaults: settings{3, 10, 10, 0.1},
		curriculum: []Attribute{
			{"num_vertices", []float64{6, 10, 20, 25}, []string{"min_num_vertices", "max_num_vertices"}},
			{"num_colors", []float64{5, 4, 3}, []string{"num_colors"}},
		},
		check: func(row verify.Problem, answer string) error {
			var p colouring
			if err := needed(row, "puzzle", &p); err != nil {
				return err
			}
			var colours map[string]int
			if err := parseJSON(answer, &colours); err != nil {
				return err
			}
			if len(colours) != len(p.Vertices) {
				return fmt.Errorf("it colours %d of %d vertices", len(colours), len(p.Vertices))
			}
			for _, v := range p.Vertices {
				if c, ok := colours[strconv.Itoa(v)]; !ok || !slices.Contains(p.Options, c) {
					return fmt.Errorf("vertex %d does not have one of the allowed colours", v)
				}
			}
			for _, e := range p.Edges {
				if colours[strconv.Itoa(e[0])] == colours[strconv.Itoa(e[1])] {
					return fmt.Errorf("vertices %d and %d have the same colour", e[0], e[1])
				}
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			// Random labels, as a colouring of 0 to n-1 would be right for many graphs.
			p := colouring{Vertices: sample(r, countTo(vertexLabels), r.Between(s.MinNumVertices, s.MaxNumVertices)), Edges: [][2]int{}}
			slices.Sort(p.Vertices)
			for c := range s.NumColors {
				p.Options = append(p.Options, c+1)
			}
			planted := make([]string, len(p.Vertices))
			colour := make([]int, len(p.Vertices))
			for i, v := range p.Vertices {
				colour[i] = pick(r, p.Options)
				planted[i] = fmt.Sprintf(`"%d": %d`, v, colour[i])
				for k, u := range p.Vertices[:i] {
					if colour[k] != colour[i] && r.Chance(s.EdgeProbability) {
						p.Edges = append(p.Edges, [2]int{u, v})
					}
				}
			}
			var edges []string
			for _, e := range p.Edges {
				edges = append(edges, fmt.Sprintf("%d-%d", e[0], e[1]))
			}
			return problem{
				question: fmt.Sprintf("Give each of the vertices %s one of the colours %s so that the two ends of every edge differ. The edges: %s.", joined(p.Vertices, ", "), joined(p.Options, ", "), strings.Join(edges, ", ")),
				answer:   "{" + strings.Join(planted, ", ") + "}", metadata: map[string]any{"puzzle": p},
			}, len(edges) > 0
		},
	})
}

// jugPuzzle is the row's part for jugs.
type jugPuzzle struct {
	Capacities []int `json:"jug_capacities"`
	Target     int   `json:"target"`
}

// move makes one move on the levels; false: it is none.
func (p jugPuzzle) move(levels []int, text string) bool {
	jug := func(name string) int {
		if len(name) != 1 || name[0] < 'A' || int(name[0]-'A') >= len(levels) {
			return -1
		}
		return int(name[0] - 'A')
	}
	verb, object, _ := strings.Cut(strings.Join(strings.Fields(text), " "), " ")
	switch from, to, _ := strings.Cut(object, "->"); verb {
	case "fill", "empty":
		i := jug(object)
		if i < 0 {
			return false
		}
		levels[i] = map[string]int{"fill": p.Capacities[i], "empty": 0}[verb]
	case "pour":
		i, j := jug(from), jug(to)
		if i < 0 || j < 0 || i == j {
			return false
		}
		n := min(levels[i], p.Capacities[j]-levels[j])
		levels[i] -= n
		levels[j] += n
	default:
		return false
	}
	return true
}

// moves are all moves by name.
func (p jugPuzzle) moves() []string {
	var all []string
	for i := range p.Capacities {
		a := string(rune('A' + i))
		all = append(all, "fill "+a, "empty "+a)
		for j := range p.Capacities {
			if i != j {
				all = append(all, "pour "+a+"->"+string(rune('A'+j)))
			}
		}
	}
	return all
}

// solve is a shortest list of moves (breadth first); nil: there is none.
func (p jugPuzzle) solve() []string {
	type node struct {
		levels []int
		before int
		move   string
	}
	queue := []node{{levels: make([]int, len(p.Capacities)), before: -1}}
	seen := map[string]bool{fmt.Sprint(queue[0].levels): true}
	all := p.moves()
	for at := 0; at < len(queue); at++ {
		if slices.Contains(queue[at].levels, p.Target) {
			var path []string
			for i := at; queue[i].before >= 0; i = queue[i].before {
				path = append(path, queue[i].move)
			}
			slices.Reverse(path)
			return path
		}
		for _, m := range all {
			next := slices.Clone(queue[at].levels)
			p.move(next, m)
			if key := fmt.Sprint(next); !seen[key] {
				seen[key] = true
				queue = append(queue, node{next, at, m})
			}
		}
	}
	return nil
}

// maxMoves bounds lists of moves.
const maxMoves = 10_000

func init() {
	type settings struct {
		NumJugs    int `toml:"num_jugs" range:"[2,4]" about:"number of jugs"`
		Difficulty int `toml:"difficulty" range:"[1,12]" about:"minimum length of the shortest solution, in moves"`
	}
	generate(family[settings]{
		name: "jugs", summary: "measure water with jugs",
		about: `fill, empty and pour jugs until one holds the target. Right: every list of moves that
does so. An invalid move makes the list wrong; pouring a jug into itself is invalid.`,
		format:   `The answer is a JSON list of moves, such as ["fill A", "pour A->B", "empty B"].`,
		defaults: settings{3, 6},
		curriculum: []Attribute{
			{"num_jugs", []float64{3, 4}, []string{"num_jugs"}},
			{"difficulty", []float64{2, 4, 6, 8}, []string{"difficulty"}},
		},
		check: func(row verify.Problem, answer string) error {
			var p jugPuzzle
			if err := needed(row, "puzzle", &p); err != nil {
				return err
			}
			if len(p.Capacities) == 0 || len(p.Capacities) > 26 {
				return lacks("the row has no capacities")
			}
			var moves []string
			if err := parseJSON(answer, &moves); err != nil {
				return err
			}
			if len(moves) > maxMoves {
				return fmt.Errorf("there are more than %d moves", maxMoves)
			}
			levels := make([]int, len(p.Capacities))
			for _, m := range moves {
				if !p.move(levels, m) {
					return fmt.Errorf("%s is not a move", short(m))
				}
			}
			if !slices.Contains(levels, p.Target) {
				return fmt.Errorf("no jug holds %d litres at the end", p.Target)
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			p := jugPuzzle{Capacities: several(r, s.NumJugs, s.NumJugs, 3, 9+2*s.Difficulty)}
			if p.Target = r.Between(1, slices.Max(p.Capacities)); s.NumJugs == 4 && slices.Max(p.Capacities) > 16 {
				return problem{}, false // too many states
			}
			moves := p.solve()
			var jugs []string
			for i, c := range p.Capacities {
				jugs = append(jugs, fmt.Sprintf("%c holds %d", 'A'+i, c))
			}
			return problem{
				key: fmt.Sprint(slices.Sorted(slices.Values(p.Capacities)), p.Target),
				question: fmt.Sprintf("There are empty jugs beside a well; in litres, %s. \"fill A\" fills a jug at the well, \"empty A\" empties it, \"pour A->B\" pours until A is empty or B is full. How do you get exactly %d litres into one jug?",
					strings.Join(jugs, ", "), p.Target),
				answer: `["` + strings.Join(moves, `", "`) + `"]`, metadata: map[string]any{"puzzle": p},
			}, len(moves) >= s.Difficulty
		},
	})
}
