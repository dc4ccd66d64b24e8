package tree

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The tests of this file hold the whole tree to its rules. Each rule is a table:
// what is meant to be new goes into a row there, with its reason, where a reader
// of the change sees it. A row that nothing needs any more is an error too.

const module = "github.com/rlzero/rlzero"

// layer is what a package may import.
type layer struct {
	folder  string // "." is the command itself
	imports string // folders of the module; "rl/*" is everything below rl
	tests   string // folders that its tests may import as well
	modules string // modules of others
}

// layers has a row for every package: imports go down only.
var layers = []layer{
	{folder: ".", imports: "gpu/refdev gpu/vulkan gpu/webgpu rl/cli"},
	{folder: "internal/blackbox", tests: "gpu gpu/* internal/browser internal/fixtures rl/cli", modules: "github.com/rogpeppe/go-internal golang.org/x/sys"},
	{folder: "internal/tree"},

	{folder: "rl/cli", imports: "gpu internal/* model model/hf model/gguf model/text model/text/template rl/* verify verify/instruct verify/program", tests: "gpu/gputest", modules: "github.com/urfave/cli/v2"},
	{folder: "rl/doctor", imports: "gpu gpu/gputest/oracle internal/files internal/hint internal/lines internal/random internal/terminal model model/hf rl/* shaders verify", tests: "gpu/gputest internal/fixtures", modules: "github.com/BurntSushi/toml"},
	{folder: "rl/bench", imports: "gpu model model/hf rl/cast internal/lines rl/prompts rl/recipe rl/resolve rl/train shaders", tests: "gpu/gputest"},
	{folder: "rl/fit", imports: "gpu model model/hf rl/bench rl/cast rl/recipe", tests: "gpu/gputest gpu/refdev internal/fixtures rl/rollout"},
	{folder: "rl"}, // the overview

	// A run, from its loop down.
	{folder: "rl/run", imports: "gpu internal/files internal/hint internal/lines internal/random internal/settings internal/terminal rl/algo rl/cast rl/eval rl/metrics rl/progress rl/prompts internal/random rl/receipt rl/recipe rl/record rl/resolve rl/rollout rl/store rl/train rl/watch verify", tests: "gpu/gputest gpu/refdev internal/fixtures model/hf rl/* verify/program"},
	{folder: "rl/train", imports: "internal/hint model rl/algo rl/cast rl/chat rl/eval rl/formula internal/lines rl/metrics rl/prompts internal/random rl/recipe rl/record rl/reward rl/rollout internal/terminal verify", tests: "gpu gpu/refdev internal/fixtures"},
	{folder: "rl/eval", imports: "internal/hint internal/terminal model rl/algo/stats rl/cast rl/infer internal/lines rl/metrics rl/prompts internal/random rl/recipe rl/record rl/resolve rl/rollout rl/tasks verify"},
	{folder: "rl/infer", imports: "internal/hint model model/text rl/chat internal/lines", tests: "gpu gpu/refdev internal/fixtures"},
	{folder: "rl/fleet/local", imports: "gpu internal/hint rl/cast rl/fleet rl/recipe rl/rollout", tests: "gpu/gputest internal/random rl/receipt rl/resolve rl/run"},
	{folder: "rl/fleet/delta", modules: "github.com/klauspost/compress"},
	{folder: "rl/fleet/bus", imports: "internal/hint rl/fleet rl/fleet/delta rl/fleet/verdict", tests: "gpu/gputest internal/random rl/rollout", modules: "github.com/nats-io/nats-server/v2 github.com/nats-io/nats.go github.com/nats-io/nkeys"},
	{folder: "rl/cast", imports: "gpu internal/hint model model/hf model/text internal/lines rl/prompts internal/random rl/recipe rl/resolve rl/reward rl/rollout"},
	{folder: "rl/receipt", imports: "gpu internal/files internal/hint rl/algo internal/terminal internal/lines rl/recipe rl/record rl/resolve rl/store verify", modules: "github.com/BurntSushi/toml"},
	{folder: "rl/audit", imports: "internal/lines rl/prompts internal/random rl/recipe rl/record rl/resolve rl/reward rl/tasks internal/terminal verify", tests: "internal/fixtures verify/instruct verify/program"},

	// Of the run, but of no device and no model.
	{folder: "rl/fleet", imports: "internal/packed rl/fleet/verdict internal/random rl/rollout verify"},
	{folder: "rl/fleet/verdict", imports: "internal/packed verify"},
	{folder: "rl/rollout", imports: "internal/lines internal/random internal/terminal verify"},
	{folder: "rl/resolve", imports: "internal/files internal/hint rl/chat rl/prompts rl/recipe rl/reward internal/settings verify", tests: "rl/rollout"},
	{folder: "rl/recipe", imports: "internal/files rl/algo rl/algo/schedule rl/formula rl/recipe/presets rl/reward internal/settings rl/tasks verify", tests: "verify/program"},
	{folder: "rl/recipe/presets", modules: "github.com/BurntSushi/toml"},
	{folder: "rl/prompts", imports: "internal/hint model/text model/text/template rl/chat internal/lines internal/random rl/table rl/tasks internal/terminal verify", tests: "internal/fixtures verify/instruct verify/program"},
	{folder: "rl/chat", imports: "internal/hint model/text model/text/template internal/lines internal/terminal", tests: "internal/fixtures"},
	{folder: "rl/reward", imports: "internal/worker rl/formula rl/rollout verify", modules: "go.starlark.net"},
	{folder: "rl/tasks", imports: "internal/hint internal/random internal/settings verify", tests: "internal/fixtures"},
	{folder: "rl/algo", imports: "rl/formula internal/settings", tests: "internal/fixtures", modules: "github.com/BurntSushi/toml"},
	{folder: "rl/formula"},
	{folder: "internal/settings", imports: "internal/hint", modules: "github.com/BurntSushi/toml"},
	{folder: "rl/algo/schedule", tests: "internal/fixtures"},
	{folder: "rl/algo/stats", tests: "internal/fixtures"},
	{folder: "internal/random"},
	{folder: "rl/store", imports: "internal/files internal/hint internal/lines"},
	{folder: "rl/record", imports: "internal/files internal/lines"},
	{folder: "rl/metrics", imports: "internal/lines rl/record"},
	{folder: "internal/tfevents", modules: "google.golang.org/protobuf"}, // its tests: they read back what it writes
	{folder: "rl/watch", tests: "rl/metrics rl/record"},
	{folder: "rl/compare", imports: "rl/algo/stats internal/lines rl/metrics rl/record"},
	{folder: "internal/web", imports: "internal/hint"},
	{folder: "rl/serve", imports: "gpu internal/hint model model/grammar model/text model/text/template rl/chat internal/lines internal/web", tests: "gpu/gputest gpu/refdev internal/fixtures model/hf rl/cast rl/infer internal/random rl/rollout"},
	{folder: "rl/page", imports: "internal/files internal/hint rl/compare internal/lines rl/metrics rl/recipe rl/record", tests: "internal/browser internal/web"},
	{folder: "internal/browser"},
	{folder: "internal/browser/inside", imports: "internal/browser"},
	{folder: "web", imports: "gpu gpu/refdev gpu/webgpu internal/hint model model/hf rl/cast rl/doctor rl/infer internal/lines rl/page rl/recipe rl/recipe/presets rl/record rl/resolve rl/run rl/store web/internal/advice", tests: "internal/browser internal/web"},
	{folder: "web/internal/advice"},
	{folder: "web/internal/site", imports: "rl/page"},
	{folder: "rl/table", imports: "internal/files internal/hint internal/lines rl/table/parquet", tests: "internal/fixtures"},
	{folder: "rl/table/parquet", tests: "internal/fixtures", modules: "github.com/andybalholm/brotli github.com/klauspost/compress github.com/pierrec/lz4/v4"},
	{folder: "internal/lines"},
	{folder: "internal/terminal"},
	{folder: "rl/progress", imports: "internal/terminal", modules: "github.com/vbauerster/mpb/v8 golang.org/x/term"},

	{folder: "verify", imports: "internal/hint internal/settings verify/internal/*", tests: "internal/fixtures", modules: "github.com/santhosh-tekuri/jsonschema/v6 golang.org/x/text"},
	{folder: "verify/internal/*"},
	{folder: "verify/instruct", imports: "verify", tests: "internal/fixtures", modules: "golang.org/x/text"},
	{folder: "verify/program", imports: "internal/worker verify verify/box verify/program/internal/*"},
	{folder: "verify/box", modules: "golang.org/x/sys"},
	{folder: "verify/program/internal/*", imports: "internal/worker", modules: "github.com/tetratelabs/wazero modernc.org/libc modernc.org/quickjs modernc.org/sqlite"},

	{folder: "model", imports: "gpu internal/hint model/gguf model/hf model/internal/jsonfile model/text", tests: "gpu/gputest gpu/refdev internal/fixtures internal/llamacpp"},
	{folder: "model/hf", imports: "internal/files internal/hint model/gguf model/internal/jsonfile model/text", tests: "internal/fixtures"},
	{folder: "model/text", imports: "internal/hint model/gguf model/internal/jsonfile model/text/template", tests: "internal/fixtures", modules: "github.com/dlclark/regexp2/v2 golang.org/x/text"},
	{folder: "model/text/template", tests: "internal/fixtures", modules: "golang.org/x/text"},
	{folder: "model/gguf", imports: "internal/files", tests: "internal/fixtures"},
	{folder: "model/grammar", tests: "internal/fixtures model/text", modules: "github.com/santhosh-tekuri/jsonschema/v6"},
	{folder: "model/internal/jsonfile", imports: "internal/files"},

	{folder: "gpu", imports: "internal/hint", tests: "gpu/gputest gpu/gputest/oracle gpu/internal/check gpu/refdev internal/fixtures shaders"},
	{folder: "gpu/vulkan", imports: "internal/hint gpu gpu/internal/check gpu/internal/host gpu/internal/vk shaders"},
	{folder: "gpu/webgpu", imports: "internal/hint gpu gpu/internal/check gpu/internal/host gpu/webgpu/internal/wgpu shaders"},
	{folder: "gpu/webgpu/internal/wgpu", modules: "github.com/cogentcore/webgpu"},
	{folder: "gpu/refdev", imports: "gpu gpu/internal/check shaders"},
	{folder: "gpu/internal/check", imports: "gpu shaders"},
	{folder: "gpu/internal/host", modules: "golang.org/x/sys"},
	{folder: "gpu/internal/vk", modules: "github.com/ebitengine/purego golang.org/x/sys"},
	{folder: "gpu/gputest", imports: "gpu gpu/gputest/oracle gpu/internal/check gpu/refdev gpu/vulkan gpu/webgpu shaders"},
	{folder: "gpu/gputest/oracle", imports: "gpu gpu/internal/check gpu/refdev shaders"},

	{folder: "shaders"},
	{folder: "shaders/internal/spirv"},
	{folder: "shaders/internal/generate", imports: "shaders shaders/internal/spirv"},

	{folder: "internal/files", imports: "internal/hint"},
	{folder: "internal/fixtures"},
	{folder: "internal/hint"},
	{folder: "internal/llamacpp", imports: "internal/fixtures"},
	{folder: "internal/packed"},
	{folder: "internal/worker"},
}

