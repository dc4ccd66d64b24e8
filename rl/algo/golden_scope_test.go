package algo

// notFormulas is the one list of golden cases that no formula of a preset
// reproduces, with the condition and the reason. A case that no row covers must
// match.
var notFormulas = []struct {
	file, family string // family "": every one
	when         func(g *golden) bool
	reason       string
}{}

// outsideFormulas is the reason why a case is left out, or "".
func outsideFormulas(file string, g *golden) string {
	for _, row := range notFormulas {
		if row.file == file && (row.family == "" || row.family == g.family()) && (row.when == nil || row.when(g)) {
			return row.reason
		}
	}
	return ""
}
