// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/database"
	"github.com/docket-project/docket/internal/etcdstore"
)

// waitingInterval is how often it is said at most that the database doesn't answer.
const waitingInterval = 10 * time.Second

// awaitDatabase returns when the server of the database answers.
func (c *Config) awaitDatabase(ctx context.Context) error {
	if database.IsEtcd(c.DatabaseURL) {
		options, err := c.etcdOptions()
		if err != nil {
			return err
		}
		if err := etcdstore.Wait(ctx, options); err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		return nil
	}
	if err := database.Wait(ctx, c.DatabaseURL, c.Database); err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	return nil
}

// newWaiting returns what is told of each attempt to reach the database, and says so now and then.
// It is called by one goroutine at a time.
func (o *StorageOptions) newWaiting() func(cause string, left time.Duration) {
	url, say := database.Redacted(o.Database), o.Waiting
	var said time.Time
	return func(cause string, left time.Duration) {
		now := time.Now()
		if !said.IsZero() && now.Before(said.Add(waitingInterval)) {
			return
		}
		said = now
		if say != nil {
			say(waitingText(url, cause, left))
			return
		}
		values := []any{"url", url, "cause", cause}
		if left > 0 {
			values = append(values, "givingUpIn", left.Round(time.Second).String())
		}
		klog.InfoS("Waiting for the database", values...)
	}
}

func waitingText(url, cause string, left time.Duration) string {
	text := fmt.Sprintf("Waiting for the database %s: %s", url, cause)
	if left > 0 {
		text += fmt.Sprintf("; giving up in %s", left.Round(time.Second))
	}
	return text
}
