package gpu

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
)

// TestMethodCount keeps the contract small enough that a backend is a week's
// work. Data about a device belongs in Caps, kernels in package shaders.
func TestMethodCount(t *testing.T) {
	const most = 15
	count := 0
	for _, contract := range []reflect.Type{reflect.TypeFor[Device](), reflect.TypeFor[Buffer](), reflect.TypeFor[Program]()} {
		count += contract.NumMethod()
	}
	if count > most {
		t.Errorf("Device, Buffer and Program have %d methods, at most %d", count, most)
	}
}

// fake is a backend with given devices. It opens devices that do nothing.
type fake struct {
	name  string
	infos []Info
	err   error
}

func (f fake) Name() string          { return f.name }
func (f fake) List() ([]Info, error) { return f.infos, f.err }
func (f fake) Open(index int) (Device, error) {
	return fakeDevice{id: fmt.Sprintf("%s:%d", f.name, index)}, nil
}

type fakeDevice struct{ id string }

func (d fakeDevice) Caps() Caps                                { return Caps{ID: d.id} }
func (fakeDevice) NewBuffer(string, int) (Buffer, error)       { return nil, nil }
func (fakeDevice) Prepare([]string) error                      { return nil }
func (fakeDevice) Record(string, []Op) (Program, error)        { return nil, nil }
func (fakeDevice) Submit(Program) error                        { return nil }
func (fakeDevice) Wait() error                                 { return nil }
func (fakeDevice) Timestamps(Program) ([]time.Duration, error) { return nil, nil }
func (fakeDevice) Close() error                                { return nil }

func device(id string, kind Kind, memory int) Info {
	return Info{ID: id, Name: "device " + id, Kind: kind, Memory: memory, Usable: true}
}

// broken is a device that cannot be used.
func broken(id string, kind Kind) Info {
	return Info{ID: id, Name: "device " + id, Kind: kind, Reason: "lacks a compute queue"}
}

func TestOpen(t *testing.T) {
	plain := fake{name: "ref", infos: []Info{device("ref:0", Reference, 99)}}
	laptop := fake{name: "vulkan", infos: []Info{
		device("vulkan:0", CPU, 64), device("vulkan:1", Integrated, 16), device("vulkan:2", Discrete, 8), device("vulkan:3", Discrete, 12), broken("vulkan:4", Discrete),
	}}
	ci := fake{name: "vulkan", infos: []Info{device("vulkan:0", CPU, 2)}}
	none := fake{name: "vulkan", err: fmt.Errorf("%w: no driver: apt install a-driver", ErrNoDevice)}
	unusable := fake{name: "vulkan", infos: []Info{broken("vulkan:0", Integrated)}}
	for _, c := range []struct {
		vulkan fake
		spec   string
		want   string // ID, or part of the error
	}{
		{laptop, "auto", "vulkan:3"},
		{laptop, "vulkan", "vulkan:3"},
		{laptop, "vulkan:1", "vulkan:1"},
		{laptop, "vulkan:0", "vulkan:0"},
		{laptop, "vulkan:4", "compute queue"},
		{laptop, "vulkan:5", "vulkan:5 does not exist"},
		{laptop, "ref", "ref:0"},
		{laptop, "ref:0", "ref:0"},
		{ci, "auto", "vulkan:0"},
		{none, "auto", "apt install a-driver"}, // never the plain-Go device
		{none, "vulkan:0", "apt install a-driver"},
		{none, "ref", "ref:0"},
		{unusable, "auto", "compute queue"},
		{unusable, "vulkan", "compute queue"},
	} {
		d, err := open([]Backend{plain, c.vulkan}, c.spec)
		if err == nil {
			if got := d.Caps().ID; got != c.want {
				t.Errorf("%q: opened %s, want %s", c.spec, got, c.want)
			}
			continue
		}
		if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.spec, err, c.want)
		}
	}
	if _, err := open(nil, "auto"); !errors.Is(err, ErrNoDevice) {
		t.Errorf("without backends: %v", err)
	}
	// A backend without a driver beside one without a usable device: both are told.
	_, err := open([]Backend{none, fake{name: "webgpu", infos: []Info{broken("webgpu:0", Discrete)}}}, "auto")
	if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "apt install a-driver") || !strings.Contains(err.Error(), "compute queue") {
		t.Errorf("two reasons: %v", err)
	}
}

// TestWrongName: a name that is none differs from a device that is not there.
func TestWrongName(t *testing.T) {
	backends := []Backend{fake{name: "ref"}, fake{name: "vulkan", infos: []Info{device("vulkan:0", CPU, 1)}}}
	for spec, want := range map[string]string{
		"cuda": "accepted: auto, ref, vulkan", "auto:1": "did you mean auto?", "vulcan": "did you mean vulkan?", "vulkan:x": "number from 0", "vulkan:-1": "number from 0", "vulkan:": "number from 0", ":0": "accepted: auto",
	} {
		_, err := open(backends, spec)
		if !errors.Is(err, ErrDeviceName) || errors.Is(err, ErrNoDevice) || !strings.Contains(fmt.Sprint(err, hint.All(err)), want) {
			t.Errorf("%q: %v, want ErrDeviceName with %q", spec, err, want)
		}
	}
}

func TestOpenEnvironment(t *testing.T) {
	t.Setenv("RLZERO_DEVICE", "no-such")
	if _, err := Open(""); err == nil || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("RLZERO_DEVICE is not heeded: %v", err)
	}
	if _, err := Open("another"); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("RLZERO_DEVICE beats the caller: %v", err)
	}
}

