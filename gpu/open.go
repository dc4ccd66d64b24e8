package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rlzero/rlzero/internal/hint"
)

// Backend makes devices of one kind of driver. A backend registers itself when
// its package is imported.
type Backend interface {
	// Name is the part of a device's ID before the colon: "vulkan", "ref".
	Name() string
	// List describes every device of the backend; entry i is what Open(i)
	// opens. No driver at all is an error wrapping ErrNoDevice that says what
	// to install. Reason is empty for a usable device: the caller, who sees all
	// of them, says why it has its place.
	List() ([]Info, error)
	// Open opens entry index of List.
	Open(index int) (Device, error)
}

// Info describes a device that may be opened.
type Info struct {
	ID     string `json:"id"` // "vulkan:0"
	Name   string `json:"name"`
	Driver string `json:"driver"`
	Kind   Kind   `json:"kind"`
	Tier   Tier   `json:"tier"`
	Memory int    `json:"memory"` // bytes that the planner may use
	Usable bool   `json:"usable"`
	Reason string `json:"reason"` // why it has its place in the list, or why it is not usable
	// Twin is the ID of the same device through a backend that is preferred.
	Twin string `json:"twin,omitempty"`
}

var registry struct {
	sync.Mutex
	backends []Backend
}

// Register makes a backend known to List and Open. It is called from the
// backend's init; a second backend of the same name is a programming error.
func Register(b Backend) {
	registry.Lock()
	defer registry.Unlock()
	for _, other := range registry.backends {
		if other.Name() == b.Name() {
			panic("gpu: backend " + b.Name() + " is registered twice")
		}
	}
	registry.backends = append(registry.backends, b)
	// The order of imports must not decide which of two equal devices wins.
	slices.SortFunc(registry.backends, func(a, b Backend) int { return cmp.Compare(a.Name(), b.Name()) })
}

// List returns the devices of all backends, best first. The error is about backends that have none;
// the devices of the others are returned all the same.
func List() ([]Info, error) {
	return listAll(registered())
}

// Open opens a device by name:
//
//	""          what $RLZERO_DEVICE says, else auto
//	"auto"      the best usable device; never the plain-Go one
//	"vulkan"    the best usable device of that backend
//	"vulkan:1"  device 1 of that backend, as listed
//	"ref"       the plain-Go device
//
// It fails with ErrDeviceName when the name is none of these, with ErrNoDevice when there
// is no such device, and with ErrUnsupported if the matrix cores that a tier was asked for
// fail their test.
func Open(spec string) (Device, error) { return open(registered(), named(spec)) }

// named is the name that Open goes by.
func named(spec string) string { return cmp.Or(spec, os.Getenv("RLZERO_DEVICE"), "auto") }

func registered() []Backend {
	registry.Lock()
	defer registry.Unlock()
	return slices.Clone(registry.backends)
}

func open(backends []Backend, spec string) (Device, error) {
	backend, index, info, err := find(backends, spec)
	if err != nil {
		return nil, err
	}
	if !info.Usable {
		return nil, fmt.Errorf("%w: %s (%s): %s", ErrNoDevice, info.ID, info.Name, info.Reason)
	}
	dev, err := backend.Open(index)
	if err != nil {
		return nil, err
	}
	if err := checkMatrices(dev); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return dev, nil
}

// find is the device of a name, with its backend and its index there. One that is named
// by its number may be unusable.
func find(backends []Backend, spec string) (Backend, int, Info, error) {
	fail := func(err error) (Backend, int, Info, error) { return nil, 0, Info{}, err }
	name, number, numbered := strings.Cut(spec, ":")
	if name == "auto" && !numbered {
		return best(backends, func(i Info) bool { return i.Kind != Reference })
	}
	at := slices.IndexFunc(backends, func(b Backend) bool { return b.Name() == name })
	if at < 0 {
		known := append([]string{"auto"}, names(backends)...)
		return fail(hint.With(fmt.Errorf("%w %q", ErrDeviceName, spec), "%s", hint.Names(name, known, "rlzero devices")))
	}
	backend := backends[at]
	if !numbered {
		return best([]Backend{backend}, func(Info) bool { return true })
	}
	index, err := strconv.Atoi(number)
	if err != nil || index < 0 {
		return fail(hint.With(fmt.Errorf("%w %q: a number from 0 must follow the colon, as in %s:0", ErrDeviceName, spec, name), "rlzero devices lists the devices"))
	}
	infos, err := backend.List()
	if err != nil {
		return fail(err)
	}
	if index >= len(infos) {
		return fail(hint.With(fmt.Errorf("%w: %s does not exist", ErrNoDevice, spec), "rlzero devices lists the devices"))
	}
	return backend, index, infos[index], nil
}

