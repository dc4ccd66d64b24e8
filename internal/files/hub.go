package files

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// hubName is the form of ids on the Hugging Face hub: an organisation or user, and a name.
// https://github.com/huggingface/huggingface_hub/blob/v0.35.3/src/huggingface_hub/utils/_validators.py
var hubName = regexp.MustCompile(`^\w[\w.-]*/\w[\w.-]*$`)

// HubName says whether a name has the form of an id on the Hugging Face hub, such as
// Qwen/Qwen3-0.6B.
func HubName(name string) bool { return hubName.MatchString(name) }

// Kinds of what lies on the Hugging Face hub.
const (
	HubModel   = "model"
	HubDataset = "dataset"
)

// MaybeHub is an error about a path where nothing is, with a hint at how to fetch the files
// where the path may be meant as an id on the Hugging Face hub. It begins at the current
// folder, or was made absolute from there. Of names with these endings files are meant, and
// runs/NAME is a run of the program's own.
func MaybeHub(err error, path, kind string, endings ...string) error {
	path = fromHere(path)
	id := filepath.ToSlash(path)
	if _, there := os.Stat(filepath.Dir(path)); there == nil || !HubName(id) || strings.HasPrefix(id, "runs/") {
		return err
	}
	for _, ending := range endings {
		if strings.HasSuffix(strings.ToLower(id), ending) {
			return err
		}
	}
	flag := ""
	if kind == HubDataset {
		flag = " --repo-type dataset"
	}
	return hint.With(err, "nothing is downloaded by rlzero; fetch it from the Hugging Face hub first: hf download %s%s --local-dir %s", id, flag, id)
}
