package host

import (
	"errors"
	"runtime"
	"sync"
)

// Parallel calls do with 0 to n-1 on all cores and returns when all calls have
// returned, with their errors joined in the order of the numbers. In a browser, where
// Go has one thread and others do what is waited for, it makes eight calls at a time.
func Parallel(n int, do func(i int) error) error {
	next := make(chan int)
	errs := make([]error, n)
	var workers sync.WaitGroup
	width := runtime.GOMAXPROCS(0)
	if runtime.GOOS == "js" {
		width = 8
	}
	for range min(n, width) {
		workers.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}