// guardedImports are packages of the standard library that few may use.
var guardedImports = []struct {
	name  string // "net/*" is everything below net
	where string // folders
	tests bool   // tests may
	why   string
}{
	{"C", "gpu/webgpu/internal/wgpu", false, "a plain go build needs no C compiler; WebGPU alone links a C library, behind a build tag"},
	{"net", "rl/fleet/bus internal/web", false, "they listen where the user said, on loopback by default; nothing else talks to a network"},
	{"net/*", "internal/browser/inside rl/fleet/bus rl/page rl/serve internal/web", false, "likewise; net/url is no network; and a test's program in a browser gets its files by loopback"},
	{"plugin", "", false, "a run is one binary"},
	{"math/rand", "", false, "its default source is seeded by chance; use math/rand/v2 with a key, or internal/random.At"},
	{"crypto/rand", "rl/fleet internal/web", false, "the token of an address beyond loopback, the seed of a request without one, which is told, and which items of workers are checked, which must not be guessed and changes no byte; every random number of a run comes from its seed"},
	{"os/exec", "internal/browser internal/browser/inside internal/llamacpp shaders/internal/generate verify/box verify/program internal/worker", true, "no command reads what a model wrote, but for this binary itself as an engine of programs, and an interpreter in a box"},
	{"unsafe", "gpu/internal/vk gpu/webgpu/internal/wgpu gpu/refdev verify/box verify/program/internal/sqlite", true, "memory of C, transpiled too, and of the kernel belongs to the bindings; the reference device views its words as floats"},
}

