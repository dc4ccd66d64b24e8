package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/hint"
)

// write writes files into a new folder.
func write(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read reads the rows of a split.
func read(name, split string) (rows []Row, err error) {
	d, err := Open(name)
	if err != nil {
		return nil, err
	}
	err = d.Each(split, func(_ int, r Row) error {
		rows = append(rows, r)
		return nil
	})
	return rows, err
}

// plain is a row as Go values, numbers as they are written.
func plain(t *testing.T, row any) any {
	t.Helper()
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFixtures: every file reads as its writer's own reader reads it.
func TestFixtures(t *testing.T) {
	dir := fixtures.Dir(t, "tables")
	expected, err := filepath.Glob(filepath.Join(dir, "*.expected.jsonl"))
	if err != nil || len(expected) == 0 {
		t.Fatalf("no expected rows in %s, %v", dir, err)
	}
	for _, want := range expected {
		stem := strings.TrimSuffix(want, ".expected.jsonl")
		for _, ext := range []string{".parquet", ".csv", ".jsonl"} {
			if _, err := os.Stat(stem + ext); err != nil {
				continue
			}
			t.Run(filepath.Base(stem), func(t *testing.T) {
				found, err := read(stem+ext, Train)
				if err != nil {
					t.Fatal(err)
				}
				rows, err := read(want, Train)
				if err != nil {
					t.Fatal(err)
				}
				if len(found) != len(rows) {
					t.Fatalf("%d rows, want %d", len(found), len(rows))
				}
				for i := range rows {
					if got, want := plain(t, found[i]), plain(t, rows[i]); !reflect.DeepEqual(got, want) {
						t.Fatalf("row %d:\n%v\nwant\n%v", i+1, got, want)
					}
				}
			})
		}
	}
}

// TestDamagedFixtures: what is damaged is refused with the file's name and the line.
func TestDamagedFixtures(t *testing.T) {
	dir := fixtures.Dir(t, "tables")
	bad, err := filepath.Glob(filepath.Join(dir, "bad_*"))
	if err != nil || len(bad) == 0 {
		t.Fatalf("no damaged files in %s, %v", dir, err)
	}
	for _, name := range bad {
		base := filepath.Base(name)
		_, err := read(name, Train)
		_, number, lined := strings.Cut(strings.TrimSuffix(base, filepath.Ext(base)), "line_")
		switch {
		case strings.HasPrefix(base, "bad_missing_column"), strings.HasPrefix(base, "bad_bit_flips"):
			// The first is a table, whose reader may want the column; the second may
			// be read where nothing gives the damage away.
		case err == nil:
			t.Errorf("%s is accepted", base)
		case !strings.Contains(err.Error(), name), lined && !strings.Contains(err.Error(), "line "+number+":"):
			t.Errorf("%s: %v", base, err)
		}
		t.Logf("%s: %v", base, err)
	}
}

// TestRefuses: errors name file, line and what is accepted.
func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a.json":        {"[{\"a\":1},\n\n 7]", "line 3: found a number; accepted: a JSON object"},
		"b.json":        {"\uFEFF[{\"a\":1},\n{\"a\":]", "line 2: "},
		"c.json":        {"[{\"a\":1}", "line 1: the file ends before the list is closed"},
		"d.json":        {"[{\"a\":1}]\n{\"a\":2}", "line 1: something follows the list"},
		"e.json":        {"[{\"a\":\"\xff\"}]", "line 1: not UTF-8 text"},
		"f.jsonl":       {"{\"a\":1}\n{\"a\":1,}", "line 2: byte 8: not JSON"},
		"g.csv":         {"", "is empty; accepted: a CSV file whose first line names the columns"},
		"h.csv":         {"a,a\n1,2\n", `line 1: two columns are called "a"`},
		"i.csv":         {"a,b\n1,2\n\n1,\"x\"y\n", "line 4: byte 5: the quotes of a quoted field are not closed"},
		"j.csv":         {"a,b\n1,x\"y\n", "line 2: byte 4: a quote stands inside a field"},
		"k.csv":         {"a\n\xff\n", "line 2: byte 1: the field that begins here is not UTF-8 text"},
		"l.txt":         {"", `the extension ".txt" is not that of a data file; accepted: .csv, .json`},
		"m.parquet":     {"PAR1", "the file has 4 bytes"},
		"n.parquet":     {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "is a pointer of Git LFS"},
		"o.jsonl":       {"null\n", "line 1: found null"},
		"p/x.txt":       {"", "p has no data file; accepted: files with the extension .csv"},
		"q/main/a.csv":  {"a\n", ""},
		"r/state.json":  {"{}", "r has no data file"},
		"s.ndjson":      {"{\"a\":1}\n2", "line 2: found a number"},
		"t/.hidden.csv": {"a\n", "t has no data file"},
	} {
		dir := write(t, map[string]string{name: c.text})
		file := filepath.Join(dir, filepath.FromSlash(strings.Split(name, "/")[0]))
		_, err := read(file, Train)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// TestFolder: the files of a folder belong to splits by their names.
func TestFolder(t *testing.T) {
	row := func(n string) string { return "{\"n\":\"" + n + "\"}\n" }
	for _, c := range []struct {
		name  string
		files []string
		want  map[string]string // the files' names by split
		err   string
	}{
		{"shards", []string{"data/train-00001-of-00002.jsonl", "data/train-00000-of-00002.jsonl", "data/test-00000-of-00001.jsonl", "README.md"},
			map[string]string{Train: "data/train-00000-of-00002.jsonl data/train-00001-of-00002.jsonl", Test: "data/test-00000-of-00001.jsonl"}, ""},
		{"folders", []string{"train/a.jsonl", "dev/b.jsonl"}, map[string]string{Train: "train/a.jsonl", Validation: "dev/b.jsonl"}, ""},
		{"no splits", []string{"b.jsonl", "contest.jsonl", "dataset_info.json"}, map[string]string{Train: "b.jsonl contest.jsonl"}, ""},
		{"surplus", []string{"my_train.jsonl", "other.jsonl", ".cache/test.jsonl"}, map[string]string{Train: "my_train.jsonl"}, ""},
		{"configurations", []string{"main/train.jsonl", "socratic/train.jsonl"}, nil, "has data in several folders: main, socratic"},
		{"one configuration", []string{"main/train.jsonl", "main/test.jsonl"}, map[string]string{Train: "main/train.jsonl", Test: "main/test.jsonl"}, ""},
	} {
		texts := map[string]string{}
		for _, name := range c.files {
			texts[name] = row(name)
		}
		dir := write(t, texts)
		d, err := Open(dir)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found := map[string]string{}
		for _, split := range d.Splits() {
			var names []string
			if err := d.Each(split, func(_ int, r Row) error {
				var name string
				names = append(names, name)
				return json.Unmarshal(r["n"], &names[len(names)-1])
			}); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			found[split] = strings.Join(names, " ")
		}
		if !reflect.DeepEqual(found, c.want) {
			t.Errorf("%s: %v, want %v", c.name, found, c.want)
		}
		before, err := d.Hash()
		if err != nil || len(before) != 64 {
			t.Errorf("%s: hash %q, %v", c.name, before, err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(c.files[0])), []byte(row("changed")), 0o644); err != nil {
			t.Fatal(err)
		}
		if after, err := d.Hash(); err != nil || after == before {
			t.Errorf("%s: the hash is %s before and after a change, %v", c.name, after, err)
		}
		if err := d.Each("extra", nil); err == nil || !strings.Contains(err.Error(), `has no split "extra"; it has `) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// closed has a folder that nobody may read.
type closed struct{ fstest.MapFS }

func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "proc/1" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.MapFS.ReadDir(name)
}

// TestVastFolder: a folder that is none of a data set, such as /, is refused after so many
// entries, whatever they are.
func TestVastFolder(t *testing.T) {
	vast := fstest.MapFS{}
	for i := range maxEntries {
		vast[fmt.Sprintf("usr/%d/file%d", i%100, i)] = &fstest.MapFile{}
	}
	_, err := splitsOf(vast, "/")
	if err == nil || !strings.Contains(err.Error(), "/ has more than 20000 files and folders in it") || len(hint.All(err)) != 1 {
		t.Errorf("%v, hints %q", err, hint.All(err))
	}
	_, err = splitsOf(closed{fstest.MapFS{"proc/1/fd": {}}}, "/")
	if err == nil || !strings.Contains(err.Error(), "open /proc/1: permission denied") || len(hint.All(err)) != 1 {
		t.Errorf("a folder that cannot be read: %v, hints %q", err, hint.All(err))
	}
	few := fstest.MapFS{}
	for i := range 5000 {
		few[fmt.Sprintf("data/train-%d.parquet", i)] = &fstest.MapFile{}
	}
	if splits, err := splitsOf(few, "set"); err != nil || len(splits["train"]) != 5000 {
		t.Errorf("%d files, %v", len(splits["train"]), err)
	}
}
