package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	Register(Entry{
		Name:    "files",
		Summary: "files of a row, to read and to change",
		Doc: `files: reads and changes files that each problem's row has.

    <files>{"do":"read","name":"a.txt"}</files>                              one two
    <files>{"do":"replace","name":"a.txt","text":"two","with":"2"}</files>   a.txt has 5 bytes

They are texts in memory: a column of the row has them, an object of texts by their names, and nothing
is written to the disk. What a policy leaves is what its answer is judged with: the verifier reads it as
that column, a script by row["files"]. The reward of a stage reads the row as it was. Values of do:

    list      the names of all files, with their lengths
    read      the text of the file name
    write     replaces or creates the file name with text
    replace   replaces text, which must occur exactly once in the file name, by with
    delete    deletes the file name

A mistake is a file that is not there, a text that is not there exactly once, a name that is not valid, and
too many files or bytes.

` + settings.Describe(defaultFiles()),
		Options: func() Options { return defaultFiles() },
	})
}

// Bounds of the files of an episode.
const (
	maxFiles     = 256
	maxFileBytes = 1 << 20 // of all together, names included
)

func defaultFiles() *fileOptions { return &fileOptions{Row: "files"} }

type fileOptions struct {
	Row string `toml:"row" about:"column of a problem's row with its files, an object of texts by name"`
}

// Validate implements [Options].
func (o *fileOptions) Validate() error {
	if o.Row == "" {
		return &settings.Error{Key: "row", Problem: `= ""; accepted: the name of a column`}
	}
	return nil
}

// Spec implements [Options].
func (o *fileOptions) Spec() world.Spec {
	return world.Spec{
		Name:  "files",
		About: "Lists, reads, writes, replaces in and deletes files.",
		Args:  json.RawMessage(`{"type":"object","properties":{"do":{"enum":["list","read","write","replace","delete"]},"name":{"type":"string"},"text":{"type":"string"},"with":{"type":"string"}},"required":["do"],"additionalProperties":false}`),
		Pure:  true, Leaves: o.Row,
	}
}

// Make implements [Options].
func (o *fileOptions) Make(Documents) (world.Tool, string, error) { return fileTool{*o}, "", nil }

// fileTool is the tool "files".
type fileTool struct{ fileOptions }

// Spec implements [world.Tool].
func (t fileTool) Spec() world.Spec { return t.fileOptions.Spec() }

// Test implements [world.Tool].
func (t fileTool) Test(ctx context.Context) error {
	return Tested(ctx, t, `{"do":"write","name":"a","text":"bc"}`, "a has 2 bytes")
}

// Open implements [world.Tool]. A row without the column has no files.
func (t fileTool) Open(_ context.Context, row verify.Problem) (world.Session, error) {
	s := &folder{column: t.Row, files: map[string]string{}}
	if _, err := row.Field(t.Row, &s.files); err != nil {
		return nil, err
	}
	for name := range s.files {
		if !fs.ValidPath(name) || name == "." {
			return nil, fmt.Errorf("%q of the row has a file %q; accepted: names such as a/b.txt", t.Row, name)
		}
	}
	return s, s.fits()
}

// folder are the files of an episode.
type folder struct {
	column string
	files  map[string]string
}

// Close implements [world.Session].
func (*folder) Close() error { return nil }

// Left implements [world.Leaver].
func (f *folder) Left() (column string, value json.RawMessage, err error) {
	value, err = json.Marshal(f.files)
	return f.column, value, err
}

// fits is an error if the files are too many or too long.
func (f *folder) fits() error {
	bytes := 0
	for name, text := range f.files {
		bytes += len(name) + len(text)
	}
	if len(f.files) > maxFiles || bytes > maxFileBytes {
		return fmt.Errorf("there would be %d files of %d bytes together; accepted: at most %d, and %d bytes", len(f.files), bytes, maxFiles, maxFileBytes)
	}
	return nil
}

// Call implements [world.Session].
func (f *folder) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	return answer(f.do(args)), nil
}

func (f *folder) do(args json.RawMessage) (string, error) {
	var a struct {
		Do   string `toml:"do" choice:"list,read,write,replace,delete"`
		Name string `toml:"name"`
		Text string `toml:"text"`
		With string `toml:"with"`
	}
	if err := settings.DecodeJSON(args, &a); err != nil {
		return "", err
	}
	text, there := f.files[a.Name]
	switch {
	case a.Do == "":
		return "", fmt.Errorf("do is missing; accepted: list, read, write, replace, delete")
	case a.Do == "list":
		return f.list(), nil
	case a.Do == "write":
		return f.write(a.Name, a.Text)
	case !there:
		return "", fmt.Errorf("there is no file %q", a.Name)
	case a.Do == "read":
		return text, nil
	case a.Do == "delete":
		delete(f.files, a.Name)
		return a.Name + " is deleted", nil
	}
	at := strings.Index(text, a.Text)
	switch {
	case a.Text == "":
		return "", fmt.Errorf("text is empty; accepted: a text that occurs exactly once in %s", a.Name)
	case at < 0:
		return "", fmt.Errorf("the text is not in %s; accepted: a text that occurs exactly once", a.Name)
	case at != strings.LastIndex(text, a.Text):
		return "", fmt.Errorf("the text occurs several times in %s; accepted: a text that occurs exactly once", a.Name)
	}
	return f.write(a.Name, text[:at]+a.With+text[at+len(a.Text):])
}

// write gives a file a text, unless that is too much.
func (f *folder) write(name, text string) (string, error) {
	if !fs.ValidPath(name) || name == "." || !utf8.ValidString(text) {
		return "", fmt.Errorf("%q is no name of a file; accepted: names such as a/b.txt", name)
	}
	before, there := f.files[name]
	f.files[name] = text
	if err := f.fits(); err != nil {
		if f.files[name] = before; !there {
			delete(f.files, name)
		}
		return "", err
	}
	return fmt.Sprintf("%s has %d bytes", name, len(text)), nil
}

// list are all names with their lengths.
func (f *folder) list() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		all = append(all, fmt.Sprintf("%s: %d bytes", name, len(f.files[name])))
	}
	if all == nil {
		return "there are no files"
	}
	return strings.Join(all, "\n")
}
