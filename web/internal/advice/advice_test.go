package advice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestOnPage(t *testing.T) {
	for text, want := range map[string]string{
		"to continue once there is room: rlzero train --resume --run run":                                                                               "to continue once there is room: press Continue",
		"any of these lines makes it fit, the cheapest first:\n   --set sampler_sequences=32\n   --set sampler_sequences=1 --set stage.rl.group_size=4": "any of these lines makes it fit, the cheapest first:\n   sampler_sequences = 32\n   sampler_sequences = 1 and stage.rl.group_size = 4",
		"nothing is downloaded by rlzero; fetch it from the Hugging Face hub first: hf download a/b --local-dir a/b":                                    "nothing is downloaded: drop the files of a small model here",
		"update the driver, or choose another device with --device":                                                                                     "update the driver",
		"to continue that run: rlzero train --resume --run run":                                                                                         "to continue that run: press Continue",
		"--set stage.rl.reward=tusk: unknown name":                                                                                                      "stage.rl.reward = tusk: unknown name",
		"task.name = \"x\" is not known; did you mean gcd? (rlzero tasks lists them all)":                                                               "task.name = \"x\" is not known; did you mean gcd?",
		"unknown recipe \"x\"; rlzero recipes lists them all":                                                                                           "unknown recipe \"x\"",
		"imitate such rows: rlzero train sft-chat --set model.path=DIR --set task.data=rows.jsonl":                                                      "imitate such rows with the recipe sft-chat, from the command line",
		"merge it into its model: rlzero export --format hf --out FOLDER mine":                                                                          "merge it into its model with rlzero export, from the command line",
		"merge it: rlzero export --format hf --out FOLDER 'my run/it'\\''s'":                                                                            "merge it with rlzero export, from the command line",
		"put that model there, or give it as MODEL to a command that has --adapter, with --adapter 'my run'":                                            "drop the files of that model too",
		"--set 'model.lora.modules=[\"q\", \"v\"]' --set task.data='my rows.jsonl'":                                                                     "model.lora.modules = [\"q\", \"v\"] and task.data = 'my rows.jsonl'",
		"write that: rlzero export --member NAME --out FOLDER RUN; merge others":                                                                        "write that with rlzero export, from the command line; merge others",
		"rlzero devices lists the devices":                                                                                                              "",
		"give name = \"NAME\" (rlzero tasks lists them), or data = \"FILE\"":                                                                            "give name = \"NAME\", or data = \"FILE\"",
		"if it is a judge, rlzero judge runs/x --failed shows answers that cannot be read":                                                              "if it is a judge, judgements.jsonl has its answers",
		"resume with the version of rlzero that wrote it":                                                                                               "resume with the version of rlzero that wrote it",
	} {
		if got := OnPage(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// elsewhere are files whose errors the page cannot meet, and why.
var elsewhere = map[string]string{
	"gpu/inspect.go":                "rlzero inspect kernels",
	"gpu/internal/check/check.go":   "--tier, which the page has not",
	"rl/audit/file.go":              "rlzero audit",
	"rl/audit/grader.go":            "rlzero audit",
	"rl/doctor/draws.go":            "rlzero doctor --draws",
	"rl/doctor/receipt.go":          "rlzero receipt",
	"rl/eval/model.go":              "rlzero eval",
	"rl/eval/head.go":               "rlzero eval",
	"rl/eval/judges.go":             "rlzero judge",
	"rl/eval/tree.go":               "rlzero eval",
	"rl/infer/head.go":              "rlzero score",
	"rl/infer/talk.go":              "rlzero chat",
	"rl/run/repeat.go":              "rlzero train --replay",
	"rl/store/model.go":             "--checkpoint, which the page leaves at its default",
	"internal/settings/document.go": "changes by --set, of which the page makes one that is always right",
	"verify/grade.go":               "rlzero grade",
}

// telling are functions whose texts become errors or hints.
var telling = regexp.MustCompile(`^(With|Errorf|New|[fF]ail|DidYouMean|Unknown)$`)

// terminal is what only a command line has.
var terminal = regexp.MustCompile(`(^|[ (])--[a-z]|rlzero (train|resume|sample|eval|recipes|tasks|verifiers|algorithms|formulas|devices|doctor|receipt|audit|judge|fit|bench|inspect)\b`)

// TestNoFlags: of all that the page is built from, no error and no hint names a flag or a
// command once it is on the page.
func TestNoFlags(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}`, "./web")
	list.Dir, list.Env = filepath.Join("..", "..", ".."), append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(list.Dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for dir := range strings.FieldsSeq(string(out)) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(root, file)
			ast.Inspect(parsed, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !telling.MatchString(called(call)) {
					return true
				}
				for _, arg := range call.Args {
					literal, ok := arg.(*ast.BasicLit)
					if !ok || literal.Kind != token.STRING {
						continue
					}
					text, _ := strconv.Unquote(literal.Value) // it has been parsed
					texts++
					if elsewhere[filepath.ToSlash(name)] == "" && terminal.MatchString(OnPage(text)) {
						t.Errorf("%s:%d: on the page it says %q: add a rule, or a reason why it is not met there", name, set.Position(literal.Pos()).Line, OnPage(text))
					}
				}
				return true
			})
		}
	}
	if texts < 1000 {
		t.Errorf("only %d texts were found", texts)
	}
}

// called is the name of the function of a call.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
