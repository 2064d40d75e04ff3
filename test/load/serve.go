// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
)

// serveCommand is the first argument that makes this program a server.
const serveCommand = "serve"

// serve answers requests from memory until ctx ends.
func serve(ctx context.Context, arguments []string, help io.Writer) error {
	flags := pflag.NewFlagSet("load serve", pflag.ContinueOnError)
	flags.SetOutput(help)
	flags.Usage = func() {
		fmt.Fprintf(help, "Usage: go run ./test/load serve --listen=ADDRESS --tls-cert-file=FILE --tls-private-key-file=FILE\n\n"+
			"Answers with the bytes that it was sent, from memory: how fast that is, is the limit for\n"+
			"every server of reports. Whoever reaches it may do everything.\n\nFlags:\n%s", flags.FlagUsages())
	}
	address := flags.String("listen", "127.0.0.1:8443", "where to listen")
	certificate := flags.String("tls-cert-file", "", "file with the certificate")
	key := flags.String("tls-private-key-file", "", "file with its key")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	}
	if *certificate == "" || *key == "" {
		return errors.New("--tls-cert-file and --tls-private-key-file: are required")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{
		Handler: newCanned(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, // Watches end with it.
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Nothing is left to be told.
	defer stop()
	if err := server.ServeTLS(listener, *certificate, *key); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
