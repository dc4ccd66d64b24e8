package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[gridSettings, onMap]{
		name:    "grid",
		summary: "find the way over a map with holes and walls, or push a box to its place",
		about: `find the way over a map, step by step.

    @..o
    ..#.
    ....    d, and the map is told again with you one field below
    o..G

You are @, and G is where to go. A turn is u, d, l or r: up, down, left or right. Walls # and the edge
let nobody through. A hole o ends the game, which is lost. With boxes = 1 there is a box $, and it is the
box that has to get to G: whoever steps on it pushes it one field further, if that is free. You are + on
the field G.

Fields are drawn with equal probability. A map is discarded if the shortest way has fewer than far steps
or more than turns, or if one direction said again and again would do. One map in 16 is held out, chosen
by the CRC-32 of the map.

Best play goes the shortest way. Random turns are u, d, l and r, all alike; what they earn is worked out
for each map, from the fields that they can be on after each turn.

Demonstrations: with probability aimed a turn is a step of a shortest way, otherwise any that walls allow
and that does not lead into a hole.`,
		asked: `Find the way over a map. You are @, and G is where to go; # is a wall, and o is a hole, which ends the game. ` +
			`If there is a box $, push it to G. Each of your turns is one letter and nothing else: u, d, l or r, for up, down, left or right. ` +
			`You are told the map after it, with ? before it if the turn was not possible.`,
		defaults: gridSettings{Size: 4, Holes: 2, Walls: 2, Far: 3, Turns: 8, Aimed: 0.5},
		valid: func(s *gridSettings) error {
			if s.Far > s.Turns {
				return outOfRange("far", s.Far, fmt.Sprintf("at most turns = %d", s.Turns))
			}
			return nil
		},
		draw:  drawMap,
		open:  func(_ *gridSettings, row verify.Problem) (game[onMap], error) { return mapOf(row.Question) },
		turns: func(s *gridSettings) int { return s.Turns },
		aimed: func(s *gridSettings) float64 { return s.Aimed },
		forms: func(*gridSettings) []string { return steps },
		words: func(*gridSettings) []string {
			return append([]string{"@", "+", ".", "#", "o", "$", "G"}, steps...)
		},
		shown: func(s *gridSettings) int { return s.Size * s.Size },
		moved: func(*gridSettings) int { return 1 },
		think: func(history []world.Message) (best string, allowed []string) {
			m, err := mapOf(seen(history))
			if err != nil {
				return "", nil
			}
			near := 0
			for _, d := range steps {
				ways := m.after(m.start(), d)
				if ways == nil || ways[0].end == lost {
					continue
				}
				allowed = append(allowed, d)
				left := 0
				if ways[0].end == goesOn {
					left = m.left[ways[0].to]
				}
				if left != noWay && (best == "" || left < near) {
					best, near = d, left
				}
			}
			return best, allowed
		},
	})
}

type gridSettings struct {
	Size  int     `toml:"size" range:"[3,8]" about:"rows and columns of a map"`
	Holes int     `toml:"holes" range:"[0,20]" about:"fields that are holes"`
	Walls int     `toml:"walls" range:"[0,20]" about:"fields that are walls"`
	Boxes int     `toml:"boxes" range:"[0,1]" about:"1: a box has to be pushed to G"`
	Far   int     `toml:"far" range:"[2,30]" about:"steps of the shortest way, at least; at most turns"`
	Turns int     `toml:"turns" range:"[2,50]" about:"turns in an episode"`
	Aimed float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are on a shortest way"`
}

// steps are the turns: up, down, left, right.
var steps = []string{"u", "d", "l", "r"}

// onMap is where you and the box are; without a box that is -1.
type onMap struct{ you, box int }

// noWay is the way that is left where there is none.
const noWay = -1

// gridMap is a problem.
type gridMap struct {
	size   int
	fields []byte // [row × size + column], one of . # o
	goal   int
	first  onMap
	left   map[onMap]int // steps of the shortest way, of every position that can be reached
}

// mapOf reads a map as it is shown.
func mapOf(text string) (*gridMap, error) {
	rows := strings.Split(text, "\n")
	m := &gridMap{size: len(rows), goal: -1, first: onMap{-1, -1}}
	m.fields = []byte(strings.Join(rows, ""))
	bad := func(what string) (*gridMap, error) {
		return nil, fmt.Errorf("task grid: the row does not belong to this task: its question is no map: %s", what)
	}
	for i, row := range rows {
		if len(row) != m.size || m.size > 64 {
			return bad(fmt.Sprintf("row %d has %d fields in a map of %d rows", i+1, len(row), m.size))
		}
	}
	for at, field := range m.fields {
		var places []*int
		switch field {
		case '@':
			places = []*int{&m.first.you}
		case '+':
			places = []*int{&m.first.you, &m.goal}
		case '$':
			places = []*int{&m.first.box}
		case 'G':
			places = []*int{&m.goal}
		}
		for _, place := range places {
			if *place >= 0 {
				return bad(fmt.Sprintf("there is a second %c", field))
			}
			*place = at
			m.fields[at] = '.'
		}
		if !strings.ContainsRune(".#o", rune(m.fields[at])) {
			return bad(fmt.Sprintf("%q is no field", field))
		}
	}
	if m.first.you < 0 || m.goal < 0 || m.first.box < 0 && m.first.you == m.goal {
		return bad("it has no @ or no G")
	}
	m.measure()
	return m, nil
}

