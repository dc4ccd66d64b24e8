package programs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program"
)

func init() {
	tools.Register(tools.Entry{
		Name:    "sql",
		Summary: "queries on the database of a row",
		Doc: `sql: runs a query on the database of the problem's row, and shows its result.

    <sql>SELECT name FROM cities WHERE size > 3</sql>   name
                                                        Berlin

The row has its database as for the verifier sql: database, db_id, or schema with rows and inserts. It is
only read. A query is one SELECT, WITH or VALUES. The clock stands still, and functions of chance are
refused. How much a query can do in its time differs from machine to machine. A database that a row names
is a file that may change, and the recipe has no hash of it. So what a query gave is kept in calls.jsonl,
and a run that is resumed reads it there. The argument is query. A mistake is a query that fails, takes too long
or has too many rows.

` + settings.Describe(defaultQueries()),
		Options: func() tools.Options { return defaultQueries() },
		Paths:   []string{"folder"},
	})
}

func defaultQueries() *queryOptions { return &queryOptions{Folder: ".", Rows: 50, Timeout: 5} }

type queryOptions struct {
	Folder  string  `toml:"folder" about:"folder of the databases that rows name"`
	Rows    int     `toml:"rows" range:"[1,1000]" about:"rows of a result, at most"`
	Timeout float64 `toml:"timeout" range:"[0.01,3600]" unit:"seconds" about:"processor time of a query; by the clock five times that and five seconds"`
}

// Validate implements [tools.Options].
func (o *queryOptions) Validate() error { return settings.Check(o) }

// Spec implements [tools.Options].
func (o *queryOptions) Spec() world.Spec {
	return world.Spec{Name: "sql", About: "Runs a SQL query on the database of the question, in SQLite, and shows its rows.", Text: "query",
		Args: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"one SELECT"}},"required":["query"],"additionalProperties":false}`)}
}

// Make implements [tools.Options].
func (o *queryOptions) Make(tools.Documents) (world.Tool, string, error) {
	return database{*o, nil}, "", nil
}

// database is the tool, and its session for a row.
type database struct {
	queryOptions
	row map[string]json.RawMessage
}

// Spec implements [world.Tool].
func (d database) Spec() world.Spec { return d.queryOptions.Spec() }

// Test implements [world.Tool].
func (d database) Test(ctx context.Context) error {
	d.row = map[string]json.RawMessage{"schema": json.RawMessage(`"CREATE TABLE t(n)"`)}
	return tools.Tested(ctx, tested{d}, `{"query":"SELECT 7*8 AS n"}`, "n\n56")
}

// tested is a database that every row has.
type tested struct{ database }

// Open implements [world.Tool].
func (t tested) Open(context.Context, verify.Problem) (world.Session, error) { return t.database, nil }

// Open implements [world.Tool]. A row without a database is an error.
func (d database) Open(_ context.Context, row verify.Problem) (world.Session, error) {
	d.row = row.Metadata
	_, err := d.query("SELECT 1")
	return d, err
}

// Close implements [world.Session].
func (database) Close() error { return nil }

func (d database) query(text string) (program.Ran, error) {
	return program.RunQuery(program.Query{Metadata: d.row, Folder: d.Folder, SQL: text, Rows: d.Rows, Timeout: d.Timeout})
}

// Call implements [world.Session].
func (d database) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	var a struct {
		Query string `toml:"query"`
	}
	if err := settings.DecodeJSON(args, &a); err != nil {
		return tools.Mistaken(err.Error()), nil
	}
	ran, err := d.query(a.Query)
	if err != nil { // the row's database was there when the session began
		return world.Answer{}, fmt.Errorf("%w: %w", world.ErrUnable, err)
	}
	if ran.Failed != "" {
		return tools.Mistaken(ran.Failed), nil
	}
	return world.Answer{Text: ran.Printed}, nil
}
