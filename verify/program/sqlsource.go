package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program/internal/sqlite"
)

// source is a database: a file or an image.
type source struct {
	path  string
	image *sqlite.Image
}

func (s source) open() (*sqlite.DB, error) {
	if s.image != nil {
		return sqlite.OpenImage(s.image)
	}
	return sqlite.OpenFile(s.path)
}

// referenced is a database and what the reference gives there.
type referenced struct {
	source source
	rows   [][]string // [row][column], keys of values
	width  int        // columns; -1 when given rows are none
	reads  bool       // the reference reads a table, as far as that is known
	empty  *source    // the database without rows; nil: the reference gives the same there, or none is known
	// ends are the rows at which the parts end in which order does not count: one
	// part is a bag, parts of one row each are a sequence.
	ends []int
}

// prepare finds the databases of a row and runs the reference on each. Rows that
// were met lately are not prepared again. The error says why the row cannot be
// scored.
func (v sql) prepare(row verify.Problem) ([]referenced, error) {
	key := row.Answer
	for _, name := range []string{"database", "db_id", "schema", "rows", "inserts", "result"} {
		key += "\x00" + string(row.Metadata[name])
	}
	if all, ok := v.prepared.get(key); ok {
		return all, nil
	}
	sources, err := v.sources(row)
	if err != nil {
		return nil, err
	}
	var result [][]any
	given, err := rowsField(row, "result", &result)
	switch {
	case err != nil:
		return nil, err
	case !given && row.Answer == "":
		return nil, errors.New(`the row has no reference; accepted: "answer" (a query) and "result" (rows)`)
	case given && len(sources) > 1:
		return nil, errors.New(`"result" of the row is for one database, and the row has several`)
	}
	var all []referenced
	for _, s := range sources {
		r := referenced{source: s, reads: true}
		if given {
			r.rows, r.width = v.keys(result), -1
			if len(result) > 0 {
				r.width = len(result[0])
			}
			r.ends = v.parts(r.rows, r.rows, false)
		} else if r, err = v.reference(s, row.Answer); err != nil {
			return nil, err
		}
		if v.NonEmpty && len(r.rows) == 0 {
			return nil, errors.New("the reference has no rows")
		}
		all = append(all, r)
	}
	v.prepared.put(key, all)
	return all, nil
}

// reference runs the reference query in two ways that differ in what the query
// leaves open: with ties of its ORDER BY broken upwards and downwards by its
// columns, or, when nothing orders its rows, with scans in both directions.
func (v sql) reference(s source, query string) (referenced, error) {
	db, err := s.open()
	if err != nil {
		return referenced{}, fmt.Errorf("the database: %w", err)
	}
	defer db.Close()
	plain, err := v.run(db, query)
	if err != nil {
		return referenced{}, fmt.Errorf("the reference query: %w", err)
	}
	r := referenced{source: s, rows: v.keys(plain.Rows), width: len(plain.Columns), reads: len(plain.Tables) > 0}
	one, other := query, query
	end, ordered := topOrder(query)
	if ordered {
		one, other = refined(query, end, r.width, false), refined(query, end, r.width, true)
	}
	first, second := r.rows, r.rows
	if found, err := v.run(db, one); err == nil {
		first = v.keys(found.Rows)
	}
	if err := db.ReverseScans(); err != nil {
		return referenced{}, fmt.Errorf("the database: %w", err)
	}
	if found, err := v.run(db, other); err == nil {
		second = v.keys(found.Rows)
	}
	switch settled := equalBags(joined(first), joined(second)); {
	case settled:
		r.rows = first
	case v.Settled:
		return referenced{}, errors.New("the rows of the reference query are not settled: they depend on a tie or on the order of a scan")
	default:
		second = r.rows
	}
	r.ends = v.parts(r.rows, second, ordered)
	if v.MustRead && r.reads {
		r.empty = v.telling(db, query, r.rows)
	}
	return r, nil
}

// telling is a database without rows, if the reference gives other rows there than on the
// database itself.
func (v sql) telling(db *sqlite.DB, query string, rows [][]string) *source {
	image, err := db.Emptied()
	if err != nil { // nothing can be told
		return nil
	}
	empty := source{image: image}
	if same, err := v.gives(empty, query, rows); err != nil || same {
		return nil
	}
	return &empty
}

