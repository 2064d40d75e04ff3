// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/etcdstore"
)

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

// newWaiting returns a function to call after each attempt to reach the database. It reports some of the attempts.
func (o *StorageOptions) newWaiting() func(cause string, left time.Duration) {
	url, say := o.Database, o.Waiting
	return database.Seldom(func(cause string, left time.Duration) {
		if say != nil {
			say(database.WaitingText(url, cause, left))
			return
		}
		values := []any{"url", database.Redacted(url), "cause", cause}
		if left > 0 {
			values = append(values, "givingUpIn", left.Round(time.Second).String())
		}
		klog.InfoS("Waiting for the database", values...)
	})
}