// guardedCalls are functions that few may call.
var guardedCalls = []struct {
	rule  string
	calls string
	tests bool // tests may
	where []exception
}{
	{
		rule:  "the disk is written through rl/store, which orders and syncs what it writes (rl/store/doc.go)",
		calls: "os.WriteFile os.Create os.OpenFile os.Rename os.Mkdir os.MkdirAll os.Remove os.RemoveAll os.CreateTemp os.MkdirTemp os.Link os.Symlink os.Truncate",
		tests: true,
		where: []exception{
			{"rl/store", "the door itself"},
			{"internal/fixtures/fixtures.go", "a test's temporary folder"},
			{"rl/cli/model.go", "eval --out FILE: a result, of no run"},
			{"internal/browser", "the profile of a browser, in the temporary folder, and the files of tests that run in one"},
			{"rl/cli/worker.go", "worker --key-new FILE: a key, of no run"},
			{"rl/doctor", "the runs that it compares live in a temporary folder"},
			{"shaders/internal/generate", "a tool of the build"},
			{"web/internal/site", "the same"},
		},
	},
	{
		rule:  "a run is a function of recipe, seed and device, not of time; tests do not measure it",
		calls: "time.Now time.Since time.Until time.After time.AfterFunc time.Sleep time.Tick time.NewTicker time.NewTimer",
		where: []exception{
			{"rl/progress", "display"},
			{"rl/run/display.go", "tokens per second on the display"},
			{"rl/run/run.go", "the time at the end of a run"},
			{"rl/run/finish.go", "the same"},
			{"rl/run/gain.go", "what workers can bring, which is shown"},
			{"rl/train/imitate.go", "timing.jsonl"},
			{"rl/train/rl.go", "timing.jsonl"},
			{"rl/train/queue.go", "timing.jsonl: how long a step waits for its completions"},
			{"rl/train/arrival.go", "timing.jsonl: as queue.go"},
			{"rl/train/prefer.go", "timing.jsonl"},
			{"internal/blackbox/script_test.go", "waits for a program to write a file, with a bound"},
			{"internal/blackbox/kill_test.go", "kills a run at different moments and gives up on one that hangs"},
			{"verify/box/hostile_test.go", "waits until killed processes are gone, with a bound"},
			{"rl/bench", "a benchmark"},
			{"rl/cli/watch.go", "asks a file for news"},
			{"rl/page", "asks files for news, and whether a run is in progress"},
			{"rl/serve", "when an answer was made, and how long a client may take; never what is answered"},
			{"internal/browser", "waits for a browser, with a bound"},
			{"rl/fleet/dispatcher.go", "how long workers are waited for: it decides who computes, not what"},
			{"rl/fleet/bus", "which workers are there, and how long is waited before asking again"},
			{"rl/fleet/fleet_test.go", "time of a bubble of testing/synctest"},
			{"rl/fleet/canary_test.go", "time of a bubble of testing/synctest"},
			{"rl/fleet/pick_test.go", "time of a bubble of testing/synctest"},
			{"rl/fleet/judge_test.go", "time of a bubble of testing/synctest"},
			{"rl/fleet/workers_test.go", "time of a bubble of testing/synctest"},
			{"rl/fleet/rooms_test.go", "time of a bubble of testing/synctest"},
			{"rl/cli/train.go", "the name of a run folder"},
			{"web/gate.go", "when messages of the page get a turn; never what is computed"},
			{"gpu/refdev/device.go", "Timestamps of the reference device"},
			{"gpu/webgpu/timestamps.go", "the rate of the device's clock, measured against the host's"},
		},
	},
}