// gives says whether a query gives these rows on a database, in any order.
func (v sql) gives(s source, query string, rows [][]string) (bool, error) {
	db, err := s.open()
	if err != nil {
		return false, err
	}
	defer db.Close()
	found, err := v.run(db, query)
	if err != nil {
		return false, err
	}
	return equalBags(joined(v.keys(found.Rows)), joined(rows)), nil
}

// sources are the databases of a row.
func (v sql) sources(row verify.Problem) ([]source, error) {
	var paths []string
	var one, id, schema, inserts string
	if _, err := field(row, "database", &paths); err != nil {
		if _, err := field(row, "database", &one); err != nil {
			return nil, errors.New(`"database" of the row is neither a path nor a list of paths`)
		}
		paths = []string{one}
	}
	if _, err := field(row, "db_id", &id); err != nil {
		return nil, err
	}
	if len(paths) == 0 && id != "" {
		paths = []string{filepath.Join(id, id+".sqlite")}
	}
	hasSchema, err := field(row, "schema", &schema)
	if err != nil {
		return nil, err
	}
	if len(paths) > 0 {
		var all []source
		for _, path := range paths {
			if !filepath.IsAbs(path) {
				path = filepath.Join(v.Folder, filepath.FromSlash(path))
			}
			all = append(all, source{path: path})
		}
		return all, nil
	}
	if !hasSchema {
		return nil, errors.New(`the row has no database; accepted: "database", "db_id" and "schema"`)
	}
	if _, err := field(row, "inserts", &inserts); err != nil {
		return nil, err
	}
	tables, err := tablesOf(row)
	if err != nil {
		return nil, err
	}
	var all []source
	for _, t := range tables {
		image, err := sqlite.Build(func(b sqlite.Builder) error { return fill(b, schema, inserts, t) })
		if err != nil {
			return nil, fmt.Errorf("the database: %w", err)
		}
		all = append(all, source{image: image})
	}
	return all, nil
}

func fill(b sqlite.Builder, schema, inserts string, tables map[string][][]any) error {
	if err := b.Exec(schema); err != nil {
		return err
	}
	names := make([]string, 0, len(tables))
	for name := range tables {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := b.Insert(name, tables[name]); err != nil {
			return err
		}
	}
	return b.Exec(inserts)
}

// tablesOf reads the field rows: the tables of each database.
func tablesOf(row verify.Problem) ([]map[string][][]any, error) {
	raw, found := row.Metadata["rows"]
	if !found || string(raw) == "null" {
		return []map[string][][]any{nil}, nil
	}
	var list []map[string]rows
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		list = make([]map[string]rows, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return nil, fmt.Errorf(`"rows" of the row is {"table": [[value, ..], ..]} or a list of such: it %w`, inWords(err))
		}
	}
	all := make([]map[string][][]any, len(list))
	for i, tables := range list {
		all[i] = map[string][][]any{}
		for name, r := range tables {
			all[i][name] = r
		}
	}
	return all, nil
}

// rows are rows in JSON as SQLite holds them: nil, int64, float64 or string.
type rows [][]any

// UnmarshalJSON reads a list of lists.
func (r *rows) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode((*[][]any)(r)); err != nil {
		return err
	}
	for _, row := range *r {
		for i, value := range row {
			switch v := value.(type) {
			case nil, string:
			case bool:
				row[i] = int64(0)
				if v {
					row[i] = int64(1)
				}
			case json.Number:
				if n, err := v.Int64(); err == nil {
					row[i] = n
				} else if row[i], err = v.Float64(); err != nil {
					return err
				}
			default:
				return errors.New("has a list or an object for a value; accepted: null, numbers, texts, true and false")
			}
		}
	}
	return nil
}

func rowsField(row verify.Problem, name string, dst *[][]any) (bool, error) {
	return field(row, name, (*rows)(dst))
}

// recent keeps the values of the keys that were put last.
type recent[V any] struct {
	mu     sync.Mutex
	values map[string]V
	order  []string // of keys, the oldest first
	most   int
}

func newRecent[V any](most int) *recent[V] {
	return &recent[V]{values: map[string]V{}, most: most}
}

func (r *recent[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[key]
	return v, ok
}

func (r *recent[V]) put(key string, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.values[key]; !known {
		r.order = append(r.order, key)
	}
	r.values[key] = value
	if len(r.order) > r.most {
		delete(r.values, r.order[0])
		r.order = r.order[1:]
	}
}
