package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/worker"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program/internal/sqlite"
)

func init() {
	verify.Register(verify.Entry{
		Name:    "sql",
		Summary: "a query whose result on a SQLite database equals the reference's",
		Doc:     sqlDoc,
		Paths:   map[string]string{"folder": "."},
		New: func(raw json.RawMessage) (verify.Verifier, error) {
			v, err := newSQL(raw)
			return sqlInChild{v, raw}, err
		},
	})
}

const sqlDoc = `sql: right when the completion's query returns the reference's rows.

Row, the database:
  database   path of a SQLite file, or a list of paths: the query has to be right on each;
  db_id      as in Spider and BIRD: the file DB_ID/DB_ID.sqlite of the option folder;
  schema     CREATE statements; with
  rows         {"table": [[1, "a", null], ..]}, or a list of such objects, each a database;
  inserts      INSERT statements.
Row, the reference:
  answer     a query; or
  result     its rows, [[1, "a"], ..], from the one database.

The query is one SELECT, WITH or VALUES statement. It runs in a child of this program on a
database that cannot be written, without files, PRAGMA, ATTACH and extensions. random() and the
like are refused. The clock is fixed at 2025-01-01 12:00 UTC. Text in double quotes that
names no column is a string, as usual in SQLite.

Rows are compared as a bag, so duplicates count. If the reference ends in ORDER BY, the
order counts as far as ORDER BY determines it: tied rows may be in any order. Names of
columns do not count. Values are equal as in SQL (1 = 1.0) but never across types (1 is
not '1'). NULL equals NULL. Reals have to be equal in every bit; see digits.

Options
order      "reference": as above (default); "always": in order; "never": as a bag.
columns    "ordered": in the order of the reference (default); "any": in any order.
digits     number of significant digits, 1 to 17, to which reals are rounded before they
           are compared; 0: no rounding (default).
partial    "none" (default). "cells": wrong rows earn the F1 of cells,
           2 x equal cells / (cells of both): equal rows are paired first, then the rows
           with most equal cells; each row is paired once and, if order counts, only
           with the row at its position.
must_read  the query has to read a table of the database, unless the reference query
           reads none: a guessed constant is wrong. So is a query that names a table and
           gives the same rows when all tables are empty, where the reference query does
           not. A constant beside a table that has rows is found only by a second
           database. Default true.
settled    a reference whose rows depend on the order in which tables are scanned (a tie
           that LIMIT cuts, a column beside GROUP BY) is not scored. Default true.
nonempty   a reference without rows is not scored. Default false: no rows are right when
           the reference has none.
extract    "block": the last block fenced as sql, else the last without a language.
           "lenient": that, else a text that begins with SELECT, WITH or VALUES.
           "none": the whole completion. Default "block". Only after the last </think>.
folder     where relative paths of databases start. Default: the recipe's folder, or
           the current folder without a recipe.
steps      largest number of SQLite's virtual machine instructions for a query. Default 20000000,
           about a second.
max_rows   largest number of rows in a result. Default 10000; 8 MiB in any case.
timeout    seconds of processor time for a query, in case a single instruction takes
           long. Default 30. A query may name at most 100 functions.

A query that exceeds a limit or crashes SQLite is wrong. Not scored: the database
or the reference cannot be read, is over a limit, or is not settled.
`

// sql is the verifier "sql".
type sql struct {
	Order    string  `toml:"order"`
	Columns  string  `toml:"columns"`
	Digits   int     `toml:"digits"`
	Partial  string  `toml:"partial"`
	MustRead bool    `toml:"must_read"`
	Settled  bool    `toml:"settled"`
	NonEmpty bool    `toml:"nonempty"`
	Extract  string  `toml:"extract"`
	Folder   string  `toml:"folder"`
	Steps    int64   `toml:"steps"`
	MaxRows  int     `toml:"max_rows"`
	Timeout  float64 `toml:"timeout"` // seconds of processor time, of each query

	prepared *recent[[]referenced]
}

const (
	orderReference = "reference"
	orderAlways    = "always"
	orderNever     = "never"
	columnsOrdered = "ordered"
	columnsAny     = "any"
	partialNone    = "none"
	partialCells   = "cells"
	extractLenient = "lenient"

	maxResultBytes = 8 << 20
	maxPrepared    = 64 // rows of tasks whose reference results are kept
)

