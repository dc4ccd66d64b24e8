package algo

// tokenNorm is the factor of every token of a sequence with n tokens, in a
// micro-batch with local tokens:
//
//	token_mean        1/N              N tokens of the global batch (DAPO; verl's token-mean)
//	seq_mean          1/(B·n)          B sequences of the global batch (GRPO; TRL's grpo)
//	fixed_length      1/(B·L)          L = max_completion_tokens (Dr. GRPO, TRL's dr_grpo)
//	micro_token_mean  1/(local·M)      M micro-batches (TRL's bnpo): depends on the cut
//	seq_sum           1/B              (verl's seq-mean-token-sum)
//	token_sum         1
//
// B counts a sequence without tokens under the mask, as TRL does; verl does not.
func tokenNorm(cfg Config, g counts, local, n int) float64 {
	switch cfg.Normalize {
	case "token_mean":
		return 1 / float64(g.Tokens)
	case "seq_mean":
		return 1 / (float64(g.Sequences) * float64(n))
	case "fixed_length":
		return 1 / (float64(g.Sequences) * float64(cfg.MaxCompletionTokens))
	case "micro_token_mean":
		return 1 / (float64(local) * float64(g.MicroBatches))
	case "seq_sum":
		return 1 / float64(g.Sequences)
	default: // token_sum
		return 1
	}
}
