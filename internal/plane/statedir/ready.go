// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

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