// measure finds the shortest way from each position that can be reached: backwards from those that are a
// step from the win.
func (m *gridMap) measure() {
	m.left = map[onMap]int{m.first: noWay}
	before := map[onMap][]onMap{} // where a step leads here
	var last []onMap
	for queue := []onMap{m.first}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		for _, d := range steps {
			for _, w := range m.after(p, d) {
				if w.end == won {
					m.left[p] = 1
				}
				if w.end != goesOn {
					continue
				}
				if _, known := m.left[w.to]; !known {
					m.left[w.to] = noWay
					queue = append(queue, w.to)
				}
				before[w.to] = append(before[w.to], p)
			}
		}
		if m.left[p] == 1 {
			last = append(last, p)
		}
	}
	for ; len(last) > 0; last = last[1:] {
		for _, p := range before[last[0]] {
			if m.left[p] == noWay {
				m.left[p] = m.left[last[0]] + 1
				last = append(last, p)
			}
		}
	}
}

func (m *gridMap) start() onMap { return m.first }

func (m *gridMap) show(p onMap) string {
	fields := slices.Clone(m.fields)
	fields[m.goal] = 'G'
	if p.box >= 0 {
		fields[p.box] = '$'
	}
	if fields[p.you] = '@'; p.you == m.goal {
		fields[p.you] = '+'
	}
	var rows []string
	for row := range slices.Chunk(fields, m.size) {
		rows = append(rows, string(row))
	}
	return strings.Join(rows, "\n")
}

// step is the field beside one in a direction; false: the edge or a wall is there.
func (m *gridMap) step(at int, direction string) (int, bool) {
	row, column := at/m.size, at%m.size
	switch direction {
	case "u":
		row--
	case "d":
		row++
	case "l":
		column--
	case "r":
		column++
	default:
		return 0, false
	}
	if row < 0 || column < 0 || row == m.size || column == m.size {
		return 0, false
	}
	at = row*m.size + column
	return at, m.fields[at] != '#'
}

func (m *gridMap) after(p onMap, turn string) []way[onMap] {
	to, free := m.step(p.you, turn)
	if !free {
		return nil
	}
	next, end := onMap{to, p.box}, goesOn
	if to == p.box {
		if next.box, free = m.step(to, turn); !free || m.fields[next.box] == 'o' {
			return nil
		}
	}
	switch {
	case m.fields[to] == 'o':
		end = lost
	case p.box < 0 && to == m.goal, p.box >= 0 && next.box == m.goal:
		end = won
	}
	return []way[onMap]{{1, next, end}}
}

func (m *gridMap) near(p onMap) float64 {
	if left, known := m.left[p]; known && left != noWay {
		return 1 - float64(left)/float64(m.left[m.first])
	}
	return 0
}

// drawMap draws a map.
func drawMap(s *gridSettings, r *random.Rand) (verify.Problem, bool) {
	fields := slices.Repeat([]byte{'.'}, s.Size*s.Size)
	need := strings.Repeat("o", s.Holes) + strings.Repeat("#", s.Walls) + "@G" + strings.Repeat("$", s.Boxes)
	if len(need) > len(fields) {
		return verify.Problem{}, false
	}
	for i, at := range r.Shuffled(len(fields))[:len(need)] {
		fields[at] = need[i]
	}
	var rows []string
	for row := range slices.Chunk(fields, s.Size) {
		rows = append(rows, string(row))
	}
	text := strings.Join(rows, "\n")
	m, err := mapOf(text)
	if err != nil {
		return verify.Problem{}, false
	}
	left := m.left[m.first]
	if left < s.Far || left > s.Turns || slices.ContainsFunc(steps, m.straight) {
		return verify.Problem{}, false
	}
	return verify.Problem{ID: text, Question: text}, true
}

// straight says whether one direction leads to the win.
func (m *gridMap) straight(direction string) bool {
	for p := m.first; ; {
		ways := m.after(p, direction)
		if ways == nil || ways[0].end != goesOn {
			return ways != nil && ways[0].end == won
		}
		p = ways[0].to
	}
}
