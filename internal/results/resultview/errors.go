// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// exitUsage is the exit code for what somebody typed wrongly.
const exitUsage = 2

// UsageError says what is wrong with what somebody typed.
type UsageError struct{ text string }

// Error implements error.
func (e *UsageError) Error() string { return e.text }

// ExitCode is what the process ends with.
func (e *UsageError) ExitCode() int { return exitUsage }

// UnknownError says that no result has what somebody asked for, which is not the same as nothing that fails.
type UnknownError struct {
	// Field that no result has with this text.
	Field, Text string
	// Known are some of the values that results have, those most like the text first.
	Known []string
	// In is where results were looked for, for people.
	In string
}

// Error implements error.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("no results %s have the %s %q", e.In, e.Field, e.Text)
	if len(e.Known) > 0 {
		text += "; there are: " + strings.Join(e.Known, ", ")
	}
	return text
}

// ExitCode is what the process ends with.
func (e *UnknownError) ExitCode() int { return exitUsage }

// NamespaceError says that a namespace does not exist.
type NamespaceError struct{ error }

// Unwrap returns the answer of the cluster.
func (e *NamespaceError) Unwrap() error { return e.error }

// ExitCode is what the process ends with.
func (e *NamespaceError) ExitCode() int { return exitUsage }

// isNamespace reports whether an error is about a namespace.
func isNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// explain says what to do about an error.
func explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && isNamespace(err):
		return &NamespaceError{err}
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: the cluster doesn't serve %s; it needs Docket with a SQL database, registered by the objects of `docket bootstrap`: %w",
			what, v1alpha1.SchemeGroupVersion, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w; ask for the role view there, or choose a namespace that you may read with --namespace", what, err)
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("%s: %w; see kubectl get apiservices -l app.kubernetes.io/name=docket", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
