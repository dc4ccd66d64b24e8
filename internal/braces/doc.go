// Package braces reads texts with names in braces, such as "{question} Think step by step.": the templates of
// prompts and of made rows. It knows no names; who reads a text says what belongs into its braces, and fills
// them. A doubled brace stands for itself. The functions are safe for concurrent use.
package braces
