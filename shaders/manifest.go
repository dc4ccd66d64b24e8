package shaders

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed manifest.json
var manifest []byte

// ReadManifest returns what the generator recorded.
func ReadManifest() (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return m, fmt.Errorf("manifest.json: %w (run go generate ./shaders)", err)
	}
	return m, nil
}