// best finds the best usable device that is wanted.
func best(backends []Backend, wanted func(Info) bool) (Backend, int, Info, error) {
	infos, listErr := listAll(backends)
	var refused []string
	for _, info := range infos {
		switch {
		case !wanted(info):
		case !info.Usable:
			refused = append(refused, fmt.Sprintf("%s (%s): %s", info.ID, info.Name, info.Reason))
		default:
			return find(backends, info.ID)
		}
	}
	err := listErr
	switch {
	case len(refused) > 0:
		err = errors.Join(listErr, fmt.Errorf("%w: %s", ErrNoDevice, strings.Join(refused, "; ")))
	case listErr == nil:
		err = fmt.Errorf("%w: no backend found one (this program has %s)", ErrNoDevice, strings.Join(names(backends), ", "))
	}
	return nil, 0, Info{}, err
}

// listAll lists the devices of the backends, best first, and joins the errors
// of those that cannot list any.
func listAll(backends []Backend) ([]Info, error) {
	var infos []Info
	var errs []error
	for _, b := range backends {
		list, err := b.List()
		if err != nil {
			errs = append(errs, err)
		}
		infos = append(infos, list...)
	}
	findTwins(infos)
	rank(infos)
	explainPlaces(infos)
	return infos, errors.Join(errs...)
}

// findTwins notes which devices are reached through an earlier backend too: a
// GPU that has both a Vulkan driver and one that WebGPU uses. The name and the
// kind tell, which both take from the same driver.
func findTwins(infos []Info) {
	for i := range infos {
		for _, earlier := range infos[:i] {
			same := earlier.Name == infos[i].Name && earlier.Kind == infos[i].Kind
			if same && earlier.Usable && backendOf(earlier) != backendOf(infos[i]) {
				infos[i].Twin = earlier.ID
				break
			}
		}
	}
}

func backendOf(i Info) string {
	name, _, _ := strings.Cut(i.ID, ":")
	return name
}

// rank sorts devices best first: usable ones, then by kind, then those that no
// other backend reaches better, then by memory. Equal ones keep their order.
func rank(infos []Info) {
	kinds := []Kind{Discrete, Integrated, Virtual, CPU, Reference}
	last := func(last bool) int {
		if last {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(infos, func(a, b Info) int {
		return cmp.Or(
			cmp.Compare(last(!a.Usable), last(!b.Usable)),
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(last(a.Twin != ""), last(b.Twin != "")),
			cmp.Compare(b.Memory, a.Memory),
		)
	})
}

// explainPlaces says of each usable device why it stands where rank has put it.
func explainPlaces(infos []Info) {
	places := map[Kind]string{
		Discrete:   "a GPU with its own memory",
		Integrated: "a GPU that shares the system's memory; GPUs with their own come first",
		Virtual:    "a virtual GPU; real ones come first",
		CPU:        "software on the CPU; every GPU comes first",
		Reference:  "plain Go, without a driver; used only with --device ref",
	}
	for i := range infos {
		d := &infos[i]
		switch {
		case !d.Usable:
			continue
		case d.Twin != "":
			d.Reason = fmt.Sprintf("the same device as %s, which is preferred", d.Twin)
		default:
			d.Reason = places[d.Kind]
		}
		if i == 0 && d.Kind != Reference {
			d.Reason = "chosen by auto: " + d.Reason
		}
	}
}

func names(backends []Backend) []string {
	list := make([]string, len(backends))
	for i, b := range backends {
		list[i] = b.Name()
	}
	return list
}
