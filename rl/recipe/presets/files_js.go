package presets

import "embed"

//go:embed *.toml
var files embed.FS
