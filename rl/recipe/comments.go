//go:build !js

package recipe

import (
	"embed"

	"github.com/rlzero/rlzero/internal/settings"
)

// The comments above the fields of these files are what recipes say of their keys. The page that trains
// in the browser lists no keys, and would be 27 KB larger on the way.
//
//go:embed again.go algorithm.go before.go data.go expect.go learn.go made.go models.go propose.go rate.go recipe.go tools.go tree.go world.go
var source embed.FS

func init() { settings.Comments[Recipe](source) }
