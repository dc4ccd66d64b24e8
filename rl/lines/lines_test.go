package lines

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEach(t *testing.T) {
	var got []string
	note := func(n int, line []byte) error {
		got = append(got, fmt.Sprint(n, string(line)))
		return nil
	}
	long := strings.Repeat("x", 1<<20)
	if err := Each("f", strings.NewReader("\uFEFF{}\r\n\n \t\n [1] \n"+long), note); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1{}", "4[1]", "5" + long}; !slices.Equal(got, want) {
		t.Errorf("%.100q", got)
	}
	if err := Each("f", strings.NewReader("{}\n\xff"), note); err == nil || err.Error() != "f: line 2: not UTF-8 text" {
		t.Errorf("%v", err)
	}
	own := errors.New("own")
	err := Each("f", strings.NewReader("{}\n{}"), func(int, []byte) error { return own })
	if !errors.Is(err, own) || err.Error() != "f: line 1: own" {
		t.Errorf("%v", err)
	}
}
