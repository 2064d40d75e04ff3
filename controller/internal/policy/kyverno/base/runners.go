// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"sync"
	"time"
)

// RunnerPatience is how long a goroutine waits for the next evaluation before it ends.
const RunnerPatience = time.Second

// Runners are goroutines for evaluations. They are used again, since the engines need a deep stack, and to grow
// one takes a tenth of the time of an evaluation. There are no more of them than there were evaluations at a time.
type Runners struct {
	once sync.Once
	idle chan func()
}

// run has work done by a goroutine. The nil Runners start one each time.
func (r *Runners) run(work func()) {
	if r == nil {
		go work()
		return
	}
	r.once.Do(func() { r.idle = make(chan func()) })
	select {
	case r.idle <- work:
	default:
		go r.serve(work)
	}
}

// serve does work, and further work that arrives while it waits.
func (r *Runners) serve(work func()) {
	timer := time.NewTimer(RunnerPatience)
	defer timer.Stop()
	for {
		work()
		timer.Reset(RunnerPatience)
		select {
		case work = <-r.idle:
		case <-timer.C:
			return
		}
	}
}
