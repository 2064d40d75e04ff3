// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What [Reason] returns.
const (
	ReasonTimeout   = "timeout"
	ReasonConnect   = "connect"
	ReasonBlocked   = "blocked"
	ReasonTLS       = "tls"
	ReasonRedirect  = "redirect"
	ReasonStatus    = "status"
	ReasonForbidden = "forbidden"
	ReasonSize      = "size"
	ReasonContent   = "content"
	ReasonOther     = "other"
)

var errTimeout = errors.New("the time of the call is over")

// failure is an error with a reason.
type failure struct {
	reason string
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Reason returns what kind of error a call came to: one of few words, for metrics.
func Reason(err error) string {
	var f *failure
	if errors.As(err, &f) {
		return f.reason
	}
	if errors.As(classify(err), &f) {
		return f.reason
	}
	return ReasonOther
}

// classify gives an error of a transport a reason.
func classify(err error) error {
	var known *failure
	var blocked *BlockedError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var authority x509.UnknownAuthorityError
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &blocked):
		return &failure{ReasonBlocked, blocked}
	case errors.As(err, &verification), errors.As(err, &record), errors.As(err, &alert), errors.As(err, &authority):
		return &failure{ReasonTLS, err}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return &failure{ReasonForbidden, err}
	case apierrors.ReasonForError(err) != "":
		return &failure{ReasonStatus, err}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{ReasonTimeout, err}
	case errors.As(err, &op), errors.As(err, &dns):
		return &failure{ReasonConnect, err}
	default:
		return &failure{ReasonOther, err}
	}
}

// usualTypes are the types of content that errors name. They name no others: a message can be read by
// more people than the answer.
var usualTypes = []string{"application/json", "application/xml", "text/html", "text/plain", "text/xml"}

// checkJSON says of what kind an answer is that is not JSON: so a login page is recognized.
func checkJSON(data []byte, contentType string) error {
	if json.Valid(data) {
		return nil
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return &failure{ReasonContent, errors.New("the answer is empty, not JSON")}
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || !slices.Contains(usualTypes, kind) {
		kind = "of no usual type"
	}
	return &failure{ReasonContent, fmt.Errorf("the answer is not JSON; its content type says %s, and it has %d bytes", kind, len(data))}
}
