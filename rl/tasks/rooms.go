package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[roomsSettings, inRoom]{
		name:    "rooms",
		summary: "find a key and the chest behind the locked door, in rooms of which only one is seen at a time",
		about: `find the chest, in rooms of which only one is seen at a time.

    o@.#..-    1, and the marks as they are in room 1

There is a mark for each room: @ where you are, o for an open door that leads there, # for a locked one,
and a point where no door leads from here. The last mark is + if you have the key, and - if not. A turn is
the number of a room. It is possible if a door leads there and is open, or if you have the key. The key
lies in one of the rooms; who comes there takes it. The chest is in a room after the locked door: who
comes there wins. What was seen in other rooms is not told again.

The rooms are a tree: each but the first is built onto one of those before it, all alike, and the numbers
are drawn last. The locked door, the place of the key and that of the chest are drawn likewise; the key is
before the door, and not where you begin. One problem in 16 is held out, chosen by the CRC-32 of its doors
and things.

Best play goes through the rooms depth first, the lowest number first, and to the locked door as soon as it
knows where that is and has the key. That takes at most 3 rooms - 6 turns. Random turns are the numbers of
all rooms, all alike, possible or not; what they earn is worked out for each problem, from the rooms that
they can be in after each turn.

Demonstrations: with probability aimed a turn is the best player's, otherwise any that is possible.`,
		asked: `Find the chest in a house. You are told a mark for each room, from 1 on: @ where you are, o for an open door that leads there, # for a locked one, and a point where no door leads from here; then + if you have the key, or -. ` +
			`Each of your turns is the number of the room that you go to and nothing else. You take the key where it lies. The chest is in a room after the locked door. ` +
			`You are told the marks after each turn, with ? before them if it was not possible.`,
		defaults: roomsSettings{Rooms: 6, Turns: 12, Aimed: 0.5},
		// Of the u rooms before the door, depth first, each way is gone twice but for those down to the last room: 2(u-1)
		// turns less its depth, and from there to the door at most that depth and u-2, and 1 through it. That is 3u-3
		// where u is rooms-1. Of more rooms after the door each takes 2 turns at most, and one before it 3.
		valid: func(s *roomsSettings) error {
			if most := 3*s.Rooms - 6; s.Turns < most {
				return outOfRange("turns", s.Turns, fmt.Sprintf("at least 3 rooms - 6 = %d", most))
			}
			return nil
		},
		draw:  drawRooms,
		open:  func(_ *roomsSettings, row verify.Problem) (game[inRoom], error) { return houseOf(row) },
		turns: func(s *roomsSettings) int { return s.Turns },
		aimed: func(s *roomsSettings) float64 { return s.Aimed },
		forms: func(s *roomsSettings) []string { return numbersTo(s.Rooms) },
		words: func(s *roomsSettings) []string {
			return append(strings.Split("@o#.+-", ""), numbersTo(s.Rooms)...)
		},
		shown: func(s *roomsSettings) int { return s.Rooms + 1 },
		moved: func(*roomsSettings) int { return 1 },
		think: func(history []world.Message) (best string, allowed []string) {
			var x explorer
			for i := 0; i < len(history); i += 2 {
				if !x.sees(seen(history[:i+1])) {
					return "", nil
				}
			}
			for room, mark := range x.marks {
				if mark == 'o' || mark == '#' && x.key {
					allowed = append(allowed, strconv.Itoa(room+1))
				}
			}
			return strconv.Itoa(x.next() + 1), allowed
		},
	})
}

type roomsSettings struct {
	Rooms int     `toml:"rooms" range:"[4,9]" about:"number of rooms"`
	Turns int     `toml:"turns" range:"[3,50]" about:"turns in an episode; at least 3 rooms - 6, so that the chest can always be found"`
	Aimed float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are the best player's"`
}

// inRoom is where you are, and whether you have the key.
type inRoom struct {
	room int // from 0
	key  bool
}

// plan is a house as rows have it. Rooms are counted from 1.
type plan struct {
	Doors []string `json:"doors"` // [from][to] o, # or a point
	Begin int      `json:"begin"`
	Key   int      `json:"key"`
	Chest int      `json:"chest"`
}

// house is a problem. Rooms are counted from 0.
type house struct {
	doors             []string // [from][to] o, # or a point
	begin, key, chest int
	turned            map[inRoom]int // turns of the shortest way to the chest, whatever was seen
}

// houseOf is the house of a row.
func houseOf(row verify.Problem) (*house, error) {
	var p plan
	there, err := row.Field("house", &p)
	rooms := len(p.Doors)
	there = there && err == nil && rooms <= 99 && p.Begin != p.Chest
	for _, place := range []int{p.Begin, p.Key, p.Chest} {
		there = there && 1 <= place && place <= rooms
	}
	for from, room := range p.Doors {
		there = there && len(room) == rooms && strings.Trim(room, ".o#") == "" && room[from] == '.'
	}
	if !there {
		return nil, fmt.Errorf("task rooms: row %q does not belong to this task: it has no house", row.ID)
	}
	h := &house{doors: p.Doors, begin: p.Begin - 1, key: p.Key - 1, chest: p.Chest - 1}
	h.measure()
	return h, nil
}

