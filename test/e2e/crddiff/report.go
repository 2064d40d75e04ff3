// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Report is what was found by running cases.
type Report struct {
	// Cases is how many were run, Requests how many requests were sent to each server.
	Cases, Requests int
	// Accepted is how many requests to write were, by group, version and resource.
	Accepted map[string]int
	// Known counts differences by what they are known as.
	Known map[string]int
	// Groups are the others, by signature.
	Groups map[string]*Group
}

// Group is differences that are likely to have one cause.
type Group struct {
	Count int
	// First is the one that was found first, made small.
	First *Finding
}

// RunMany runs the cases of a seed one after another, by some workers, until ctx is done or so
// many were run; 0 is no limit.
func (r *Runner) RunMany(ctx context.Context, kinds []Kind, seed, limit uint64, workers int) (*Report, error) {
	report := &Report{Accepted: map[string]int{}, Known: map[string]int{}, Groups: map[string]*Group{}}
	var next atomic.Uint64
	var mu sync.Mutex // guards report and problem
	var problem error
	var group sync.WaitGroup
	run, cancel := context.WithCancel(context.WithoutCancel(ctx)) // A case that was begun is completed.
	defer cancel()
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil && run.Err() == nil {
				number := next.Add(1) - 1
				if limit > 0 && number >= limit {
					return
				}
				found, err := r.Run(run, NewCase(kinds[number%uint64(len(kinds))], seed, number))
				mu.Lock()
				if err != nil {
					problem = errors.Join(problem, err)
					cancel()
				} else {
					r.note(run, report, found, &mu)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return report, problem
}

// note adds a finding to the report. It gives up the lock while it makes a finding small.
func (r *Runner) note(ctx context.Context, report *Report, found *Finding, mu *sync.Mutex) {
	report.Cases++
	report.Requests += found.Step + 1
	report.Accepted[found.Case.Kind.APIVersion()+" "+found.Case.Kind.Resource] += found.Accepted
	for known, count := range found.Known {
		report.Known[known] += count
	}
	if len(found.Differences) == 0 {
		return
	}
	signature := found.Differences[0].Signature()
	if group := report.Groups[signature]; group != nil {
		group.Count++
		return
	}
	group := &Group{Count: 1, First: found}
	report.Groups[signature] = group
	mu.Unlock()
	small := r.Shrink(ctx, found)
	mu.Lock()
	group.First = small
}

// Signatures returns those of all groups, the most frequent first.
func (r *Report) Signatures() []string {
	signatures := sortedKeys(r.Groups)
	slices.SortStableFunc(signatures, func(a, b string) int { return r.Groups[b].Count - r.Groups[a].Count })
	return signatures
}

// String shows the requests of a finding so that people can send them, and how the answers differ.
func (f *Finding) String() string {
	var b strings.Builder
	c := f.Case
	fmt.Fprintf(&b, "seed %d, case %d, %s\n", c.Seed, c.Number, c.Kind.Resource)
	s := &state{name: nameMark, object: nameMark, namespace: spaceMark, version: versionMark, old: oldMark, uid: uidMark, owner: ownerUIDMark, listed: listMark, next: nextMark, group: groupMark}
	for i, step := range c.Steps[:f.Step+1] {
		r := s.request(c.Kind, step)
		target := r.path
		if len(r.query) > 0 {
			target += "?" + r.query.Encode()
		}
		fmt.Fprintf(&b, "  %d. %s %s", i+1, r.method, target)
		for _, name := range sortedKeys(r.header) {
			fmt.Fprintf(&b, " -H '%s: %s'", name, r.header[name])
		}
		if r.body != "" {
			fmt.Fprintf(&b, " -d %s", shorten(fmt.Sprintf("%q", r.body), 3000))
		}
		b.WriteByte('\n')
	}
	for _, d := range f.Differences {
		fmt.Fprintf(&b, "     %s %s\n       custom resources: %s\n       other:            %s\n", d.Aspect, d.Path, shorten(d.Difference.Left, 600), shorten(d.Difference.Right, 600))
	}
	return b.String()
}

func shorten(text string, to int) string {
	if len(text) > to {
		return text[:to] + "…"
	}
	return text
}

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
