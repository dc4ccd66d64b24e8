// Package bm25 ranks documents by the words of a query, in whole numbers: the same documents and the
// same query have the same ranking on every machine.
//
//	documents ── New ──> Index ── Search(query) ──> the best documents, by score and then by number
//
// The score is Okapi BM25 (Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and
// beyond", 2009, section 3.4.3) with k1 = 1.2 and b = 0.75:
//
//	sum over the words w of the query of  idf(w) · tf·(k1 + 1) / (tf + k1·(1 - b + b·length/mean length))
//
// tf is how often w stands in the document. With N documents, n of which have w, idf(w) is the logarithm
// to base 2 of 1 + (N - n + 1/2)/(n + 1/2), which is (2N + 2)/(2n + 1) and never below 1. This is the form
// that Lucene has, in which a word never counts against a document. Both factors are worked out when the
// index is made, in multiples of 2^-16 and rounded down.
//
// A word is a run of letters with their marks, or a run of digits, in lower case. What is between words
// does not count, and neither does their order.
//
// An Index is immutable and safe for concurrent use.
package bm25
