package outside

// World is empty: a browser starts no programs, and a page without what would start them is smaller on the way.
type World struct{}