// exception is a file or a folder to which a rule does not apply.
type exception struct{ where, why string }

func (e exception) covers(file string) bool {
	return file == e.where || strings.HasPrefix(file, e.where+"/")
}

// goFile is one parsed file of the tree.
type goFile struct {
	name   string // slash-separated, from the root
	folder string
	test   bool
	ast    *ast.File
}

var fileSet = token.NewFileSet()

// goFiles are the Go files of the tree for all systems, build tags ignored.
var goFiles = sync.OnceValues(func() ([]goFile, error) {
	var files []goFile
	err := eachFile(func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(fileSet, filepath.FromSlash(name), nil, parser.ParseComments|parser.SkipObjectResolution)
		files = append(files, goFile{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), parsed})
		return err
	})
	return files, err
})

// eachFile calls do for every file of the tree, data of tests and the output of
// runs and builds excluded.
func eachFile(do func(name string) error) error {
	return fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "runs", "dist"}, entry.Name()):
			return fs.SkipDir
		case !entry.Type().IsRegular() || name == "rlzero" || name == ".git": // a file in a worktree
			return nil
		}
		return do(name)
	})
}

func parsedFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func position(n ast.Node) string {
	p := fileSet.Position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.ToSlash(p.Filename), p.Line)
}

// matches says whether a name stands in a list, "a/*" being everything below a.
// The pattern that matched is added to used.
func matches(list, name string, used map[string]bool) bool {
	for _, pattern := range strings.Fields(list) {
		below, wild := strings.CutSuffix(pattern, "/*")
		if pattern == name || wild && strings.HasPrefix(name, below+"/") {
			used[pattern] = true
			return true
		}
	}
	return false
}

