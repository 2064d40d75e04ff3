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
	report := &Report{Known: map[string]int{}, Groups: map[string]*Group{}}
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