func TestListOrder(t *testing.T) {
	infos, err := listAll([]Backend{
		fake{name: "a", infos: []Info{device("a:0", Reference, 1), broken("a:1", Discrete), device("a:2", CPU, 1)}},
		fake{name: "b", err: errors.New("b has none")},
		fake{name: "c", infos: []Info{device("c:0", Virtual, 1), device("c:1", Integrated, 1), device("c:2", Discrete, 1), device("c:3", Discrete, 2), device("c:4", Discrete, 2)}},
	})
	if err == nil || !strings.Contains(err.Error(), "b has none") {
		t.Errorf("the error of a backend is lost: %v", err)
	}
	var got []string
	for i, info := range infos {
		got = append(got, info.ID)
		if taken := strings.HasPrefix(info.Reason, "chosen by auto: "); info.Reason == "" || taken != (i == 0) {
			t.Errorf("%s has its place for the reason %q", info.ID, info.Reason)
		}
	}
	if want := "c:3 c:4 c:2 c:1 c:0 a:2 a:0 a:1"; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %s", got, want)
	}
}

// TestTwins: one GPU through two backends is listed first by the one that comes
// first, whatever memory the other claims.
func TestTwins(t *testing.T) {
	named := func(id, name string, kind Kind, memory int) Info {
		i := device(id, kind, memory)
		i.Name = name
		return i
	}
	off := broken("a:2", Discrete)
	off.Name = "third"
	infos, err := listAll([]Backend{
		fake{name: "a", infos: []Info{named("a:0", "first", Discrete, 1), named("a:1", "second", CPU, 1), off}},
		fake{name: "b", infos: []Info{named("b:0", "first", Discrete, 9), named("b:1", "first", Discrete, 8), named("b:2", "second", Integrated, 1), named("b:3", "third", Discrete, 5)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range infos {
		got = append(got, info.ID+"="+info.Twin)
		if twin := "the same device as " + info.Twin; info.Twin != "" && !strings.Contains(info.Reason, twin) {
			t.Errorf("%s has its place for the reason %q, want %q", info.ID, info.Reason, twin)
		}
	}
	if want := "b:3= a:0= b:0=a:0 b:1=a:0 b:2= a:1= a:2="; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %s", got, want)
	}
}

func TestRegisterTwice(t *testing.T) {
	registry.Lock()
	before := slices.Clone(registry.backends) // Register sorts in place
	registry.Unlock()
	t.Cleanup(func() {
		registry.Lock()
		registry.backends = before
		registry.Unlock()
	})
	Register(fake{name: "twice"})
	defer func() {
		if recover() == nil {
			t.Error("a name was registered twice")
		}
	}()
	Register(fake{name: "twice"})
}

// plan is a run of 100 MiB.
func plan() *Plan {
	const mib = 1 << 20
	p := &Plan{}
	p.Add("weights", 40*mib, "10485760 x f32")
	p.Add("activations", 50*mib, "")
	p.Add("logits", 10*mib, "")
	return p
}

func TestPlanFits(t *testing.T) {
	const mib = 1 << 20
	p := plan()
	if p.Total() != 100*mib {
		t.Fatalf("total %d", p.Total())
	}
	if err := p.Fits(Caps{Memory: 100 * mib}); err != nil {
		t.Error(err)
	}
	err := p.Fits(Caps{ID: "vulkan:0", Name: "a GPU", Memory: 99 * mib})
	if !errors.Is(err, ErrOutOfMemory) {
		t.Fatalf("%v, want ErrOutOfMemory", err)
	}
	for _, part := range []string{"vulkan:0", "a GPU", "weights", "needs 100.0 MiB", "has 99.0 MiB, 1.0 MiB too little"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in\n%v", part, err)
		}
	}
}

func TestPlanString(t *testing.T) {
	const want = "" +
		"  activations    50.0 MiB\n" +
		"  weights        40.0 MiB  10485760 x f32\n" +
		"  logits         10.0 MiB\n" +
		"  total         100.0 MiB\n"
	if got := plan().String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestPlanPhases: what phases share is counted once, and said by phase; apart, each has its own.
func TestPlanPhases(t *testing.T) {
	p := Plan{Items: []Item{{Name: "weights", Bytes: 40 << 20}}}
	p.AddTo("sampling", Item{Name: "cache", Bytes: 6 << 20, Hint: "2 sequences"})
	p.AddTo("training", Item{Name: "activations", Bytes: 5 << 20, Hint: "9 tokens"})
	p.AddTo("training", Item{Name: "logits", Bytes: 3 << 20, Hint: "of others"})
	p.Share([]int{7 << 20, 1 << 20})
	const want = "" +
		"  weights     40.0 MiB\n" +
		"  scratch      8.0 MiB  for one phase at a time\n" +
		"  total       48.0 MiB\n" +
		"scratch by phase\n" +
		"  sampling     6.0 MiB  cache (2 sequences)\n" +
		"  training     8.0 MiB  activations (9 tokens); logits (of others)\n"
	if got := p.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if p.Total() != 48<<20 || p.Apart() != 54<<20 {
		t.Errorf("%d bytes, %d apart", p.Total(), p.Apart())
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 3 << 30: "3.0 GiB", 1 << 50: "1024.0 TiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