func newSQL(raw json.RawMessage) (sql, error) {
	v := sql{
		Order: orderReference, Columns: columnsOrdered, Partial: partialNone, MustRead: true, Settled: true,
		Extract: extractBlock, Steps: 20_000_000, MaxRows: 10_000, Timeout: 30,
		prepared: newRecent[[]referenced](maxPrepared),
	}
	if err := verify.DecodeOptions(raw, &v); err != nil {
		return v, err
	}
	for _, c := range []struct {
		name, found string
		accepted    []string
	}{
		{"order", v.Order, []string{orderReference, orderAlways, orderNever}},
		{"columns", v.Columns, []string{columnsOrdered, columnsAny}},
		{"partial", v.Partial, []string{partialNone, partialCells}},
		{"extract", v.Extract, []string{extractBlock, extractLenient, verify.ExtractNone}},
	} {
		if !slices.Contains(c.accepted, c.found) {
			return v, fmt.Errorf("option %s is %q; accepted: %q", c.name, c.found, c.accepted)
		}
	}
	for _, c := range []struct {
		name             string
		found, low, high float64
	}{
		{"digits", float64(v.Digits), 0, 17}, {"steps", float64(v.Steps), 1000, 1e12},
		{"max_rows", float64(v.MaxRows), 1, 1e6}, {"timeout", v.Timeout, 0.01, 3600},
	} {
		if !(c.low <= c.found && c.found <= c.high) {
			return v, fmt.Errorf("option %s is %v; accepted: %v to %v", c.name, c.found, c.low, c.high)
		}
	}
	return v, nil
}

// Verify implements [verify.Verifier].
func (v sql) Verify(row verify.Problem, completion string) verify.Verdict {
	databases, err := v.prepare(row)
	if err != nil {
		return verify.Abstain("%v", err)
	}
	query, rule, err := v.query(completion)
	if err != nil {
		return verify.Reject(query, rule, "%v", err)
	}
	var worst verify.Verdict
	for i, d := range databases {
		verdict := v.judge(d, query, rule)
		if len(databases) > 1 {
			verdict.Reason = fmt.Sprintf("database %d of %d: %s", i+1, len(databases), verdict.Reason)
		}
		switch {
		case verdict.Verdict == verify.NotScored || verdict.Verdict == verify.Wrong:
			return verdict
		case i == 0 || verdict.Score < worst.Score:
			worst = verdict
		}
	}
	return worst
}

var bareQuery = regexp.MustCompile(`(?i)^\s*(select|with|values)\b`)

// query takes the statement out of a completion.
func (v sql) query(completion string) (query, rule string, err error) {
	how := v.Extract
	if how == extractLenient {
		how = extractBlock
	}
	query, rule, err = extract(completion, how, "sql", "sqlite")
	if err != nil && v.Extract == extractLenient {
		if _, after, found := cutLast(completion, "</think>"); found {
			completion = after
		}
		if bareQuery.MatchString(completion) {
			return extract(completion, verify.ExtractNone)
		}
	}
	return query, rule, err
}

func cutLast(text, mark string) (before, after string, found bool) {
	if i := strings.LastIndex(text, mark); i >= 0 {
		return text[:i], text[i+len(mark):], true
	}
	return text, "", false
}

// judge runs the query on one database and compares.
func (v sql) judge(d referenced, query, rule string) verify.Verdict {
	db, err := d.source.open()
	if err != nil {
		return verify.Abstain("%v", err)
	}
	defer db.Close()
	found, err := v.run(db, query)
	var e *sqlite.Error
	switch {
	case errors.As(err, &e) && e.Kind == sqlite.Database && db.Damaged():
		return verify.Abstain("the database: %v", err)
	case err != nil:
		return verify.Reject(query, rule, "the query fails: %v", err)
	}
	if v.MustRead && d.reads && len(found.Tables) == 0 {
		return verify.Reject(query, rule, "the query reads no table of the database")
	}
	if d.width >= 0 && len(found.Columns) != d.width && v.Partial == partialNone {
		return verify.Reject(query, rule, "%s, but the reference has %d", count(len(found.Columns), "column"), d.width)
	}
	rows := v.keys(found.Rows)
	verdict := v.compare(d, rows, query, rule)
	if d.empty != nil && verdict.Score > 0 {
		if same, err := v.gives(*d.empty, query, rows); err == nil && same {
			return verify.Reject(query, rule, "the query gives the same rows when all tables are empty: they stand in the query")
		}
	}
	return verdict
}

// run runs a query under a guard, which ends the process where SQLite does not stop: so
// it belongs into a child.
func (v sql) run(db *sqlite.DB, query string) (*sqlite.Result, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := worker.Guard(v.limit(), cancel)
	defer done()
	return db.Query(ctx, query, sqlite.Limits{Steps: v.Steps, Rows: v.MaxRows, Bytes: maxResultBytes})
}
