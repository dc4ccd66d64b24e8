package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/metrics"
)

// inline is what a page that is a single file holds in place of a server.
type inline struct {
	Runs    []Run                        `json:"runs"`
	Metrics []metrics.Metric             `json:"metrics"`
	Files   map[string]map[string]string `json:"files"`   // by run and name
	Against map[string]json.RawMessage   `json:"against"` // comparisons, by two groups: "A B"
}

// File is the page as one HTML file of about limit bytes at most: every file of the runs,
// and of completions and tokens the steps that there is room for, evenly over each run.
func (r *Runs) File(limit int) ([]byte, error) {
	in := inline{Runs: r.describe(), Metrics: metrics.Table(), Files: map[string]map[string]string{}, Against: map[string]json.RawMessage{}}
	used := 0
	for _, a := range r.known() {
		for _, b := range r.known() {
			key := a.group + " " + b.group
			if _, there := in.Against[key]; there || a.group == b.group {
				continue
			}
			in.Against[key] = r.against(a, b)
			used += len(in.Against[key])
		}
	}
	for _, o := range r.known() {
		files := map[string]string{}
		for _, name := range Files {
			if name == "completions.jsonl" || name == "tokens.jsonl" {
				continue
			}
			text, err := o.text(name)
			if err != nil {
				return nil, err
			}
			files[name] = text
			used += len(text)
		}
		in.Files[o.id] = files
	}
	if used > limit {
		return nil, fmt.Errorf("the metrics alone have %d MB, more than the limit of %d", used>>20, limit>>20)
	}
	share := (limit - used) / (2 * len(in.Runs)) // of each of the two logs of a run
	for _, o := range r.known() {
		for _, name := range []string{"completions.jsonl", "tokens.jsonl"} {
			text, err := o.sample(name, share)
			if err != nil {
				return nil, err
			}
			in.Files[o.id][name] = text
		}
	}
	data, err := json.Marshal(in) // escapes <, > and &, so that no text ends the script
	if err != nil {
		return nil, err
	}
	return bundle(string(data))
}

// text is a file of a run; "" if there is none.
func (o *run) text(name string) (string, error) {
	if _, there := o.describe().Files[name]; !there {
		return "", nil
	}
	f, _, err := o.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// sample is the lines of some steps of a log, evenly over the run, the last among them.
func (o *run) sample(name string, limit int) (string, error) {
	if _, there := o.describe().Files[name]; !there {
		return "", nil
	}
	steps, err := o.stepsFrom(name, 0)
	if err != nil || len(steps) == 0 {
		return "", err
	}
	f, _, err := o.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	last := steps[len(steps)-1]
	total := int(last.Offset + last.Bytes)
	every := max(1, (total+limit-1)/max(1, limit))
	var chosen []Step // the last first
	for i, room := len(steps)-1, limit; i >= 0 && int(steps[i].Bytes) <= room; i -= every {
		chosen, room = append(chosen, steps[i]), room-int(steps[i].Bytes)
	}
	var b strings.Builder
	for _, s := range slices.Backward(chosen) {
		if _, err := io.Copy(&b, io.NewSectionReader(f, s.Offset, s.Bytes)); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// bundle is the page with its scripts, styles and data in it. Its policy names the hashes
// of the three, and lets nothing else run or load.
func bundle(data string) ([]byte, error) {
	var code, style strings.Builder
	for _, list := range []struct {
		names []string
		into  *strings.Builder
	}{{scripts, &code}, {styles, &style}} {
		for _, name := range list.names {
			text, err := assets.ReadFile("assets/" + name)
			if err != nil {
				return nil, err
			}
			list.into.Write(text)
			list.into.WriteByte('\n')
		}
	}
	before := "window.inlineRuns = " + data + ";"
	policy := fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", hash(before), hash(code.String()), hash(style.String()))
	head := "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n<style>" + style.String() + "</style>\n"
	text := document(head)
	scripts := "<script>" + before + "</script>\n<script>" + code.String() + "</script>\n</body>"
	return []byte(strings.Replace(text, "</body>", scripts, 1)), nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