// measure finds the shortest way to the chest from each position, backwards from the chest.
func (h *house) measure() {
	h.turned = map[inRoom]int{{h.chest, true}: 0, {h.chest, false}: 0}
	for turns := 1; ; turns++ {
		found := false
		for from := range h.doors {
			for _, key := range []bool{false, true} {
				p := inRoom{from, key}
				if _, known := h.turned[p]; known {
					continue
				}
				for to := range h.doors {
					for _, w := range h.after(p, strconv.Itoa(to+1)) {
						if left, known := h.turned[w.to]; known && left == turns-1 {
							h.turned[p], found = turns, true
						}
					}
				}
			}
		}
		if !found {
			return
		}
	}
}

func (h *house) start() inRoom { return inRoom{h.begin, h.begin == h.key} }

func (h *house) show(p inRoom) string {
	marks := []byte(h.doors[p.room])
	marks[p.room] = '@'
	last := "-"
	if p.key {
		last = "+"
	}
	return string(marks) + last
}

func (h *house) after(p inRoom, turn string) []way[inRoom] {
	n, isNumber := number(turn)
	if !isNumber || n < 1 || n > len(h.doors) || turn[0] == '0' {
		return nil
	}
	to := n - 1
	if door := h.doors[p.room][to]; door != 'o' && (door != '#' || !p.key) {
		return nil
	}
	end := goesOn
	if to == h.chest {
		end = won
	}
	return []way[inRoom]{{1, inRoom{to, p.key || to == h.key}, end}}
}

func (h *house) near(p inRoom) float64 {
	left, known := h.turned[p]
	first, reached := h.turned[h.start()]
	if !known || !reached {
		return 0
	}
	return 1 - float64(left)/float64(first)
}

// drawRooms draws a house.
func drawRooms(s *roomsSettings, r *random.Rand) (verify.Problem, bool) {
	marks := make([][]byte, s.Rooms)
	for i := range marks {
		marks[i] = slices.Repeat([]byte{'.'}, s.Rooms)
	}
	numbers := r.Shuffled(s.Rooms) // of the rooms as they are built
	parent := make([]int, s.Rooms)
	for i := 1; i < s.Rooms; i++ {
		parent[i] = r.Between(0, i-1)
		a, b := numbers[i], numbers[parent[i]]
		marks[a][b], marks[b][a] = 'o', 'o'
	}
	locked := r.Between(1, s.Rooms-1) // the door to this room from its parent
	a, b := numbers[locked], numbers[parent[locked]]
	marks[a][b], marks[b][a] = '#', '#'
	after := make([]bool, s.Rooms) // the rooms after the door
	var outside, inside []int
	for i := range numbers {
		if after[i] = i == locked || i > 0 && after[parent[i]]; after[i] {
			inside = append(inside, numbers[i])
		} else if i > 0 {
			outside = append(outside, numbers[i])
		}
	}
	if len(outside) == 0 { // there is no place for the key
		return verify.Problem{}, false
	}
	p := plan{Begin: numbers[0] + 1, Key: pick(r, outside) + 1, Chest: pick(r, inside) + 1}
	for _, room := range marks {
		p.Doors = append(p.Doors, string(room))
	}
	row := verify.Problem{
		ID:       fmt.Sprintf("%s %d %d %d", strings.Join(p.Doors, "/"), p.Begin, p.Key, p.Chest),
		Metadata: metadata(map[string]any{"house": p}),
	}
	h, err := houseOf(row)
	if err != nil {
		panic(err) // it was just made
	}
	row.Question = h.show(h.start())
	return row, true
}

// explorer goes depth first through rooms that are a tree.
type explorer struct {
	marks         string      // of the room that it is in
	at            int         // that room
	key           bool        // it has it
	came          map[int]int // the rooms that were entered, each with the one that it was first entered from; the first from itself
	before, after int         // the rooms on both sides of the locked door, once it was seen
}

// sees takes in what is shown; false: it shows no rooms.
func (x *explorer) sees(shown string) bool {
	end := len(shown) - 1
	if end < 1 || strings.Trim(shown[:end], ".o#@") != "" || !strings.Contains("+-", shown[end:]) {
		return false
	}
	room := strings.IndexByte(shown, '@')
	if room < 0 {
		return false
	}
	if x.came == nil {
		x.came, x.at = map[int]int{}, room
	}
	if _, entered := x.came[room]; !entered {
		x.came[room] = x.at
	}
	x.marks, x.at, x.key = shown[:end], room, shown[end] == '+'
	if to := strings.IndexByte(x.marks, '#'); to >= 0 && x.before == x.after {
		x.before, x.after = room, to
	}
	return true
}

// next is the room to go to.
func (x *explorer) next() int {
	if _, entered := x.came[x.after]; x.key && x.before != x.after && !entered {
		if x.at == x.before {
			return x.after
		}
		return x.toward(x.before)
	}
	for room, mark := range x.marks {
		if _, entered := x.came[room]; mark == 'o' && !entered {
			return room
		}
	}
	return x.came[x.at]
}

// toward is the next room on the way to one that was entered.
func (x *explorer) toward(room int) int {
	for below := room; ; below = x.came[below] {
		if x.came[below] == x.at {
			return below
		}
		if x.came[below] == below { // the way does not lead down from here
			return x.came[x.at]
		}
	}
}
