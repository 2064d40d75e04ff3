// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chromium starts the browser in which tests and tools open the pages of the console. Nothing that is released
// imports it.
//
// Processes: the browser, from [Start] until what Start returns for its end; it does not outlive the process that
// started it.
package chromium

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long a browser may take to close.
const patience = 30 * time.Second

// Start starts Chromium without a window. The context that it returns has a tab and is for chromedp; it ends with
// ctx, and the browser ends with stop, which must be called: a browser that is killed leaves its folders behind.
//
// Temporary files of the browser are in a folder that goes with it.
func Start(ctx context.Context, options ...chromedp.ExecAllocatorOption) (tab context.Context, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "chromium-") // Short: it gets a socket, whose path the system bounds.
	if err != nil {
		return nil, nil, err
	}
	options = append([]chromedp.ExecAllocatorOption{chromedp.NoSandbox, chromedp.Env("TMPDIR=" + dir)}, options...)
	browser, kill := chromedp.NewContext(context.WithoutCancel(ctx), chromedp.WithAllocatorOptions(options...))
	if err := chromedp.Do(browser); err != nil {
		kill()
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	tab, leave := context.WithCancel(browser)
	forget := context.AfterFunc(ctx, leave)
	return tab, func() error {
		forget()
		leave()
		closing, cancel := context.WithTimeout(browser, patience)
		defer cancel()
		return errors.Join(chromedp.Cancel(closing), os.RemoveAll(dir))
	}, nil
}
