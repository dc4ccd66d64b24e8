package tree

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers are the packages of the module from the top down, each with what is below its folder
// unless that has a place of its own. A package imports those of lower layers and those of its
// own folder, none beside it and none above. Tests import what they need.
var layers = []string{
	". web peers internal/blackbox internal/tree", // programs
	"rl/cli",
	"rl/doctor rl/fit",
	"rl/bench rl/run",
	"rl/train",
	"rl/eval rl/fleet/local",
	"rl/cast rl/fresh rl/infer rl/serve rl/receipt", // the lowest that know a model
	"rl/weights",
	"model internal/llamacpp",
	"gpu",
	"rl/audit rl/endpoint rl/page", // from here on no device and no model
	"rl/panel",                     // asks models, and knows none
	"rl/resolve rl/compare",
	"rl/prompts rl/recipe rl/fleet",
	"rl/chat rl/reward rl/tasks rl/metrics",
	"rl/rollout rl/record rl/store rl/table rl/algo rl/algebra rl/watch rl/progress",
	"rl/world",
	"rl/formula verify model/text model/grammar shaders",
	"model/gguf model/internal/jsonfile",
	"internal rl", // rl itself is the overview
}

// never lists who may not come to what, directly or through others; "a/*" is everything below a.
var never = []struct {
	folders string
	what    string
	why     string
}{
	{"gpu gpu/* shaders shaders/* model model/* verify verify/* internal/*", "rl/*", "what runs are built of knows none"},
	{"rl/train rl/eval rl/infer rl/cast rl/fleet rl/rollout rl/prompts rl/resolve rl/recipe rl/reward rl/tasks rl/algo", "rl/store rl/progress",
		"stages return events; the run writes them down and shows them"},
	{"rl/run rl/train rl/eval rl/infer rl/cast rl/fleet rl/rollout rl/prompts rl/resolve rl/recipe rl/reward rl/tasks rl/algo rl/watch model model/* gpu gpu/* verify verify/*", "internal/web rl/page rl/serve rl/fleet/bus rl/endpoint",
		"training opens no socket: the command line alone puts a page, workers of other machines or a judge's address beside it"},
	{". web rl/* model/* verify/*", "internal/browser internal/fixtures internal/llamacpp gpu/gputest model/internal/modeltest", "they are for tests"},
}

// modules are those of others, and who may import them. A module needs a reason
// (CONTRIBUTING.md).
var modules = []struct{ name, where string }{
	{"github.com/BurntSushi/toml", "internal/settings rl/algo rl/doctor rl/receipt rl/recipe/presets"},
	{"github.com/andybalholm/brotli", "rl/page rl/table/internal/parquet web/internal/site"},
	{"github.com/cogentcore/webgpu", "gpu/webgpu/internal/wgpu"},
	{"github.com/dlclark/regexp2/v2", "model/text"},
	{"github.com/ebitengine/purego", "gpu/internal/vk"},
	{"github.com/klauspost/compress", "rl/fleet/bus/internal/delta rl/table/internal/parquet"},
	{"github.com/nats-io", "rl/fleet/bus rl/fleet/bus/internal/natsd"},
	{"github.com/pierrec/lz4/v4", "rl/table/internal/parquet"},
	{"github.com/rogpeppe/go-internal", "internal/blackbox"},
	{"github.com/santhosh-tekuri/jsonschema/v6", "model/grammar verify"},
	{"github.com/tetratelabs/wazero", "verify/program/internal/wasm"},
	{"github.com/urfave/cli/v2", "rl/cli"},
	{"github.com/vbauerster/mpb/v8", "rl/progress"},
	{"go.starlark.net", "verify/script"},
	{"golang.org/x/sys", "gpu/internal/host gpu/internal/vk internal/blackbox verify/box"},
	{"golang.org/x/term", "rl/progress"},
	{"golang.org/x/text", "model/text model/text/template verify verify/instruct"},
	{"google.golang.org/protobuf", "internal/tfevents"},
	{"modernc.org", "verify/program/internal/js verify/program/internal/sqlite"},
}

