// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/plane/statedir"
)

// unregisterTimeout is short: a person is waiting for the end.
const unregisterTimeout = 10 * time.Second

// errChildEnded is the cause when everything stops because the server has ended.
var errChildEnded = errors.New("the server has ended")

// Run starts the command, registers it while it runs, and returns when it has ended. When
// ctx ends, the server is stopped cleanly, which is not an error. A server that exits by itself
// with a code other than 0 is an *[ExitError]. The server's output goes to out and errOut,
// docket run's own messages to errOut.
func (o *Options) Run(ctx context.Context, command []string, out, errOut io.Writer, c clock.PassiveClock) (err error) {
	if err := o.Validate(command); err != nil {
		return err
	}
	e, err := o.endpoint()
	if err != nil {
		return err
	}
	if err := o.chooseName(ctx, e, errOut); err != nil {
		return err
	}
	p, err := o.prepare(ctx, e, c.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.remove()) }()
	var mutex sync.Mutex
	out, errOut = &lockedWriter{&mutex, out}, &lockedWriter{&mutex, errOut}
	if wants(command, proxyCAPlaceholder) {
		authority, err := e.proxyCA(ctx)
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.proxyCA, authority, 0o600); err != nil {
			return fmt.Errorf("write the file for {proxy-ca}: %w", err)
		}
	}
	return o.runAt(ctx, e, p, p.expand(command), out, errOut)
}

func (o *Options) runAt(ctx context.Context, e *endpoint, p *workspace, command []string, out, errOut io.Writer) (err error) {
	server, err := start(command, []string{"KUBECONFIG=" + e.kubeconfig}, out, errOut)
	if err != nil {
		return err
	}
	defer server.stop()
	// Everything below ends with the server, too.
	serving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-server.ended
		cancel(errChildEnded)
	}()

	r := &registration{endpoint: e, workspace: p, name: o.Name, namespace: o.Namespace, run: uuid.NewString(), shadow: o.Shadow, notes: errOut}
	ready, err := o.bringUp(serving, r)
	if !o.Keep || err != nil {
		err = errors.Join(err, r.end(ctx))
	}
	switch {
	case errors.Is(context.Cause(serving), errChildEnded) && !ready:
		return errors.Join(server.tooEarly(), err)
	case errors.Is(context.Cause(serving), errChildEnded):
		return errors.Join(server.failure(), err)
	}
	return err
}

// bringUp registers the server once it answers, and returns when serving ends or
// something fails. ready reports whether it was available.
func (o *Options) bringUp(serving context.Context, r *registration) (ready bool, err error) {
	limited, cancel := context.WithTimeout(serving, o.Timeout)
	defer cancel()
	err = o.start(limited, r)
	switch {
	case serving.Err() != nil:
		return false, nil // The user or the server has ended it; err is only about that.
	case errors.Is(err, context.DeadlineExceeded):
		return false, fmt.Errorf("the server is not available within --timeout %v: %w", o.Timeout, err)
	case err != nil:
		return false, err
	}
	r.keep(serving)
	return true, nil
}

// start registers the server and waits until it is available.
func (o *Options) start(ctx context.Context, r *registration) error {
	asker, err := newAsker(r.workspace, r.endpoint)
	if err != nil {
		return err
	}
	if err := asker.waitUntilAnswers(ctx); err != nil {
		return err
	}
	if r.versions, err = o.wanted(ctx, asker); err != nil {
		return err
	}
	if err := r.register(ctx); err != nil {
		return err
	}
	if err := r.waitAvailable(ctx); err != nil {
		return err
	}
	if err := r.waitDocumented(ctx, documentsGrace); err != nil {
		return err
	}
	return r.announce(ctx)
}

// wanted are the group versions of --group-version, or those that the server lists.
func (o *Options) wanted(ctx context.Context, a *asker) ([]schema.GroupVersion, error) {
	if versions, err := o.groupVersions(); len(versions) > 0 || err != nil {
		return versions, err
	}
	versions, err := a.groupVersions(ctx)
	if errors.Is(err, errRefused) && a.proxy == nil {
		return nil, fmt.Errorf("--group-version is required here: %w to unknown clients, and there is no %s in %s with which to ask as the aggregator; name what the server serves, or give the state folder with --dir", err, statedir.ProxyCertificateFile, a.state)
	}
	if errors.Is(err, errRefused) {
		return nil, fmt.Errorf("--group-version is required here: %w to the aggregator; does it trust this endpoint's aggregator, for example by {proxy-ca}?", err)
	}
	return versions, err
}

// end withdraws the registration, even if ctx has ended.
func (r *registration) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unregisterTimeout)
	defer cancel()
	return r.unregister(ctx)
}

// lockedWriter lets the server and docket run write to the same writer.
type lockedWriter struct {
	mutex *sync.Mutex
	out   io.Writer
}

// Write implements io.Writer.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.out.Write(p)
}
