package recipe

import "slices"

// SeveralUpdates says whether a step of some stage may make more than one update.
func (r *Recipe) SeveralUpdates() bool {
	return slices.ContainsFunc(r.Stages, func(s Stage) bool {
		return s.Kind == KindRL && !s.Skip && (s.UpdatesPerRollout > 1 || s.Numbers.UpdatesPerRollout != "")
	})
}

// RecordsTokens says whether a step, from 0 on, is among those of which each token is recorded.
func (s *Stage) RecordsTokens(step int) bool { return s.TokenEvery > 0 && step%s.TokenEvery == 0 }
