// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leftover remembers which verdicts and subjects may have become unused.
package leftover

// maxIDs bounds each set: about 9 MiB.
const maxIDs = 1 << 18

// Set holds the ids of verdicts and subjects that a result or report referred to and does no
// more: perhaps nothing does. Only what is dropped can become unused, so that Tidy looks at
// these, and need not search all there are. It is gone with the process, and what has no room
// is left out: both are found by the walk of Tidy, some day. Not safe for concurrent use.
type Set struct {
	verdicts, subjects map[int64]struct{}
}

// Verdict adds the id of a verdict.
func (s *Set) Verdict(id int64) { remember(&s.verdicts, id) }

// Subject adds the id of a subject.
func (s *Set) Subject(id int64) { remember(&s.subjects, id) }

// TakeVerdicts removes and returns at most n ids of verdicts, in no order.
func (s *Set) TakeVerdicts(n int) []int64 { return take(s.verdicts, n) }

// TakeSubjects removes and returns at most n ids of subjects, in no order.
func (s *Set) TakeSubjects(n int) []int64 { return take(s.subjects, n) }

// Len is the number of ids.
func (s *Set) Len() int { return len(s.verdicts) + len(s.subjects) }

func remember(set *map[int64]struct{}, id int64) {
	if *set == nil {
		*set = map[int64]struct{}{}
	}
	if len(*set) < maxIDs {
		(*set)[id] = struct{}{}
	}
}

func take(set map[int64]struct{}, n int) []int64 {
	ids := make([]int64, 0, min(n, len(set)))
	for id := range set {
		if len(ids) == n {
			break
		}
		ids = append(ids, id)
		delete(set, id)
	}
	return ids
}
