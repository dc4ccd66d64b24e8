package refdev

import (
	"math"
	"runtime"
	"sync"
)

// real is the element type a kernel computes in: float32 on the device,
// float64 in tests of derivatives.
type real interface{ float32 | float64 }

// call is one dispatch: the views by binding (f for real elements, u for u32
// ones; the other of the two is nil) and the parameters.
type call[F real] struct {
	f [][]F
	u [][]uint32
	p []uint32
}

// n is parameter i as a count.
func (c *call[F]) n(i int) int { return int(c.p[i]) }

// real is parameter i as a number.
func (c *call[F]) real(i int) F { return F(math.Float32frombits(c.p[i])) }

// The functions of math, rounded once.

func exp[F real](x F) F  { return F(math.Exp(float64(x))) }
func log[F real](x F) F  { return F(math.Log(float64(x))) }
func sqrt[F real](x F) F { return F(math.Sqrt(float64(x))) }

// spread calls f on parts of [0, n) that cover it, several at a time where
// the work, n times cost multiply-adds, is worth it. f must give each output
// the same value however the range is cut. A panic in f comes back as a panic
// of the caller, so that Submit can report it.
func spread(n, cost int, f func(lo, hi int)) {
	const worthwhile = 1 << 15 // multiply-adds; tens of microseconds
	workers := min(runtime.GOMAXPROCS(0), n, 1+n*cost/worthwhile)
	if workers <= 1 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	failed := make(chan any, workers)
	for w := range workers {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					failed <- r
				}
			}()
			f(n*w/workers, n*(w+1)/workers)
		})
	}
	wg.Wait()
	select {
	case r := <-failed:
		panic(r)
	default:
	}
}
