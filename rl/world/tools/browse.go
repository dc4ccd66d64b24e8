package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	Register(Entry{
		Name:    "browse",
		Summary: "pages with links",
		Doc: `browse: shows a page, whose links are numbered, and the pages that they lead to.

    <browse>start.md</browse>   We sell fruit [1] and nuts [2].
    <browse>2</browse>          Nuts: 3 a bag. Back to the start [1].

Pages are texts in memory: the files .txt and .md of a folder, or a column of each row with an object of
texts by their names. There is no network. A link is as in Markdown: its text in brackets, and right behind
it the name of a page in parentheses; of a link to a page that is not there its text alone is shown. The
argument is to: the name of a page; the number of a link of the page that is shown; back, the page before;
more, the rest of a page that is too long to be shown at once. A mistake is a page or a link that is not
there. A page of a row may not have a name that is read as something else: a number, back or more.

` + settings.Describe(defaultBrowse()),
		Options: func() Options { return defaultBrowse() },
		Paths:   []string{"data"},
	})
}

func defaultBrowse() *browseOptions { return &browseOptions{Bytes: 2000} }

type browseOptions struct {
	Data  string `toml:"data" about:"a folder of pages"`
	Row   string `toml:"row" about:"in place of data: column of a problem's row with its own pages, an object of texts by name"`
	Bytes int    `toml:"bytes" range:"[100,65536]" about:"how much of a page is shown at once"`
}

// Validate implements [Options].
func (o *browseOptions) Validate() error {
	if err := settings.Check(o); err != nil {
		return err
	}
	if (o.Data == "") == (o.Row == "") {
		return &settings.Error{Key: "data", Problem: fmt.Sprintf("= %q and row = %q; accepted: one of them, as the pages are those of a folder or of each row", o.Data, o.Row)}
	}
	return nil
}

// Spec implements [Options].
func (o *browseOptions) Spec() world.Spec {
	return world.Spec{
		Name:  "browse",
		About: "Shows a page by its name, a link of the page by its number, back for the page before, more for the rest of a long page.",
		Args:  json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","description":"the name of a page, the number of a link, back or more"}},"required":["to"],"additionalProperties":false}`),
		Text:  "to",
		Pure:  true,
	}
}

// Make implements [Options].
func (o *browseOptions) Make(documents Documents) (world.Tool, string, error) {
	t := browser{browseOptions: *o}
	if o.Row != "" {
		return t, "", nil
	}
	names, texts, hash, err := documents(o.Data, "")
	if err != nil {
		return nil, "", err
	}
	t.pages = map[string]string{}
	for i, text := range texts {
		t.pages[names[i]] = text
	}
	return t, hash, nil
}

// browser is the tool "browse".
type browser struct {
	browseOptions
	pages map[string]string // by name; nil: each row has its own
}

// Spec implements [world.Tool].
func (b browser) Spec() world.Spec { return b.browseOptions.Spec() }

// Test implements [world.Tool].
func (b browser) Test(ctx context.Context) error {
	b.Row, b.pages = "", map[string]string{"a": "see [this](a)"}
	return Tested(ctx, b, `{"to":"a"}`, "see this [1]")
}

// Open implements [world.Tool].
func (b browser) Open(_ context.Context, row verify.Problem) (world.Session, error) {
	if b.Row != "" {
		b.pages = nil
		there, err := row.Field(b.Row, &b.pages)
		if err == nil && !there {
			err = fmt.Errorf("the row has no column %q with its pages", b.Row)
		}
		for _, name := range slices.Sorted(maps.Keys(b.pages)) {
			if _, wrong := strconv.Atoi(name); err == nil && (wrong == nil || name == "back" || name == "more" || name != strings.TrimSpace(name)) {
				err = fmt.Errorf("column %q has a page %q; accepted: names that are no number, not back or more, and without spaces at their ends", b.Row, shortName(name))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return &visit{browser: b}, nil
}

// visit is where an episode is.
type visit struct {
	browser
	been  []string // names of pages: the last one is shown
	links []string // the pages that its links lead to
	rest  string   // of it
}

// Close implements [world.Session].
func (*visit) Close() error { return nil }

// Call implements [world.Session].
func (v *visit) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	return answer(v.to(args)), nil
}

func (v *visit) to(args json.RawMessage) (string, error) {
	var a struct {
		To string `toml:"to"`
	}
	if err := settings.DecodeJSON(args, &a); err != nil {
		return "", err
	}
	to := strings.TrimSpace(a.To)
	number, wrong := strconv.Atoi(to)
	switch {
	case to == "more" && v.rest == "":
		return "", fmt.Errorf("there is no more of a page")
	case to == "more":
		return v.part(), nil
	case to == "back" && len(v.been) < 2:
		return "", fmt.Errorf("there is no page before")
	case to == "back":
		to = v.been[len(v.been)-2]
		v.been = v.been[:len(v.been)-2]
	case wrong == nil && len(v.links) == 0:
		return "", fmt.Errorf("there is no link to follow")
	case wrong == nil && (number < 1 || number > len(v.links)):
		return "", fmt.Errorf("the page has no link %d; accepted: 1 to %d", number, len(v.links))
	case wrong == nil:
		to = v.links[number-1]
	}
	if _, there := v.pages[to]; !there {
		return "", fmt.Errorf("there is no page %q", shortName(to))
	}
	v.been = append(v.been, to)
	return v.show(to), nil
}

// shortName is a name as an answer has it.
func shortName(name string) string {
	const most = 100
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}

// link is a link of a page.
var link = regexp.MustCompile(`\[([^][\n]*)\]\(([^()\s]+)\)`)

// show is the beginning of a page, with its links numbered.
func (v *visit) show(name string) string {
	v.links = nil
	v.rest = link.ReplaceAllStringFunc(v.pages[name], func(found string) string {
		parts := link.FindStringSubmatch(found)
		target, _, _ := strings.Cut(parts[2], "#")
		for _, to := range []string{target, path.Join(path.Dir(name), target)} {
			if _, there := v.pages[to]; there {
				at := slices.Index(v.links, to)
				if at < 0 {
					v.links = append(v.links, to)
					at = len(v.links) - 1
				}
				return fmt.Sprintf("%s [%d]", parts[1], at+1)
			}
		}
		return parts[1]
	})
	return v.part()
}

// part is the next of what is left of the page, to the end of a line where one ends in its second half.
func (v *visit) part() string {
	if len(v.rest) <= v.Bytes {
		text := v.rest
		v.rest = ""
		return text
	}
	end := v.Bytes
	for !utf8.RuneStart(v.rest[end]) {
		end--
	}
	if line := strings.LastIndexByte(v.rest[:end], '\n') + 1; line > end/2 {
		end = line
	}
	text := v.rest[:end]
	v.rest = v.rest[end:]
	return fmt.Sprintf("%s\n(more: %d bytes)", strings.TrimRight(text, "\n"), len(v.rest))
}
