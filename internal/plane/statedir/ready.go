// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"
)

// Attend runs servers, and beside them greet, which waits until they are ready and tells the user. When one of them
// ends, or greet fails, the others end, too.
func Attend(ctx context.Context, greet func(context.Context) error, servers ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	for _, serve := range servers {
		group.Go(func() error {
			err := serve(ctx)
			if err == nil {
				stop() // After an error, the group ends the others, and has that error.
			}
			return err
		})
	}
	group.Go(func() error {
		if err := greet(ctx); ctx.Err() == nil {
			return err
		}
		return nil // An error only says that ctx has ended.
	})
	return group.Wait()
}

// AskReady asks a server for /readyz as a client would, and returns why it is not ready.
func AskReady(ctx context.Context, client *http.Client, host string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s: %s", response.Status, body)
	}
	return nil
}
