package table

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// Names of splits, as the Hugging Face Hub has them.
const (
	Train      = "train"
	Validation = "validation"
	Test       = "test"
)

// splitWords are the words by which a file belongs to a split.
// https://huggingface.co/docs/hub/datasets-file-names-and-splits
var splitWords = map[string]string{
	"train": Train, "training": Train,
	"validation": Validation, "valid": Validation, "val": Validation, "dev": Validation,
	"test": Test, "testing": Test, "eval": Test, "evaluation": Test,
}

var word = regexp.MustCompile(`[a-z]+`)

// splitOf is the split that a path, slash-separated and from the folder on, has in its
// name; the last word counts. "" for none.
func splitOf(name string) string {
	split := ""
	for _, w := range word.FindAllString(strings.ToLower(name), -1) {
		if s := splitWords[w]; s != "" {
			split = s
		}
	}
	return split
}

// maxEntries bounds the files and folders that are looked at, whatever they are: who names
// / or a home by mistake is told so at once.
const maxEntries = 20_000

// oneSet is the advice to who names a folder that is no data set.
const oneSet = "name the folder of one data set, or a file"

// findSplits finds the data files below a folder. Files and folders whose names begin
// with a dot or an underscore are passed over, and so are the JSON files that describe a
// data set.
func findSplits(dir string) (map[string][]string, error) { return splitsOf(os.DirFS(dir), dir) }

func splitsOf(files fs.FS, dir string) (map[string][]string, error) {
	splits := map[string][]string{}
	configurations := map[string]map[string]bool{} // folders by split
	arrow := false
	found, seen := 0, 0
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		seen++
		switch {
		case seen > maxEntries:
			return hint.With(fmt.Errorf("%s has more than %d files and folders in it; accepted: at most that many", dir, maxEntries), oneSet)
		case err != nil:
			var at *fs.PathError
			if errors.As(err, &at) {
				at.Path = filepath.Join(dir, filepath.FromSlash(at.Path))
			}
			if name == "." {
				return err
			}
			return hint.With(err, oneSet)
		case name != "." && (base[0] == '.' || base[0] == '_'):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		arrow = arrow || path.Ext(base) == ".arrow"
		if _, err := readerOf(base); err != nil || base == "dataset_info.json" || base == "dataset_infos.json" || base == "dataset_dict.json" || base == "state.json" {
			return nil
		}
		found++
		split := splitOf(name)
		splits[split] = append(splits[split], filepath.Join(dir, filepath.FromSlash(name)))
		if configurations[split] == nil {
			configurations[split] = map[string]bool{}
		}
		configurations[split][configuration(name)] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found == 0 {
		err := fmt.Errorf("%s has no data file; accepted: files with the extension %s", dir, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
		if arrow {
			err = hint.With(err, "it was written by save_to_disk; write it with to_parquet or to_json instead")
		}
		return nil, err
	}
	for _, folders := range configurations {
		if len(folders) > 1 {
			names := slices.Sorted(maps.Keys(folders))
			err := fmt.Errorf("%s has data in several folders: %s", dir, strings.Join(names, ", "))
			return nil, hint.With(err, "name one of them, such as %s", filepath.ToSlash(filepath.Join(dir, names[len(names)-1])))
		}
	}
	if len(splits) == 1 && splits[""] != nil {
		return map[string][]string{Train: splits[""]}, nil
	}
	delete(splits, "") // files without a split beside files with one
	for _, names := range splits {
		slices.Sort(names)
	}
	return splits, nil
}

// configuration is the folder of a file, folders that are called "data" or like a split
// left out.
func configuration(name string) string {
	kept := []string{"."}
	for _, part := range strings.Split(path.Dir(name), "/") {
		if part != "." && part != "data" && splitWords[strings.ToLower(part)] == "" {
			kept = append(kept, part)
		}
	}
	return path.Join(kept...)
}
