// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxSilence is how long [Cache.Ready] waits for an API that does not say what it serves.
const maxSilence = 2 * time.Minute

// Ready returns nil once all entries are loaded, or are known not to load soon; else what is
// missing. Call [Cache.Want] before. It stays nil: an entry that comes later is waited for by those
// who ask for it, and is no reason to take a replica out of service.
func (c *Cache) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready {
		return nil
	}
	if err := c.missing(); err != nil {
		return fmt.Errorf("context cache: %w", err)
	}
	c.ready = true
	return nil
}

// missing is called with the mutex.
func (c *Cache) missing() error {
	if c.began.IsZero() {
		return errors.New("not started")
	}
	index := c.index.Load()
	patient := c.config.Clock.Since(c.began) < maxSilence
	if len(index.kinds) == 0 && patient {
		return errNotKnown
	}
	if index.revision != c.revision {
		return errors.New("entries of policies are not looked at yet")
	}
	var names []string
	for kind, state := range index.kinds {
		if !state.decided {
			names = append(names, "objects "+entryResource(kind).String())
		}
	}
	for id, e := range index.entries {
		if e.verdict() == undecided && (e.data != nil || patient) {
			names = append(names, title(id))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Errorf("loading %s", text)
}
