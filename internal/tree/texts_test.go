package tree

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPackageComments(t *testing.T) {
	const least = 3 // lines
	documented := map[string]bool{}
	for _, f := range parsedFiles(t) {
		home := f.folder + "/doc.go"
		if f.ast.Name.Name == "main" {
			home = path.Join(f.folder, "main.go") // as go doc has it for commands
		}
		switch {
		case f.name == home && f.ast.Doc != nil && len(f.ast.Doc.List) >= least:
			documented[f.folder] = true
		case f.name == home:
			t.Errorf("%s: the package comment has fewer than %d lines; it says what the package does, shapes, units, threading and caveats", f.name, least)
			documented[f.folder] = true
		case f.ast.Doc != nil && !f.test:
			t.Errorf("%s: the package comment belongs into %s", f.name, home)
		}
		if _, seen := documented[f.folder]; !seen {
			documented[f.folder] = false
		}
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s has no doc.go with a package comment", folder)
		}
	}
}

// forbiddenText is what no file of the tree may hold, test data excepted.
var forbiddenText = []struct {
	pattern *regexp.Regexp
	tests   bool // tests may
	why     string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), false, "unfinished work is an issue, not a comment"},
	{regexp.MustCompile("(^|[\\s\"'`(=])/(work|root|home|Users)/"), false, "a path of one machine"},
	{regexp.MustCompile("(^|[\\s\"'`(=])/tmp/"), true, "use os.TempDir or ${TMPDIR:-/tmp}"},
	{regexp.MustCompile("^(<{7}|>{7}) "), false, "a merge that was not finished"},
}

func TestForbiddenText(t *testing.T) {
	err := eachFile(func(name string) error {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil || strings.ContainsRune(string(text), 0) { // binary
			return err
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			for _, f := range forbiddenText {
				if found := f.pattern.FindString(line); found != "" && !(f.tests && strings.HasSuffix(name, "_test.go")) {
					t.Errorf("%s:%d: %q: %s", name, number, strings.TrimSpace(found), f.why)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDocumentLinks: a link of a document leads to a file of the tree and, where it has one, to
// a heading there; so does a document that a comment names.
func TestDocumentLinks(t *testing.T) {
	texts, headings := map[string]string{}, map[string]bool{}
	err := eachFile(func(name string) error {
		text, err := os.ReadFile(filepath.FromSlash(name))
		texts[name] = string(text)
		if path.Ext(name) == ".md" {
			for line := range strings.Lines(string(text)) {
				if title := strings.TrimLeft(line, "#"); title != line {
					headings[name+"#"+anchor(title)] = true
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.FromSlash(name))
		return err == nil
	}
	check := func(from, target, heading string) {
		if !exists(target) {
			t.Errorf("%s: there is no %s", from, target)
		} else if heading != "" && !headings[target+"#"+heading] {
			t.Errorf("%s: no heading of %s answers to #%s", from, target, heading)
		}
	}
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([a-z0-9-]+))?\)`)
	named := regexp.MustCompile(`(?:^|[\s(\"'])((?:docs/(?:why|guide|reference)/[a-zA-Z-]+|README|CONTRIBUTING|SECURITY|CHANGELOG)\.md)(?:#([a-z0-9-]+))?`)
	for name, text := range texts {
		if path.Ext(name) == ".md" {
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				switch {
				case strings.Contains(m[1], "://"):
				case m[1] == "":
					check(name, name, m[2])
				default:
					check(name, path.Join(path.Dir(name), m[1]), m[2])
				}
			}
			continue
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "docs/") || m[2] != "" {
				check(name, m[1], m[2])
			}
		}
	}
}

// anchor is the address that GitHub gives a heading.
func anchor(title string) string {
	title = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
	return strings.ReplaceAll(title, " ", "-")
}

// TestWalk: the overview of rl names each package directly below it, and the files of its walks
// exist.
func TestWalk(t *testing.T) {
	text, err := os.ReadFile("rl/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir("rl")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && !regexp.MustCompile(`\b`+f.Name()+`\b`).Match(text) {
			t.Errorf("rl/doc.go does not name package %s", f.Name())
		}
	}
	steps := regexp.MustCompile(`(?m)^//\t(\S+\.go) `).FindAllSubmatch(text, -1)
	if len(steps) < 20 {
		t.Errorf("rl/doc.go goes through %d files; its two walks have at least 20", len(steps))
	}
	for _, m := range steps {
		if _, err := os.Stat("rl/" + string(m[1])); err != nil {
			t.Errorf("rl/doc.go: %v", err)
		}
	}
}

// TestPlaces: the files that the tables of places name exist.
func TestPlaces(t *testing.T) {
	for page, least := range map[string]int{"CONTRIBUTING.md": 15, "docs/places.md": 60} {
		text, err := os.ReadFile(filepath.FromSlash(page))
		if err != nil {
			t.Fatal(err)
		}
		rows, inside := 0, false
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| a new ") {
				inside = strings.HasPrefix(line, "| a new ")
				continue
			}
			if !inside || strings.HasPrefix(line, "|---") {
				continue
			}
			rows++
			places := regexp.MustCompile("`([a-z_.]+/[a-zA-Z0-9_./]+)`").FindAllStringSubmatch(line, -1)
			if len(places) == 0 {
				t.Errorf("%s: no file stands in the row %s", page, line)
			}
			for _, p := range places {
				if _, err := os.Stat(path.Clean(p[1])); err != nil {
					t.Errorf("%s: %v, which is named in the row %s", page, err, line)
				}
			}
		}
		if rows < least {
			t.Errorf("%s has %d rows of places", page, rows)
		}
	}
}
