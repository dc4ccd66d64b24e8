// Package weights makes a model of other models: each number of each tensor by a formula over the
// numbers that those models have in its place.
//
//	folders, merged with their adapters ── Compile(formula) ── Blend ── Files: those of a Hugging Face folder
//
// The formula is in the language of package formula. A model is a name in it, an element of a tensor a
// row. So sums, task arithmetic and whatever is computed element by element are plain formulas:
//
//	(a + b)/2                        the mean of two models
//	base + 0.7*(tuned - base)        what tuning changed, by 0.7 (task arithmetic)
//
// What needs a whole tensor or random numbers is a function of package algebra, which reads the formula:
// slerp, ties, dare, random_like. Each gives the weights of a model, so it can stand wherever a model can. Other
// functions over several rows are refused.
//
// # Agreement
//
// The models must have tensors of the same names and shapes, the same tokens, and configs that mean the
// same arithmetic. Config and tokenizer are those of the model that is named first. A table that is
// embedding and head at once is one tensor.
//
// # Numbers
//
// Values are read in their storage, computed in float64 and rounded to float32. Storage of 16 bits rounds
// once more. Sums over a tensor run in its order. Equal files and an equal formula give equal bytes.
//
// # Memory
//
// Tensors are read and computed in blocks of rows of about [blockNumbers] numbers (one row, if that is
// longer) for each model. Only the tensor that is written is whole, as float32.
//
// # Threads
//
// A Blend may be read by several goroutines at once.
package weights
