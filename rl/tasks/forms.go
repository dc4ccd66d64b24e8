package tasks

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	play(rules[formsSettings, onPage]{
		name:    "forms",
		summary: "fill in a form that is spread over linked pages, and send it",
		about: `fill in a form that is spread over linked pages, and send it.

    @ o . o
    2 0 . 0
    1 ? 4 1    a2, and the first field is filled in: 2 2 . 0    4, and page 4 is told    and so on, and last s

The first line has the pages: @ is the one that you are on, o those that it has a link to. A line after it
is a field of the form: what has to be entered, what is there, where, and how many links away. A field of
this page has a point as its place. Of another one you see no entry but ?, and the number of the link that
leads towards it. A turn is the number of a page to go to, a letter and what to enter into a field, a for
the first, or s. That sends the form and ends the game: it is won if all fields have what they should, and
lost otherwise. All fields have 0 at first.

Pages are linked at random into a tree. Places of fields and what has to be entered, from 1 to values, are
drawn with equal probability, and so is the first page. A draw is discarded if the best player needs more
than turns. One problem in 16 is held out, chosen by the CRC-32 of the pages and the form.

Best play fills in what is wrong on this page, then goes towards another field that is wrong, and sends. It
leaves the link towards the farthest of them to the last, and takes no way twice that it need not. Random
turns are all numbers, all entries from 0 to values and s, all alike; what they earn is worked out for each
problem, from the pages and forms that they can lead to.

Demonstrations: with probability aimed a turn is the best player's, otherwise any link, s, or for a field of
this page what has to be entered or 0.`,
		asked: `Fill in a form on linked pages, and send it. The first line has the pages: you are on @, and o are those that it has a link to. ` +
			`Each further line is a field: what has to be entered, what is there, a point and 0, if it is on this page; otherwise ?, the number of the link that leads towards it, and how many links away it is. ` +
			`Each of your turns is one of these and nothing else: the number of a page to go to, such as 2; a letter and an entry, such as a3 for the first field; or s, which sends the form. ` +
			`You are told the page after it, with ? before it if your turn was not possible.`,
		defaults: formsSettings{Pages: 4, Fields: 2, Values: 3, Turns: 8, Aimed: 0.5},
		valid: func(s *formsSettings) error {
			situations := s.Pages * s.Turns
			for range s.Fields {
				situations *= s.Values + 1
			}
			if situations > maxSituations {
				return outOfRange("turns", s.Turns, fmt.Sprintf("pages (values + 1)^fields turns up to %d; here it is %d", maxSituations, situations))
			}
			return nil
		},
		draw:  drawForm,
		open:  func(_ *formsSettings, row verify.Problem) (game[onPage], error) { return formOf(row) },
		turns: func(s *formsSettings) int { return s.Turns },
		aimed: func(s *formsSettings) float64 { return s.Aimed },
		forms: func(s *formsSettings) []string {
			forms := append(numbersTo(s.Pages), "s")
			for field := range s.Fields {
				for entry := range s.Values + 1 {
					forms = append(forms, entering(field, uint8(entry)))
				}
			}
			return forms
		},
		words: func(*formsSettings) []string { return strings.Split("@o.0123456789abcds", "") },
		shown: func(s *formsSettings) int { return s.Pages + 4*s.Fields },
		moved: func(*formsSettings) int { return 2 },
		think: thinkForm,
	})
}

// maxSituations bounds what random turns can lead to: pages with what stands in the fields, and turns that are
// left. The chance of a problem is worked out from all of them, in memory.
const maxSituations = 20_000

type formsSettings struct {
	Pages  int     `toml:"pages" range:"[2,9]" about:"number of pages"`
	Fields int     `toml:"fields" range:"[1,4]" about:"fields of the form"`
	Values int     `toml:"values" range:"[1,9]" about:"largest entry"`
	Turns  int     `toml:"turns" range:"[3,50]" about:"turns in an episode; pages (values + 1)^fields turns is at most 20000, so that what random turns earn can be worked out"`
	Aimed  float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that are the best player's"`
}

// onPage is a page, from 0, and what stands in the fields.
type onPage struct {
	page    int
	entries [4]uint8
}

// entering is a turn.
func entering(field int, entry uint8) string { return fmt.Sprintf("%c%d", 'a'+field, entry) }

// site is a problem as rows have it. Pages are counted from 1.
type site struct {
	Parents []int `json:"parents"` // [page] the page that it is linked to, one before it; 0 for the first
	Places  []int `json:"places"`  // [field] its page
	Wanted  []int `json:"wanted"`  // [field]
	Begin   int   `json:"begin"`
}

// form is a problem. Pages are counted from 0.
type form struct {
	toward [][]int // [from][to] the next page on the way; the page itself where they are the same
	places []int
	wanted [4]uint8
	first  onPage
}

// formOf is the form of a row.
func formOf(row verify.Problem) (*form, error) {
	var s site
	there, err := row.Field("site", &s)
	pages := len(s.Parents)
	there = there && err == nil && 2 <= pages && pages <= 9 && 1 <= len(s.Places) && len(s.Places) <= 4 && len(s.Wanted) == len(s.Places) && 1 <= s.Begin && s.Begin <= pages
	for i, parent := range s.Parents {
		there = there && 0 <= parent && parent <= i && (parent == 0) == (i == 0)
	}
	if there {
		for i, place := range s.Places {
			there = there && 1 <= place && place <= pages && 1 <= s.Wanted[i] && s.Wanted[i] <= 9
		}
	}
	if !there {
		return nil, fmt.Errorf("task forms: row %q does not belong to this task: it has no site", row.ID)
	}
	f := &form{first: onPage{page: s.Begin - 1}}
	for i, place := range s.Places {
		f.places = append(f.places, place-1)
		f.wanted[i] = uint8(s.Wanted[i])
	}
	for from := range pages {
		ways := make([]int, pages)
		for to := range pages {
			ways[to] = s.next(from, to)
		}
		f.toward = append(f.toward, ways)
	}
	return f, nil
}

