// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"fmt"
	"time"
)

// waitingInterval is how often it is said at most that a database doesn't answer.
const waitingInterval = 10 * time.Second

// Seldom returns what can be Options.Waiting: it passes on the first failed attempt, and then at most one every 10 s.
// It is called by one goroutine at a time.
func Seldom(tell func(cause string, left time.Duration)) func(cause string, left time.Duration) {
	var told time.Time
	return func(cause string, left time.Duration) {
		now := time.Now()
		if !told.IsZero() && now.Before(told.Add(waitingInterval)) {
			return
		}
		told = now
		tell(cause, left)
	}
}

// WaitingText is a line for people about a database that doesn't answer yet. left is how long there
// will be further attempts, 0 for without end.
func WaitingText(rawURL, cause string, left time.Duration) string {
	text := fmt.Sprintf("Waiting for the database %s: %s", Redacted(rawURL), cause)
	if left > 0 {
		text += fmt.Sprintf("; giving up in %s", left.Round(time.Second))
	}
	return text
}
