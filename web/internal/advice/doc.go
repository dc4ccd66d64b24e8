// Package advice says in the page's words what errors and hints say in those of the command
// line: a button for a flag, a line of the recipe for --set.
//
// Other packages write their hints once, for a terminal (internal/hint). A rule here is about
// a form of words; the test reads the texts of all that the page is built from, and fails
// where one would still name a flag or a command.
package advice