// next is the page after one on the way to another, both from 0: the one above it, unless the other lies
// below it.
func (s site) next(from, to int) int {
	for below := to; below >= 0; below = s.Parents[below] - 1 {
		switch {
		case below == from:
			return from // they are the same
		case s.Parents[below]-1 == from:
			return below
		}
	}
	return s.Parents[from] - 1
}

func (f *form) start() onPage { return f.first }

func (f *form) show(p onPage) string {
	var pages []string
	for to, next := range f.toward[p.page] {
		switch {
		case to == p.page:
			pages = append(pages, "@")
		case next == to:
			pages = append(pages, "o")
		default:
			pages = append(pages, ".")
		}
	}
	lines := []string{strings.Join(pages, " ")}
	for field, place := range f.places {
		there, where := "?", strconv.Itoa(f.toward[p.page][place]+1)
		if place == p.page {
			there, where = strconv.Itoa(int(p.entries[field])), "."
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %d", f.wanted[field], there, where, len(f.way(p.page, place))))
	}
	return strings.Join(lines, "\n")
}

func (f *form) after(p onPage, turn string) []way[onPage] {
	if turn == "s" {
		if p.entries == f.wanted {
			return []way[onPage]{{1, p, won}}
		}
		return []way[onPage]{{1, p, lost}}
	}
	if len(turn) == 1 && '1' <= turn[0] && int(turn[0]-'1') < len(f.toward) {
		to := int(turn[0] - '1')
		if to == p.page || f.toward[p.page][to] != to {
			return nil
		}
		p.page = to
		return []way[onPage]{{1, p, goesOn}}
	}
	if len(turn) != 2 || turn[1] < '0' || turn[1] > '9' {
		return nil
	}
	field := int(turn[0]) - 'a'
	if field < 0 || field >= len(f.places) || f.places[field] != p.page {
		return nil
	}
	p.entries[field] = turn[1] - '0'
	return []way[onPage]{{1, p, goesOn}}
}

// way has the pages from one to another, without the first.
func (f *form) way(from, to int) (pages []int) {
	for from != to {
		from = f.toward[from][to]
		pages = append(pages, from)
	}
	return pages
}

// left is how many turns the best player needs. Pages are a tree, so it goes over each link on the ways to
// wrong fields once and back, but over those to the farthest, where it ends, only once.
func (f *form) left(p onPage) int {
	turns, farthest, links := 1, 0, map[int]bool{} // by the page that a link leads to from here
	for field, place := range f.places {
		if p.entries[field] == f.wanted[field] {
			continue
		}
		way := f.way(p.page, place)
		for _, page := range way {
			links[page] = true
		}
		turns, farthest = turns+1, max(farthest, len(way))
	}
	return turns + 2*len(links) - farthest
}

func (f *form) near(p onPage) float64 {
	return 1 - float64(f.left(p))/float64(f.left(f.first))
}

// thinkForm knows of the fields of other pages what was shown of them last.
func thinkForm(history []world.Message) (best string, allowed []string) {
	filled := map[int]bool{} // fields that have what they should
	var pages []string
	var fields [][]string // [field] the parts of its line
	for i := 0; i < len(history); i += 2 {
		lines := strings.Split(seen(history[:i+1]), "\n")
		pages, fields = strings.Fields(lines[0]), nil
		for field, line := range lines[1:] {
			parts := strings.Fields(line)
			if len(parts) != 4 || len(pages) < 2 {
				return "", nil // it is another world
			}
			if fields = append(fields, parts); parts[2] == "." {
				filled[field] = parts[0] == parts[1]
			}
		}
	}
	if len(fields) == 0 {
		return "", nil
	}
	for page, mark := range pages {
		if mark == "o" {
			allowed = append(allowed, strconv.Itoa(page+1))
		}
	}
	enter, toward := "", ""   // into the first wrong field of this page; a link towards others than the farthest
	farthest, last := "0", "" // how far away the farthest wrong field is, a digit, and the link towards it
	for field, parts := range fields {
		here, letter := parts[2] == ".", string(rune('a'+field))
		if here {
			allowed = append(allowed, letter+parts[0], letter+"0")
		}
		switch {
		case filled[field]:
		case here:
			enter = cmp.Or(enter, letter+parts[0])
		case parts[3] > farthest:
			farthest, last = parts[3], parts[2]
		}
	}
	for field, parts := range fields {
		if !filled[field] && parts[2] != "." && parts[2] != last {
			toward = parts[2]
		}
	}
	return cmp.Or(enter, toward, last, "s"), append(allowed, "s")
}

// drawForm draws a form.
func drawForm(o *formsSettings, r *random.Rand) (verify.Problem, bool) {
	s := site{Parents: []int{0}, Begin: r.Between(1, o.Pages)}
	for page := 1; page < o.Pages; page++ {
		s.Parents = append(s.Parents, r.Between(1, page))
	}
	for range o.Fields {
		s.Places = append(s.Places, r.Between(1, o.Pages))
		s.Wanted = append(s.Wanted, r.Between(1, o.Values))
	}
	row := verify.Problem{
		ID:       strings.Trim(fmt.Sprint(s), "{}"),
		Metadata: metadata(map[string]any{"site": s}),
	}
	f, err := formOf(row)
	if err != nil {
		panic(err) // it was just made
	}
	row.Question = f.show(f.start())
	return row, f.left(f.first) <= o.Turns
}
