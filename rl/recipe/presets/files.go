//go:build !js

package presets

import "embed"

// The page that trains in the browser has the examples alone, and would be 50 KB larger on the way with
// the recipes of published systems.
//
//go:embed *.toml */*.toml
var files embed.FS
