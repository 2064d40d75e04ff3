// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"sync"

	"github.com/docket-project/docket/internal/kit/progress"
)

// Progress shows how many checks are finished.
type Progress struct {
	out  io.Writer
	bar  *progress.Bar
	told sync.Once
}

// NewProgress returns one that shows nothing yet.
func NewProgress(out io.Writer) *Progress { return &Progress{out: out} }

// Planned begins, with the number of checks.
func (s *Progress) Planned(total int) { s.bar = progress.New(s.out, int64(total), "checks") }

// Finished counts a check; checks may finish side by side. If the run is interrupted it says, once, what happens then.
func (s *Progress) Finished(interrupted bool) {
	s.bar.Add(1)
	if interrupted {
		s.told.Do(func() {
			s.bar.Done()
			fmt.Fprintln(s.out, "Interrupted: removing what the checks have created. Another Ctrl-C leaves it there.")
		})
	}
}

// Done ends the line.
func (s *Progress) Done() { s.bar.Done() }
