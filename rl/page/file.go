package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
)

// Room is how many bytes of completions, tokens, judgements and made rows a page that is one file has where
// nobody says so: it can be sent by mail then.
const Room = 4 << 20

// inline is what a page that is a single file holds in place of a server.
type inline struct {
	Runs    []Run                        `json:"runs"`
	Metrics []metrics.Metric             `json:"metrics"`
	Files   map[string]map[string]string `json:"files"`             // by run and name
	Methods map[string][]stageMethod     `json:"methods"`           // by run
	Against map[string]json.RawMessage   `json:"against"`           // comparisons, by two groups: "A B" is what A gained over B, and stands for "B A" too
	Contest *contest                     `json:"contest,omitempty"` // of a page that shows it alone
}

// contest is a comparison of recipes by rlzero compare.
type contest struct {
	Told  json.RawMessage `json:"told"`
	Notes []string        `json:"notes"`
}

// maxAgainst is how many comparisons a file has at most: those of fifteen recipes with each
// other.
const maxAgainst = 105

// File is the page as one HTML file: every file of the runs, and of those of stepLogs
// the steps that room has place for, in bytes, evenly over each run.
func (r *Runs) File(room int) ([]byte, error) {
	in := inline{Runs: inFile(r.describe()), Metrics: metrics.Table(), Files: map[string]map[string]string{}, Methods: map[string][]stageMethod{}, Against: map[string]json.RawMessage{}}
	for i, o := range r.known() {
		shares := sharesOf(in.Runs[i], room/len(in.Runs))
		in.Files[o.id], in.Methods[o.id] = map[string]string{}, o.methods()
		for _, name := range Files {
			text, err := o.text(name, shares[name])
			if err != nil {
				return nil, err
			}
			in.Files[o.id][name] = text
		}
	}
	read := once(compare.Read)
	for i, a := range r.known() {
		for _, b := range r.known()[:i] {
			key := a.group + " " + b.group
			_, there := in.Against[key]
			if _, turned := in.Against[b.group+" "+a.group]; !there && !turned && a.group != b.group && len(in.Against) < maxAgainst {
				in.Against[key] = r.against(a, b, read)
			}
		}
	}
	return in.bundle(slices.Concat(scripts, screenScripts, mains), in.still())
}

// sharesOf are the bytes that a file has room for of each of stepLogs of a run: equally many, but what one
// does not need is for those that are longer.
func sharesOf(r Run, room int) map[string]int {
	out := map[string]int{}
	names := slices.SortedFunc(slices.Values(stepLogs), func(a, b string) int { return cmp.Compare(r.Files[a], r.Files[b]) })
	for i, name := range names {
		out[name] = room / (len(names) - i)
		room -= min(out[name], int(r.Files[name]))
	}
	return out
}

// inFile are runs as a file tells of them: what it says of a run that is not finished has to
// be true when it is read, and when it is written its logs are fresh in any case.
func inFile(runs []Run) []Run {
	for i := range runs {
		if runs[i].State != "finished" {
			runs[i].State = "unfinished"
		}
	}
	return runs
}

// Contest is the page of a comparison, which is the JSON of package compare, as one HTML
// file. notes are lines for its foot.
func Contest(told json.RawMessage, notes []string) ([]byte, error) {
	in := inline{Runs: []Run{}, Contest: &contest{told, append([]string{}, notes...)}}
	return in.bundle(slices.Concat(scripts, []string{"contest.js"}, mains), scriptless)
}

// text is a file of a run, "" if there is none: of those of stepLogs a part.
func (o *run) text(name string, limit int) (string, error) {
	if _, there := o.describe().Files[name]; !there {
		return "", nil
	}
	if slices.Contains(stepLogs, name) {
		return o.sample(name, limit)
	}
	f, info, err := o.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	if filepath.Ext(name) == ".jsonl" {
		err = wholeLines(&b, name, f, info.Size())
	} else {
		_, err = io.Copy(&b, f)
	}
	return b.String(), err
}

// wholeLines copies those of a log. One that is too long is left out: what says so stands in its
// place, as a line that the page counts among those that cannot be read.
func wholeLines(out *strings.Builder, name string, in io.ReaderAt, size int64) error {
	r := record.Reader{Name: name}
	for {
		err := r.Pieces(in, size, func(piece []byte) error {
			out.Write(piece)
			return nil
		})
		var long *record.TooLong
		if !errors.As(err, &long) {
			return err
		}
		if ended, err := r.Skip(in, size); err != nil || !ended {
			return err
		}
		fmt.Fprintln(out, long)
	}
}

// sample is the lines of some steps of a log, evenly over the run, the last among them, and what
// says which lines of the whole log are too long.
func (o *run) sample(name string, limit int) (string, error) {
	steps, err := o.stepsFrom(name, 0)
	if err != nil || len(steps) == 0 {
		return "", err
	}
	f, _, err := o.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	total := 0
	for _, s := range steps {
		total += int(s.Bytes)
	}
	every := max(1, (total+limit-1)/max(1, limit))
	var chosen []record.Step // the last first
	for i, room := len(steps)-1, limit; i >= 0 && int(steps[i].Bytes) <= room; i -= every {
		chosen, room = append(chosen, steps[i]), room-int(steps[i].Bytes)
	}
	var b strings.Builder
	for _, s := range slices.Backward(chosen) {
		if _, err := io.Copy(&b, io.NewSectionReader(f, s.Offset, s.Bytes)); err != nil {
			return "", err
		}
	}
	for _, s := range steps {
		for _, n := range s.Skipped {
			fmt.Fprintln(&b, &record.TooLong{Name: name, Line: n})
		}
	}
	return b.String(), nil
}

// bundle is the page with its scripts, styles and data in it, and what it shows without scripts. Its policy names the hashes
// of the three, and lets nothing else run or load.
func (in inline) bundle(scripts []string, without string) ([]byte, error) {
	data, err := json.Marshal(in) // escapes <, > and &, so that no text ends the script
	if err != nil {
		return nil, err
	}
	var code strings.Builder
	for _, name := range scripts {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		code.Write(text)
		code.WriteByte('\n')
	}
	css, err := assets.ReadFile("assets/" + style)
	if err != nil {
		return nil, err
	}
	before := "window.inlineRuns = " + string(data) + ";"
	policy := fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", hash(before), hash(code.String()), hash(string(css)))
	text := document("<meta http-equiv=\"Content-Security-Policy\" content=\""+policy+"\">\n<style>"+string(css)+"</style>\n", without)
	return []byte(strings.Replace(text, "</body>", "<script>"+before+"</script>\n<script>"+code.String()+"</script>\n</body>", 1)), nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