// inModule says whether an import path is of one of the modules.
func inModule(list, path string, used map[string]bool) bool {
	for _, m := range strings.Fields(list) {
		if path == m || strings.HasPrefix(path, m+"/") {
			used[m] = true
			return true
		}
	}
	return false
}

func TestImportGraph(t *testing.T) {
	used := map[string]map[string]bool{} // by folder: entries of its row that something needs
	for _, f := range parsedFiles(t) {
		row := slices.IndexFunc(layers, func(l layer) bool { return matches(l.folder, f.folder, map[string]bool{}) })
		if row < 0 {
			t.Errorf("%s: package %s has no row in layers of imports_test.go; add one that says what it may import", f.name, f.folder)
			continue
		}
		l := layers[row]
		if used[l.folder] == nil {
			used[l.folder] = map[string]bool{}
		}
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			own, inside := strings.CutPrefix(name, module+"/")
			allowed := own == f.folder || matches(l.imports, own, used[l.folder]) || f.test && matches(l.tests, own, used[l.folder])
			first, _, _ := strings.Cut(name, "/")
			switch {
			case inside && !allowed:
				t.Errorf("%s: %s imports %s. Imports go down only; if this edge is meant, add it to the row of %s in layers of imports_test.go",
					position(spec), f.folder, own, f.folder)
			case !inside && strings.Contains(first, ".") && name != module && !inModule(l.modules, name, used[l.folder]):
				t.Errorf("%s: %s imports %s. A module of others needs a reason; if it is meant, add it to the row of %s in layers of imports_test.go",
					position(spec), f.folder, name, f.folder)
			}
		}
	}
	for _, l := range layers {
		if used[l.folder] == nil {
			t.Errorf("layers of imports_test.go has a row for %s, where no package is", l.folder)
			continue
		}
		for _, entry := range strings.Fields(l.imports + " " + l.tests + " " + l.modules) {
			if !used[l.folder][entry] {
				t.Errorf("layers of imports_test.go lets %s import %s, which it does not", l.folder, entry)
			}
		}
	}
}

func TestGuardedImports(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parsedFiles(t) {
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			for _, g := range guardedImports {
				if matches(g.name, name, map[string]bool{}) && !matches(g.where, f.folder, used) && !(g.tests && f.test) {
					t.Errorf("%s imports %s: %s. If it has to, add %s to guardedImports in imports_test.go", position(spec), name, g.why, f.folder)
				}
			}
		}
	}
	for _, g := range guardedImports {
		for _, folder := range strings.Fields(g.where) {
			if !used[folder] {
				t.Errorf("guardedImports lets %s import %s, which it does not", folder, g.name)
			}
		}
	}
}

func TestGuardedCalls(t *testing.T) {
	for _, g := range guardedCalls {
		used := map[exception]bool{}
		for _, f := range parsedFiles(t) {
			if f.test && g.tests {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); !ok || !slices.Contains(strings.Fields(g.calls), x.Name+"."+s.Sel.Name) {
					return true
				}
				if i := slices.IndexFunc(g.where, func(e exception) bool { return e.covers(f.name) }); i >= 0 {
					used[g.where[i]] = true
					return true
				}
				t.Errorf("%s uses %s: %s. If it has to, add %s with the reason to guardedCalls in imports_test.go", position(s), s.Sel.Name, g.rule, f.name)
				return true
			})
		}
		for _, e := range g.where {
			if !used[e] {
				t.Errorf("guardedCalls excepts %s (%s), which needs it no more", e.where, e.why)
			}
		}
	}
}

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

