// Package advice translates errors and hints from the words of the command line to those of the
// page: a flag becomes a button, --set becomes a line of the recipe.
//
// Other packages write their hints once, for a terminal (internal/hint). A rule here replaces one
// form of words. The test reads the texts of all packages that the page is built from, and fails
// where a translated text would still name a flag or a command.
package advice
