// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
)

// writeError answers with a Status, in the form that the client accepts.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, aggregatorscheme.Codecs, schema.GroupVersion{}, w, r)
}

// statusError is for codes for which apimachinery has no constructor.
func statusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// retrySeconds is how long clients are asked to wait after a 503 of Unavailable.
const retrySeconds = 1

// Unavailable is a 503 that may be retried.
func Unavailable(format string, values ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: fmt.Sprintf(format, values...), Details: &metav1.StatusDetails{RetryAfterSeconds: retrySeconds},
	}}
}

func badGateway(message string) error {
	return statusError(http.StatusBadGateway, "BadGateway", message)
}

// classify turns an error between this process and an extension server into a Status.
func classify(b *backend, err error) error {
	message := fmt.Sprintf("the server of %s: %s", b.groupVersion(), describe(err))
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return statusError(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, message)
	case isCertificate(err):
		return badGateway(message)
	case errors.As(err, &op) && op.Op == "dial":
		return apierrors.NewServiceUnavailable(message)
	}
	return badGateway(message)
}

// describe describes an error of a connection so that it says what to fix, in the same words
// each time: it names no local port.
func describe(err error) string {
	var (
		verification *tls.CertificateVerificationError
		alert        tls.AlertError
		record       tls.RecordHeaderError
		op           *net.OpError
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return "did not answer in time"
	case errors.As(err, &verification):
		return describeCertificate(verification.Err)
	case isCertificate(err):
		return describeCertificate(err)
	case errors.As(err, &alert):
		return fmt.Sprintf("refused the TLS connection (%v); check that it trusts the authority of the proxy's client certificate", alert)
	case errors.As(err, &record):
		return "does not speak TLS; extension servers must serve https"
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Sprintf("can't connect to %v: %v", op.Addr, op.Err)
	case errors.As(err, &op):
		return fmt.Sprintf("the connection broke (%s): %v", op.Op, op.Err)
	}
	return err.Error()
}

func describeCertificate(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknown):
		return "certificate signed by an unknown authority; put that authority into spec.caBundle of the APIService"
	case errors.As(err, &invalid):
		return fmt.Sprintf("certificate is not valid: %v", invalid)
	}
	// A wrong name: the text has the names in the certificate and the expected one.
	return fmt.Sprintf("certificate: %v", err)
}

func isCertificate(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		hostname     x509.HostnameError
		unknown      x509.UnknownAuthorityError
		invalid      x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &hostname) || errors.As(err, &unknown) || errors.As(err, &invalid)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
