package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
)

// Ask answers what a browser asks with GET, where there is no connection: the program of
// the page that trains is asked by messages. target is a path with its query, without the
// slash in front; ranges is the header Range, "" for none. The status is HTTP's.
func (r *Runs) Ask(target, ranges string) (status int, body []byte) {
	u, err := url.Parse("/" + target)
	if err != nil {
		return encode(nil, err)
	}
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i := range parts {
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return encode(nil, err)
		}
	}
	if len(parts) == 1 {
		v, err := r.table(parts[0])
		return encode(v, err)
	}
	if len(parts) != 3 || parts[0] != "run" {
		return encode(nil, absent("there is nothing at this address"))
	}
	o := r.byID(parts[1])
	v, err := r.of(context.Background(), o, parts[2], u.Query())
	if v != nil || err != nil {
		return encode(v, err)
	}
	f, info, err := o.open(parts[2])
	if err != nil {
		return encode(nil, err)
	}
	defer f.Close()
	from, to := span(ranges)
	if from > 0 && from >= info.Size() {
		return statusNothing, nil
	}
	if body, err = io.ReadAll(io.NewSectionReader(f, from, min(to, info.Size())-from)); err != nil {
		return encode(nil, err)
	}
	if ranges != "" {
		return statusPart, body
	}
	return statusOK, body
}

// Status codes of HTTP, whose package the program in a browser does without.
const (
	statusOK      = 200
	statusNothing = 204 // a reader that asks for what comes next while a file became shorter makes no mistake: browsers note a 416 as an error of the page
	statusPart    = 206
	statusBad     = 400
	statusAbsent  = 404
)

// span is the part of a file that a Range header names: [from, to).
func span(ranges string) (from, to int64) {
	to = math.MaxInt64
	if n, _ := fmt.Sscanf(ranges, "bytes=%d-%d", &from, &to); n == 2 {
		to++
	}
	return max(0, from), to
}

// encode is an answer as JSON, or what went wrong as text.
func encode(v any, err error) (status int, body []byte) {
	var what absent
	switch {
	case errors.As(err, &what):
		return statusAbsent, []byte(what)
	case errors.Is(err, fs.ErrNotExist):
		return statusAbsent, []byte("the run has no such file")
	case err != nil:
		return statusBad, []byte(err.Error())
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil { // texts and numbers always encode
		panic(err)
	}
	return statusOK, b.Bytes()
}

// absent is an error that says what is not there.
type absent string

func (a absent) Error() string { return string(a) }

// table is what is asked of all runs.
func (r *Runs) table(name string) (any, error) {
	switch name {
	case "runs.json":
		return r.describe(), nil
	case "metrics.json":
		return metrics.Table(), nil
	}
	return nil, absent("there is nothing at this address")
}

// of is what is asked of a run besides its files, until the context ends; nil, if the name
// may be that of a file.
func (r *Runs) of(ctx context.Context, o *run, name string, q url.Values) (any, error) {
	if o == nil {
		return nil, absent("there is no such run")
	}
	switch name {
	case "steps.json":
		from, _ := strconv.Atoi(q.Get("from")) // 0 where it is none
		file := q.Get("file")
		if !slices.Contains(stepLogs, file) {
			file = record.CompletionsFile
		}
		return o.stepsFrom(file, from)
	case "search.json":
		query, err := queryOf(q)
		if err != nil {
			return nil, err
		}
		return o.search(ctx, query)
	case "compare.json":
		other := r.byID(q.Get("with"))
		if other == nil {
			return nil, absent("there is no such run to compare with")
		}
		return r.cached(o, other), nil
	case "method.json":
		return o.methods(), nil
	}
	return nil, nil
}

// queryOf reads the query of a search.
func queryOf(v url.Values) (search, error) {
	const most = 1000 // lines of an answer
	q := search{Text: v.Get("q"), Regexp: v.Get("regexp") == "1", Verdict: v.Get("verdict"), Limit: 200}
	for name, into := range map[string]*int{"first": &q.First, "last": &q.Last, "limit": &q.Limit} {
		if text := v.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return q, fmt.Errorf("%s is %q; accepted: a whole number from 0", name, text)
			}
			*into = n
		}
	}
	q.Limit = min(q.Limit, most)
	return q, nil
}

func (r *Runs) describe() []Run {
	r.find()
	list := []Run{}
	for _, o := range r.known() {
		list = append(list, o.describe())
	}
	return list
}

// pause between two looks at the files.
const pause = 500 * time.Millisecond

// Watch tells after each look at the files which runs have changed since the look before,
// if only by their state: all at first, then mostly none. It ends with the context or when
// told fails.
func (r *Runs) Watch(ctx context.Context, told func([]Run) error) error {
	seen := map[string]Run{}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		var changed []Run
		for _, d := range r.describe() {
			if was, known := seen[d.ID]; !known || d.State != was.State || !maps.Equal(d.Files, was.Files) {
				changed = append(changed, d)
			}
			seen[d.ID] = d
		}
		if err := told(changed); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
