// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/report"
)

// reportServer is where --to writes reports.
type reportServer struct {
	writer     *report.Writer
	counts     writeCounts
	namespaces corev1client.NamespaceInterface
}

// openReports reads the reports that the server has into the layout.
func openReports(ctx context.Context, kubeconfig string, layout *report.Layout) (*reportServer, error) {
	config, err := restConfig(kubeconfig, "")
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	server := &reportServer{namespaces: core.Namespaces()}
	config = rest.CopyConfig(config)
	config.Wrap(server.counts.wrap)
	if server.writer, err = report.NewWriter(report.Config{Layout: layout, REST: config}); err != nil {
		return nil, err
	}
	// The error says all that the log would.
	if err := server.writer.Load(klog.NewContext(ctx, klog.Logger{})); err != nil {
		return nil, fmt.Errorf("read the reports that are there: %w", WithHint(err, kubeconfig))
	}
	return server, nil
}

// write writes the reports into the server, if there is one.
func (r *run) write(ctx context.Context) error {
	if r.server == nil {
		return nil
	}
	err := r.server.write(ctx, r)
	fmt.Fprintln(r.Process.ErrOut, r.server.counts.String())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return unfinishedError{err}
	case apierrors.IsNotFound(err) && !r.CreateNamespaces:
		return fmt.Errorf("write reports: %w\nCreate the namespaces that are missing, or give --create-namespaces", err)
	default:
		return fmt.Errorf("write reports: %w", err)
	}
}

// unfinishedError is the end of a scan that was interrupted when it wrote reports.
type unfinishedError struct{ error }

func (e unfinishedError) Unwrap() error { return e.error }

// Interrupted is for [cli.Execute].
func (unfinishedError) Interrupted() string { return "the reports are incomplete, run it again" }

// write writes the reports of a scan.
func (s *reportServer) write(ctx context.Context, r *run) error {
	if r.CreateNamespaces {
		if err := s.createNamespaces(ctx, r.findings.Namespaces()); err != nil {
			return err
		}
	}
	r.layout.PruneUnseen(Keep(r.Policies, r.Source, len(r.Input.Policies) == 0))
	// The error says all that the log would.
	return s.writer.Flush(klog.NewContext(ctx, klog.Logger{}))
}

// createNamespaces creates the namespaces that the server does not have.
func (s *reportServer) createNamespaces(ctx context.Context, names []string) error {
	for _, name := range names {
		_, err := s.namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		switch {
		case err == nil:
			s.counts.namespaces = append(s.counts.namespaces, name)
		case !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("create the namespace %s: %w", name, err)
		}
	}
	return nil
}

// writeCounts counts the writes that the server accepted, and those that it may have.
type writeCounts struct {
	created, updated, deleted, unanswered atomic.Int64
	// namespaces are those that were created, before any report was.
	namespaces []string
}

func (c *writeCounts) String() string {
	text := fmt.Sprintf("reports: %d created, %d updated, %d deleted", c.created.Load(), c.updated.Load(), c.deleted.Load())
	if unanswered := c.unanswered.Load(); unanswered > 0 {
		text += fmt.Sprintf(", %d sent without an answer", unanswered)
	}
	if len(c.namespaces) > 0 {
		text += "; namespaces created: " + strings.Join(c.namespaces, ", ")
	}
	return text
}

func (c *writeCounts) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		sent := request.Context().Err() == nil
		response, err := next.RoundTrip(request)
		switch {
		case request.Method == http.MethodGet || !sent:
		case err != nil:
			c.unanswered.Add(1)
		case response.StatusCode >= http.StatusMultipleChoices:
		case request.Method == http.MethodPost:
			c.created.Add(1)
		case request.Method == http.MethodDelete:
			c.deleted.Add(1)
		default:
			c.updated.Add(1)
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
