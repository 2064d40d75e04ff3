// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uptest is the control plane of tests: a `docket up` in their process, which stores and
// serves what it is given as a cluster does. Only tests import it.
//
// Goroutines: the server, from the first call of [Server.Config] to [Server.Stop].
package uptest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/plane/up"
)

// patience is for a slow machine.
const patience = 5 * time.Minute

// Server is the one control plane of a package's tests, which use names of their own, or that of one
// test. The zero Server is ready to use; give it to [Run], or call [Server.Stop].
type Server struct {
	// Cluster is the name of the cluster in the database; empty for the usual one.
	Cluster string
	// Database is the URL of the database of the reports; empty for one in the state.
	Database string
	// State is an existing folder for the state, which stays there; empty for one that goes with the server.
	State string
	// CustomResources is a file with definitions of further kinds; empty for none.
	CustomResources string

	once   sync.Once
	config *rest.Config
	dir    string
	err    error
	stop   func() error
}

// Config returns the way to the server, without a limit on requests. The first call starts it, and
// calls setUp, which may be nil.
func (s *Server) Config(setUp func(context.Context, *rest.Config) error) (*rest.Config, error) {
	s.once.Do(func() {
		ctx := context.Background()
		if s.err = s.start(ctx); s.err == nil && setUp != nil {
			s.err = setUp(ctx, s.config)
		}
	})
	return s.config, s.err
}

// Dir returns the folder with the state of a server that was started.
func (s *Server) Dir() string { return s.dir }

func (s *Server) start(ctx context.Context) error {
	options, err := up.NewOptions()
	if err != nil {
		return err
	}
	sections := options.Flags()
	for name, value := range map[string]string{"cluster": s.Cluster, "database": s.Database, "custom-resources": s.CustomResources} {
		if value == "" {
			continue
		}
		if err := sections.FlagSet("reports").Set(name, value); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(s.State, "docket-uptest-")
	if err != nil {
		return err
	}
	options.Dir, options.Listen = filepath.Join(cmp.Or(s.State, dir), "state"), "127.0.0.1:0"
	s.dir = options.Dir
	ctx, cancel := context.WithCancel(ctx)
	out, ended := &output{ready: make(chan struct{})}, make(chan error, 1)
	go func() { ended <- options.Run(ctx, out, out, clock.RealClock{}, time.Now()) }()
	s.stop = func() error {
		cancel()
		return errors.Join(<-ended, os.RemoveAll(dir))
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-out.ready:
	case err := <-ended:
		ended <- err
		return fmt.Errorf("docket up ended: %w", err)
	case <-timeout.C:
		return fmt.Errorf("docket up is not ready after %v", patience)
	}
	if s.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(options.Dir, statedir.KubeconfigFile)); err != nil {
		return err
	}
	s.config.QPS = -1
	return nil
}

// Stop ends the server if it was started.
func (s *Server) Stop() error {
	if s.stop == nil {
		return nil
	}
	if err := s.stop(); err != nil {
		return fmt.Errorf("docket up: %w", err)
	}
	return nil
}

// output waits for the line that says that the server is ready.
type output struct {
	once  sync.Once
	ready chan struct{}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "Docket is ready at") {
		o.once.Do(func() { close(o.ready) })
	}
	return len(p), nil
}

// Run is for TestMain: it runs the tests with klog silent, ends the server, and returns the exit code.
func Run(tests interface{ Run() int }, s *Server) (code int) {
	quiet := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(quiet)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := quiet.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
	code = tests.Run()
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
