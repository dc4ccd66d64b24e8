package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// alone is a run of one stage, from random weights, with an evaluation of some of the
// held-out problems after each step.
var alone = append(slices.Clone(smallRun), "stage.warm-up.skip=true")

// TestReports: a run has a report from its first evaluation on, of a run of one stage too;
// it is written again at an interrupt and, after the receipt, at the end. One that cannot be
// made ends no run.
func TestReports(t *testing.T) {
	var rows []int // of metrics.jsonl, each time
	receipts := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	made := func(dir string) ([]byte, error) {
		text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		rows = append(rows, bytes.Count(text, []byte("\n")))
		if _, err := os.Stat(filepath.Join(dir, "receipt.json")); err == nil {
			receipts++
		}
		if len(rows) == 2 {
			cancel()
		}
		return text, err
	}
	dir := t.TempDir()
	var show bytes.Buffer
	_, err := Train(ctx, Options{Opened: opened(t, shortRecipe(t, alone...)), Dir: dir, Device: tester(t), Show: &show, Report: made})
	if !errors.Is(err, ErrInterrupted) {
		t.Fatalf("error %v, want %v; shown:\n%s", err, ErrInterrupted, show.String())
	}
	if want := []int{1, 2, 2}; !slices.Equal(rows, want) {
		t.Errorf("reports of so many rows: %v, want %v: one an evaluation, and one of the interrupt", rows, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ReportFile)); err != nil || bytes.Count(text, []byte("\n")) != 2 {
		t.Errorf("%s: %v, %d rows", ReportFile, err, bytes.Count(text, []byte("\n")))
	}
	rows = nil
	resumed := Options{Opened: opened(t, shortRecipe(t, alone...)), Dir: dir, Resume: true, Device: tester(t), Show: &show, Report: made}
	if _, err := Train(context.Background(), resumed); err != nil {
		t.Fatal(err)
	}
	// Step 3, the evaluation of all problems after step 4, the end.
	if want := []int{3, 5, 5}; !slices.Equal(rows, want) || receipts != 1 {
		t.Errorf("reports of so many rows: %v, want %v; %d with a receipt, want the last", rows, want, receipts)
	}

	fails := func(string) ([]byte, error) { return nil, errors.New("no room") }
	show.Reset()
	if _, err := Train(context.Background(), Options{Opened: opened(t, shortRecipe(t, alone...)), Dir: t.TempDir(), Device: tester(t), Show: &show, Report: fails}); err != nil {
		t.Errorf("a report that cannot be made ended the run: %v", err)
	}
	if !strings.Contains(show.String(), "the report could not be written: no room") {
		t.Errorf("shown:\n%s", show.String())
	}
}