// Sizes that a reader can hold in mind, tests included.
const (
	maxFileLines     = 650
	maxFunctionLines = 80
)

// longFunctions may be longer, for the reason given.
var longFunctions = map[string]string{}

func TestSizes(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parsedFiles(t) {
		if n := fileSet.Position(f.ast.FileEnd).Line; n > maxFileLines {
			t.Errorf("%s has %d lines, at most %d: cut it where one idea ends", f.name, n, maxFileLines)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := fileSet.Position(fn.End()).Line - fileSet.Position(fn.Pos()).Line + 1
			key := f.folder + "." + fn.Name.Name
			if n <= maxFunctionLines {
				continue
			}
			used[key] = true
			if longFunctions[key] == "" {
				t.Errorf("%s: %s has %d lines, at most %d", position(fn), fn.Name.Name, n, maxFunctionLines)
			}
		}
	}
	for key := range longFunctions {
		if !used[key] {
			t.Errorf("longFunctions of imports_test.go has %s, which is short", key)
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

// smallNumbers are the test files that may write a number between 0 and 1/100.
// Tolerances are computed from rounding errors (package oracle), never tried out,
// so a small number in a test is suspect until its reason stands here.
var smallNumbers = map[string]string{
	"gpu/conformance_fixtures_test.go":      "what the fixtures' README allows float64 against float64",
	"model/optimizer_test.go":               "optimizer settings; the share that the fixtures' README allows f32 against f64",
	"gpu/conformance_sampling_test.go":      "chance at which a right sampler fails the test",
	"gpu/refdev/derivative_test.go":         "eps of the norms",
	"model/hf/config_test.go":               "values of config.json",
	"model/invariance_test.go":              "eps of the norms",
	"model/resident_test.go":                "optimizer settings",
	"rl/bench/decode_test.go":               "seconds of a launch, a setting",
	"rl/fleet/bus/deltas_test.go":           "the rate of changes of weights",
	"rl/fleet/delta/delta_test.go":          "the size of changes of weights",
	"rl/cli/tiny_test.go":                   "eps of the norms",
	"rl/algo/toy_test.go":                   "where an optimization stops, from which the bound is computed; the eps that whitening has in trainers",
	"rl/algo/cost_test.go":                  "std_eps, a setting",
	"rl/algo/identity_test.go":              "values that the hand-written losses had",
	"rl/algo/golden_estimators_test.go":     "what the note of a case allows",
	"rl/algo/golden_other_test.go":          "what the fixtures' README allows where a project casts to float32",
	"rl/algo/golden_preference_test.go":     "the same",
	"rl/algo/golden_test.go":                "what the fixtures' README allows for float32 counters",
	"rl/algo/golden_verl_test.go":           "what the fixtures' README allows",
	"rl/algo/schedule/schedule_test.go":     "a default of transformers",
	"rl/metrics/metrics_test.go":            "numbers to be printed",
	"rl/tasks/oracles_test.go":              "tolerances that the texts of the families promise",
	"rl/watch/rules_test.go":                "values of metrics",
	"verify/answers_test.go":                "one or two roundings of scores below 1",
	"verify/internal/mathans/equal_test.go": "arguments of the functions tested",
	"verify/textmetrics_test.go":            "what the fixtures' README allows",
}

func TestSmallNumbers(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parsedFiles(t) {
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.FLOAT {
				return true
			}
			v, err := strconv.ParseFloat(lit.Value, 64)
			if err != nil || v <= 0 || v >= 0.01 || strings.HasPrefix(lit.Value, "0x") { // 0x1p-52 names a rounding unit
				return true
			}
			used[f.name] = true
			if smallNumbers[f.name] == "" {
				t.Errorf("%s: %s: is it a tolerance? Compute it (gpu/gputest/oracle shows how); if not, say what it is in smallNumbers of imports_test.go",
					position(lit), lit.Value)
			}
			return true
		})
	}
	for name := range smallNumbers {
		if !used[name] {
			t.Errorf("smallNumbers of imports_test.go has %s, where none is", name)
		}
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