// guardedImports are packages of the standard library that few may use.
var guardedImports = []struct {
	name  string // "net/*" is everything below net
	where string // folders
	tests bool   // tests may
	why   string
}{
	{"C", "gpu/webgpu/internal/wgpu", false, "a plain go build needs no C compiler; WebGPU alone links a C library, behind a build tag"},
	{"net", "rl/fleet/bus rl/fleet/bus/internal/natsd internal/web", false, "they listen where the user said, on loopback by default; nothing else talks to a network"},
	{"net/*", "internal/browser/inside rl/endpoint rl/fleet/bus rl/page rl/serve internal/web", false, "likewise, and a judge is asked at an address of this machine; net/url is no network; and a test's program in a browser gets its files by loopback"},
	{"plugin", "", false, "a run is one binary"},
	{"math/rand", "", false, "its default source is seeded by chance; use math/rand/v2 with a key, or internal/random.At"},
	{"crypto/rand", "rl/fleet rl/fleet/bus/internal/natsd internal/web", false, "the token of an address beyond loopback, the seed of a request without one, which is told, what a worker signs to come in, and which items of workers are checked, which must not be guessed and changes no byte; every random number of a run comes from its seed"},
	{"os/exec", "internal/browser internal/browser/inside internal/llamacpp shaders/internal/generate verify/box verify/program internal/worker rl/world/outside", true, "no command reads what a model wrote, but for this binary itself as an engine of programs, an interpreter in a box, and programs that a recipe names and the command line tells of"},
	{"unsafe", "gpu/internal/vk gpu/webgpu/internal/wgpu gpu/refdev verify/box verify/program/internal/sqlite", true, "memory of C, transpiled too, and of the kernel belongs to the bindings; the reference device views its words as floats"},
}

// guardedCalls are functions that few may call.
var guardedCalls = []struct {
	rule  string
	calls string // of packages; ".Name" is a method of any value
	tests bool   // tests may
	where []exception
}{
	{
		rule:  "the disk is written through rl/store, which orders and syncs what it writes (rl/store/doc.go)",
		calls: "os.WriteFile os.Create os.OpenFile os.Rename os.Mkdir os.MkdirAll os.Remove os.RemoveAll os.CreateTemp os.MkdirTemp os.Link os.Symlink os.Truncate",
		tests: true,
		where: []exception{
			{"rl/store", "the door itself"},
			{"internal/fixtures/fixtures.go", "a test's temporary folder"},
			{"model/internal/modeltest", "the same"},
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
			{"internal/awake", "how long a judged program or a world may take"},
			{"rl/progress", "display"},
			{"rl/run", "what is shown: tokens per second, the time of a run, what workers can bring"},
			{"rl/train", "timing.jsonl"},
			{"internal/blackbox/script_test.go", "waits for a program to write a file, with a bound"},
			{"internal/blackbox/kill_test.go", "kills a run at different moments and gives up on one that hangs"},
			{"internal/blackbox/machines_linux_test.go", "slows a process, so that workers fall silent before a run ends"},
			{"verify/box/hostile_test.go", "waits until killed processes are gone, with a bound"},
			{"rl/bench", "a benchmark"},
			{"rl/cli/signals.go", "which signals come together"},
			{"rl/cli/watch.go", "asks a file for news"},
			{"rl/page", "asks files for news, and whether a run is in progress"},
			{"rl/serve", "when an answer was made, and how long a client may take; never what is answered"},
			{"internal/browser", "waits for a browser, with a bound"},
			{"rl/fleet/dispatcher.go", "how long workers are waited for: it decides who computes, not what"},
			{"rl/fleet/bus", "which workers are there, and how long is waited before asking again"},
			{"rl/cli/train.go", "the name of a run folder"},
			{"web/gate.go", "when messages of the page get a turn; never what is computed"},
			{"gpu/refdev/device.go", "Timestamps of the reference device"},
			{"gpu/webgpu/timestamps.go", "the rate of the device's clock, measured against the host's"},
		},
	},
	{
		rule:  "a clock may be set back: only time.Since a time.Now of the same process is sure to be no less than 0",
		calls: ".ModTime .Unix .UnixMilli .UnixMicro .UnixNano",
		tests: true,
		where: []exception{
			{"internal/browser/inside/disk.go", "what Node's file system tells of a file"},
			{"internal/files/files.go", "tells a file that was written to, and asks for no order"},
			{"model/text/template/globals.go", "the date of a template, which is given"},
			{"rl/page/compare.go", "tells files apart, and asks for no order"},
			{"rl/page/runs.go", "a change that lies ahead is as far away as one that lies back"},
			{"rl/serve", "when an answer was made, as clients want it"},
			{"verify/program/internal/sqlite/engine.go", "the date of a database, which is always the same"},
		},
	},
}

