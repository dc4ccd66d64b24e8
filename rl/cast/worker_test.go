package cast

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/tasks"
)

// TestWorldLine: every task that is played in turns comes to a worker with its settings, and what is no such task is
// refused.
func TestWorldLine(t *testing.T) {
	played := 0
	for _, f := range tasks.Families() {
		task, can := f.New().(tasks.Episodic)
		if !can {
			continue
		}
		played++
		changed := false // one of its settings, from what New gives it
		for _, field := range settings.Fields(task) {
			was := field.Text()
			others := []string{map[string]string{"true": "false", "false": "true"}[was]}
			if n, err := strconv.ParseFloat(was, 64); err == nil {
				others = []string{fmt.Sprint(n + 1), fmt.Sprint(n - 1), fmt.Sprint(n / 2)}
			}
			for _, other := range others {
				if changed = other != "" && other != was && settings.Set(task, field.Key, other) == nil && task.Validate() == nil; changed {
					break
				}
				settings.Set(task, field.Key, was)
			}
			if changed {
				break
			}
		}
		if !changed {
			t.Errorf("no setting of %s can be changed", f.Name)
		}
		style := prompts.Style{Form: prompts.Chat, System: "be brief", Options: chat.Options{Variables: map[string]any{"deep": true}, AllowControl: true}}
		line, err := lineOf(task, style)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		var back worldLine
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		got, err := back.open()
		if err != nil || settings.Print(got) != settings.Print(task) {
			t.Errorf("%s: %v: %s, want %s", f.Name, err, settings.Print(got), settings.Print(task))
		}
		if back.Settings = line.Settings; !reflect.DeepEqual(back, *line) {
			t.Errorf("%s: %+v, want %+v", f.Name, back, *line)
		}
	}
	if played < 8 {
		t.Errorf("%d tasks are played in turns", played)
	}
	for text, why := range map[string]string{
		`{"task": "countdown", "settings": {}}`:          "is not played in turns",
		`{"task": "chess", "settings": {}}`:              "chess",
		`{"task": "guess", "settings": {"Size": 1}}`:     "size",
		`{"task": "guess", "settings": {"Size": "one"}}`: "Size",
	} {
		var line worldLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if _, err := line.open(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
