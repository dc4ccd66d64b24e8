// Package rollout collects completions of the problems of a step, judges them, and has the record
// of what was sampled.
//
//	Problem ── Renderer ──> prompt ── Sampler ──> completions ── verifiers ──> Group
//
// A [Group] is everything that was sampled for one problem: a tree of segments. Each
// [Segment] is a run of tokens by one author, with its parent before it. A [Path] is
// one sample: the segments from the root to a leaf. With a single turn the tree is a
// prompt and one leaf for each sample. Nothing here says how large a group is, and
// groups of one step may differ in size.
//
//	prompt ─┬─ completion 0        Segments[0], Segments[1]; Paths[0].Leaf = 1
//	        ├─ completion 1        Segments[2];              Paths[1].Leaf = 2
//	        └─ ...
//
// With [Episodes] a sample is played turn by turn with a world. Its path has a segment of the
// policy for each turn, and between them segments of the author [Outside] with what the policy
// read. Ids are appended to its context, and what was drawn keeps its ids, as long as the context
// does not begin anew. A sample of one turn is drawn by the same requests as without episodes.
//
//	prompt ── turn ── reply ── turn ── reply ── turn        episode.go plays them side by side, flow.go has them drawn
//
// Completions may also grow as a tree: [Collector.Branch] draws some that begin as others do, up to a
// [Fork]. A segment with a fork inside is then two of them. Who chooses the forks knows the method:
// package train.
//
// Groups are plain data with exported fields. They can be written to a file and sent to another
// machine. Nothing changes a group once it is collected. The results of a step for a completion
// (its reward, its advantage) are in records of package train.
//
// A context may begin anew: with a summary, by what a world says, or where a template changes what stood there. The path
// goes on, with a [Segment] that is Fresh; what is read after it begins there.
//
// A [View] is a path laid out flat: token ids, and the spans of them that the policy wrote. A model
// is trained on views, of which each context is a sequence of its own ([View.Contexts]).
//
// Units: log-probs and entropies are in nats, of logits divided by the temperature
// of the segment's Params, over the whole vocabulary.
//
// [Collector.Collect] judges completions side by side. A verdict is a function of its
// completion alone, so the result does not depend on the order. A Collector may be
// used by one goroutine at a time.
package rollout
