package rollout

// LateError says that completions which a sampler gave out earlier are wrong, or that
// nobody can tell any more. Whoever used them has to go back to before them.
type LateError struct {
	Since int // version of the model that they were drawn from, the first of them
	Err   error
}

func (e *LateError) Error() string { return e.Err.Error() }

// Unwrap is what was found.
func (e *LateError) Unwrap() error { return e.Err }
