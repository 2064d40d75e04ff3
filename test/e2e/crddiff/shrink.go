// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import "context"

// shrinkRuns bounds how often a case is run to make it smaller.
const shrinkRuns = 150

// Shrink returns a case that is as small as possible and shows the same difference. What was found
// first is returned if it does not show again.
func (r *Runner) Shrink(ctx context.Context, found *Finding) *Finding {
	s := shrinker{runner: r, signature: found.Differences[0].Signature(), best: found, left: shrinkRuns}
	s.best.Case.Steps = s.best.Case.Steps[:found.Step+1]
	s.steps(ctx)
	for i := range s.best.Case.Steps {
		if i < len(s.best.Case.Steps) {
			s.query(ctx, i)
			s.body(ctx, i)
		}
	}
	return s.best
}

type shrinker struct {
	runner    *Runner
	signature string
	best      *Finding
	left      int
}

// try keeps a smaller case if it shows the difference.
func (s *shrinker) try(ctx context.Context, steps []Step) bool {
	if s.left--; s.left < 0 || len(steps) == 0 {
		return false
	}
	c := s.best.Case
	c.Steps = steps
	found, err := s.runner.Run(ctx, c)
	if err != nil || len(found.Differences) == 0 || found.Differences[0].Signature() != s.signature {
		return false
	}
	found.Case.Steps = found.Case.Steps[:found.Step+1]
	s.best = found
	return true
}

func (s *shrinker) copied() []Step {
	var steps []Step
	for _, step := range s.best.Case.Steps {
		steps = append(steps, step.clone())
	}
	return steps
}

// steps leaves out requests.
func (s *shrinker) steps(ctx context.Context) {
	for i := len(s.best.Case.Steps) - 2; i >= 0; i-- {
		if i >= len(s.best.Case.Steps)-1 {
			continue
		}
		steps := s.copied()
		s.try(ctx, append(steps[:i], steps[i+1:]...))
	}
}

// query leaves out parameters and header fields of a request.
func (s *shrinker) query(ctx context.Context, i int) {
	for name := range s.copied()[i].Query {
		steps := s.copied()
		delete(steps[i].Query, name)
		s.try(ctx, steps)
	}
}

// body leaves out parts of a request's body, large ones first.
func (s *shrinker) body(ctx context.Context, i int) {
	for depth, more := 1, true; more; depth++ {
		more = false
		for n := 0; i < len(s.best.Case.Steps); n++ {
			steps := s.copied()
			if steps[i].Body == nil {
				return
			}
			count := n
			if !cut(steps[i].Body, depth, &count) {
				more = more || n > 0
				break
			}
			more = true
			if s.try(ctx, steps) {
				n--
			}
			if s.left < 0 {
				return
			}
		}
	}
}

// cut takes out the member of a number, counted among those at a depth. It reports whether there is one.
func cut(v *Value, depth int, number *int) bool {
	for i := range v.members {
		if depth > 1 {
			if cut(v.members[i].value, depth-1, number) {
				return true
			}
			continue
		}
		if *number == 0 {
			v.members = append(v.members[:i], v.members[i+1:]...)
			return true
		}
		*number--
	}
	return false
}
