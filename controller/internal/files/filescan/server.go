// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"fmt"
	"net/http"
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
	if r.CreateNamespaces {
		if err := r.server.createNamespaces(ctx, r.findings.Namespaces()); err != nil {
			return err
		}
	}
	r.layout.PruneUnseen(Keep(r.Policies, r.Source, len(r.Input.Policies) == 0))
	// The error says all that the log would.
	err := r.server.writer.Flush(klog.NewContext(ctx, klog.Logger{}))
	fmt.Fprintln(r.Process.ErrOut, r.server.counts.String())
	switch {
	case apierrors.IsNotFound(err) && !r.CreateNamespaces:
		return fmt.Errorf("write reports: %w\nCreate the namespaces that are missing, or give --create-namespaces", err)
	case err != nil:
		return fmt.Errorf("write reports: %w", err)
	}
	return nil
}

// createNamespaces creates the namespaces that the server does not have.
func (s *reportServer) createNamespaces(ctx context.Context, names []string) error {
	for _, name := range names {
		_, err := s.namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the namespace %s: %w", name, err)
		}
	}
	return nil
}

// writeCounts counts the writes that the server accepted.
type writeCounts struct {
	created, updated, deleted atomic.Int64
}

func (c *writeCounts) String() string {
	return fmt.Sprintf("reports: %d created, %d updated, %d deleted", c.created.Load(), c.updated.Load(), c.deleted.Load())
}

func (c *writeCounts) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode >= http.StatusMultipleChoices {
			return response, err
		}
		switch request.Method {
		case http.MethodPost:
			c.created.Add(1)
		case http.MethodPut, http.MethodPatch:
			c.updated.Add(1)
		case http.MethodDelete:
			c.deleted.Add(1)
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
