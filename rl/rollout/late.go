package rollout

// LateError says that completions that a sampler returned earlier are wrong, or that this can no
// longer be checked. Whoever used them has to go back to a point before them.
type LateError struct {
	Since int // version of the model that they were drawn from, the first of them
	Err   error
}

func (e *LateError) Error() string { return e.Err.Error() }

// Unwrap is what was found.
func (e *LateError) Unwrap() error { return e.Err }
