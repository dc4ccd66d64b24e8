package recipe

import (
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/reward"
)

// Key describes one key of a recipe.
type Key struct {
	Table    string            `json:"table"`    // such as stage.optimizer; "": the top of the recipe
	Key      string            `json:"key"`      //
	Kinds    []string          `json:"kinds"`    // kinds of stage that have it; empty outside of stages
	Type     string            `json:"type"`     // such as whole number
	Unit     string            `json:"unit"`     // "": none
	Accepted string            `json:"accepted"` // in words
	Defaults map[string]string `json:"defaults"` // as TOML, by kind of stage, "" outside of stages; empty: none, or About says it
	With     string            `json:"with"`     // beside what it does something, such as rule = sgd; "": always
	About    string            `json:"about"`    // what the key is
}

// Keys describes every key that a recipe can have, table by table, from the fields
// that recipes are decoded into. The settings of tasks and the options of verifiers
// are not among them.
func Keys() []Key {
	r := defaults()
	var keys []Key
	collect(&keys, "", &r, "")
	var member Member
	settings.SetDefaults(&member, "")
	collect(&keys, "models.NAME", &member, "")
	for _, kind := range kinds {
		s := stageDefaults(kind)
		collect(&keys, "stage", &s, kind)
	}
	var data dataSource
	settings.SetDefaults(&data, "")
	collect(&keys, "task.source", &data, "")
	var tool Tool
	settings.SetDefaults(&tool, "")
	collect(&keys, "task.tool", &tool, "")
	var expected Expectation
	settings.SetDefaults(&expected, "")
	collect(&keys, "expect", &expected, "")
	for _, kind := range []string{KindRL, KindMake} {
		collect(&keys, "stage.verifier", &reward.Verifier{}, kind)
	}
	var made Making
	settings.SetDefaults(&made, "")
	for _, kind := range []string{KindRL, KindMake} {
		collect(&keys, "stage.make", &made, kind)
	}
	var source rowSource
	settings.SetDefaults(&source, "")
	for _, kind := range []string{KindSFT, KindPreference, KindRL, KindMake} {
		collect(&keys, "stage.source", &source, kind)
	}
	for _, kind := range []string{KindRL, KindSFT, KindPreference} {
		l := Learning{Kind: kind}
		settings.SetDefaults(&l, kind)
		collect(&keys, "stage.learn.NAME", &l, kind)
	}
	keys = slices.DeleteFunc(keys, func(k Key) bool { return strings.HasPrefix(k.Table, "stage.learn.NAME.") }) // as in the stage itself
	var tables []string
	for _, k := range keys {
		tables = append(tables, k.Table)
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return slices.Index(tables, a.Table) - slices.Index(tables, b.Table) })
	return keys
}

// collect adds the keys of a table and of the tables in it. A key that another kind
// of stage has as well gets one more default.
func collect(keys *[]Key, table string, of any, kind string) {
	for _, f := range settings.Fields(of) {
		if !f.In(kind) {
			continue
		}
		i := slices.IndexFunc(*keys, func(k Key) bool { return k.Table == table && k.Key == f.Key })
		if i < 0 {
			i = len(*keys)
			*keys = append(*keys, Key{Table: table, Key: f.Key, Kinds: []string{}, Type: f.Type(), Unit: f.Unit, Accepted: f.Accepted(), With: f.With.String(), About: f.About(), Defaults: map[string]string{}})
		}
		k := &(*keys)[i]
		if kind != "" {
			k.Kinds = append(k.Kinds, kind)
		}
		if f.Given() && f.Key != "kind" && !strings.Contains(f.About(), "default: ") {
			k.Defaults[kind] = f.Text()
		}
	}
	for _, f := range settings.Fields(of) {
		if inner := f.Table(); inner != nil && f.In(kind) {
			collect(keys, strings.TrimPrefix(table+"."+f.Key, "."), inner, kind)
		}
	}
}
