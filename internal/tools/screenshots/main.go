// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command screenshots takes the pictures of the console that the documentation shows: `make screenshots`. It starts
// `docket up --demo` on a folder that it removes, and opens the pages in Chromium.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/tools/chromium"
	"github.com/docket-project/docket/internal/tools/picture"
)

const (
	width = 1200
	// patience is for a slow machine.
	patience = 5 * time.Minute
)

// menu says that the menu has the page of the clusters, which it gets last.
var menu = chromedp.WaitVisible("nav a[href^='#/clusters']")

// follows says that a page hears of changes, as those do that people look at.
var follows = chromedp.WaitVisible(".live")

// page is what a picture shows, and how much of it.
type page struct {
	name, address string
	height        int64
	// waits until the parts that appear after the page are visible, too.
	waits chromedp.Action[chromedp.Void]
}

var pages = []page{
	{"overview", "#/overview", 640, follows},
	{"results", "#/results?namespace=shop", 780, follows},
	{"resource", "#/resource?namespace=shop&kind=CronJob&name=catalog-00072", 780, follows},
	{"policy", "#/policy?policy=disallow-privileged-containers", 780, follows},
	{"heatmap", "#/heatmap", 780, follows},
	{"questions", "#/questions", 540, menu},
	{"clusters", "#/clusters", 380, menu},
	{"report", "#/report?namespace=shop&kind=VulnerabilityReport&name=cronjob-catalog-00072-catalog", 640, menu},
	{"question", "#/question?title=Which+namespaces+burn%3F&filter=result+%3D%3D+%22fail%22&by=report.namespace&columns=severity", 640, follows},
}

func main() {
	docket := flag.String("docket", "bin/docket", "path of the command docket")
	out := flag.String("out", "docs/start/images", "folder of the pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *docket, *out); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, docket, out string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dir, err := os.MkdirTemp("", "docket-screenshots-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Two clusters in one file, one after the other: the page of the clusters is there for several only.
	state := filepath.Join(dir, "state")
	_, end, err := start(ctx, docket, state, "north")
	if err == nil {
		err = end()
	}
	if err != nil {
		return err
	}
	link, end, err := start(ctx, docket, state, "east")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // Pictures are for everybody.
		return err
	}
	return shoot(ctx, link, out)
}

var linkOf = regexp.MustCompile(`http://\S+/sign-in\?token=\w+`)

// start starts docket up with the demo for a cluster, and returns the link once all reports are there, and what ends
// it.
func start(ctx context.Context, docket, state, cluster string) (link string, end func() error, err error) {
	command := exec.CommandContext(ctx, docket, "up", "--demo", "--cluster", cluster, "--dir", state, "--listen", "127.0.0.1:0")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- command.Wait()
		_ = writer.Close()
	}()
	end = func() error { return errors.Join(command.Process.Signal(os.Interrupt), <-ended) }
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		if found := linkOf.FindString(lines.Text()); found != "" {
			link = found
		}
		if strings.Contains(lines.Text(), "100%") {
			go func() { _, _ = io.Copy(io.Discard, reader) }() // What it says at its end.
			return link, end, nil
		}
	}
	return "", nil, fmt.Errorf("docket up ended: %w", <-ended)
}

// shoot takes the pictures.
func shoot(ctx context.Context, link, out string) (err error) {
	ctx, stop, err := chromium.Start(ctx)
	if err != nil {
		return fmt.Errorf("start Chromium: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	ready := chromedp.WaitVisible("main:not([aria-busy]) h1")
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, pages[0].height), chromedp.Navigate(link), ready); err != nil {
		return fmt.Errorf("sign in with Chromium: %w", err)
	}
	base, _, _ := strings.Cut(link, "/sign-in")
	for _, p := range pages {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, p.height), chromedp.Navigate("about:blank"), chromedp.Navigate(base+"/"+p.address), ready, menu, p.waits); err != nil {
			return fmt.Errorf("%s: %w", p.address, err)
		}
		data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			return fmt.Errorf("%s: %w", p.address, err)
		}
		full, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("%s: %w", p.address, err)
		}
		if err := picture.Write(filepath.Join(out, "console-"+p.name+".png"), picture.Indexed(full)); err != nil {
			return err
		}
	}
	return nil
}
