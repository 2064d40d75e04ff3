// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
)

// WriteOpening writes a page that takes a browser to the link, in a new folder which only its owner can read: what is
// given to a browser by its command line is in the list of processes, for all users of the machine. The folder is
// below one of parents, the first that takes it. It is removed when the link has been used, and at the end of
// [Console.Serve].
func (c *Console) WriteOpening(host string, parents ...string) (string, error) {
	var errs []error
	for _, parent := range parents {
		folder, err := os.MkdirTemp(parent, "docket-console-")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.opening.Store(&folder)
		link := html.EscapeString(c.Link(host))
		page := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=%s"><title>Docket</title><p><a href="%[1]s">Continue</a>`, link)
		name := filepath.Join(folder, "open.html")
		return name, os.WriteFile(name, []byte(page), 0o600)
	}
	return "", errors.Join(errs...)
}

// removeOpening removes the folder, if there is one.
func (c *Console) removeOpening() {
	if folder := c.opening.Swap(nil); folder != nil {
		_ = os.RemoveAll(*folder) //nolint:gosec // The name is from os.MkdirTemp. What stays is for its owner only, and good for nothing.
	}
}
