package verify

// Budgets. They are far above what an honest answer needs and low enough that
// any verdict ends within a few milliseconds.
const (
	maxCompletionBytes = 1 << 20 // a longer completion is wrong unread
	maxAnswerBytes     = 4096    // of the answer taken out of a completion
	maxCandidates      = 32      // runs of digits looked at for the last number
	maxDigits          = 400     // of one number, before the exponent is applied
	maxExponent        = 400     // of a number in scientific notation, either sign
	maxDepth           = 64      // of parentheses and signs in an expression
	maxNumbers         = 64      // given in a countdown row
	maxPatternBytes    = 4096    // of a regular expression given as an option
	maxTags            = 16      // of a format
	maxBlockPairs      = 1 << 24 // of equal characters in two texts that are compared by blocks
	maxShownBytes      = 200     // of model text quoted in a verdict
)

// MaxExpressionBytes bounds what [Evaluate] reads. Its value is a fraction of two whole numbers, neither
// of which has more digits than the text has bytes: products and quotients add up the digits, and sums
// add one for their sign.
const MaxExpressionBytes = 1024