// exception is a file or a folder to which a rule does not apply.
type exception struct{ where, why string }

func (e exception) covers(file string) bool {
	return file == e.where || strings.HasPrefix(file, e.where+"/")
}

// layerOf is the layer of a folder, 0 at the top, and the entry that has it there.
func layerOf(folder string) (layer int, entry string) {
	for i, row := range layers {
		for _, e := range strings.Fields(row) {
			if (folder == e || strings.HasPrefix(folder, e+"/")) && len(e) > len(entry) {
				layer, entry = i, e
			}
		}
	}
	return layer, entry
}

// imported are the folders of the module that a file imports.
func imported(f goFile) map[string]ast.Node {
	folders := map[string]ast.Node{}
	for _, spec := range f.ast.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if name == module {
			folders["."] = spec
		} else if own, ok := strings.CutPrefix(name, module+"/"); ok {
			folders[own] = spec
		}
	}
	return folders
}

func imports(f goFile, name string) bool {
	return slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == strconv.Quote(name) })
}

func TestImportGraph(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parsedFiles(t) {
		layer, entry := layerOf(f.folder)
		used[entry] = true
		if entry == "" {
			t.Errorf("%s: package %s is in none of the layers of imports_test.go", f.name, f.folder)
		}
		if f.test {
			continue
		}
		for own, place := range imported(f) {
			if below, of := layerOf(own); below < layer || below == layer && of != entry {
				t.Errorf("%s: %s imports %s, which is not below it in layers of imports_test.go", position(place), f.folder, own)
			}
		}
	}
	for _, row := range layers {
		for _, entry := range strings.Fields(row) {
			if !used[entry] {
				t.Errorf("layers of imports_test.go has %s, where no package is", entry)
			}
		}
	}
}

// TestImportNever looks at what packages reach through others, tests excepted.
func TestImportNever(t *testing.T) {
	direct := map[string]map[string]bool{}
	for _, f := range parsedFiles(t) {
		if direct[f.folder] == nil {
			direct[f.folder] = map[string]bool{}
		}
		if !f.test {
			for own := range imported(f) {
				direct[f.folder][own] = true
			}
		}
	}
	var reach func(folder string, seen map[string]bool)
	reach = func(folder string, seen map[string]bool) {
		for own := range direct[folder] {
			if !seen[own] {
				seen[own] = true
				reach(own, seen)
			}
		}
	}
	for _, rule := range never {
		used := map[string]bool{}
		for folder := range direct {
			if matches(rule.what, folder, used); !matches(rule.folders, folder, used) || matches(rule.what, folder, used) {
				continue
			}
			reached := map[string]bool{}
			reach(folder, reached)
			for own := range reached {
				if matches(rule.what, own, used) {
					t.Errorf("%s reaches %s: %s", folder, own, rule.why)
				}
			}
		}
		for _, entry := range strings.Fields(rule.folders + " " + rule.what) {
			if !used[entry] {
				t.Errorf("there is no folder %s, which a rule of never is about: %s", entry, rule.why)
			}
		}
	}
}

func TestImportModules(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parsedFiles(t) {
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") || inModule(module, name, map[string]bool{}) {
				continue
			}
			allowed := false
			for _, m := range modules {
				if inModule(m.name, name, map[string]bool{}) && matches(m.where, f.folder, map[string]bool{}) {
					used[m.name+" "+f.folder], allowed = true, true
				}
			}
			if !allowed {
				t.Errorf("%s imports %s, which modules of imports_test.go does not allow", position(spec), name)
			}
		}
	}
	for _, m := range modules {
		for _, folder := range strings.Fields(m.where) {
			if !used[m.name+" "+folder] {
				t.Errorf("modules lets %s import %s, which it does not", folder, m.name)
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
			if f.test && (g.tests || imports(f, "testing/synctest")) { // in a bubble time is a count
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				name := "." + s.Sel.Name
				if x, ok := s.X.(*ast.Ident); ok && imports(f, x.Name) {
					name = x.Name + name
				}
				if !slices.Contains(strings.Fields(g.calls), name) {
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
