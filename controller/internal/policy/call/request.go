// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// Request is what to ask, and whom: a service (URL) or the cluster's own API (Path).
type Request struct {
	URL, Path string
	// Method is GET or POST; empty is GET.
	Method string
	// Headers are for services only.
	Headers []Header
	// Data are the members of the object that is posted.
	Data []Datum
	// Body is posted as it is instead, if it is not nil.
	Body []byte
	// CABundle has PEM certificates that the service's one has to be signed by; empty for those of the system.
	CABundle string
}

// Header is a header of a request. Its value may be secret.
type Header struct{ Key, Value string }

// Datum is a member of the object that is posted. Its value may be secret.
type Datum struct {
	Key   string
	Value any
}

// FieldError says which field of a [Request] is wrong, as policies and entries call it.
type FieldError struct {
	Field string
	err   error
}

// Error implements error.
func (e *FieldError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong.
func (e *FieldError) Unwrap() error { return e.err }

// The fields of a [FieldError].
const (
	FieldURL      = "url"
	FieldPath     = "urlPath"
	FieldMethod   = "method"
	FieldHeaders  = "headers"
	FieldData     = "data"
	FieldCABundle = "caBundle"
)

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, err: fmt.Errorf(format, args...)}
}

// Check returns a [*FieldError] if the request can't be made.
func (r *Request) Check() error {
	_, err := r.target()
	if err != nil {
		return err
	}
	switch {
	case r.Method != "" && r.Method != http.MethodGet && r.Method != http.MethodPost:
		return wrong(FieldMethod, "%q is neither GET nor POST", r.Method)
	case (len(r.Data) > 0 || r.Body != nil) && r.Method != http.MethodPost:
		return wrong(FieldData, "is only sent by POST: set method to POST, or remove data")
	case r.Path != "" && (len(r.Headers) > 0 || r.CABundle != ""):
		return wrong(FieldPath, "is asked of the cluster's own API, which takes no headers and no caBundle: remove them, or give a url")
	}
	if r.Path != "" {
		// Only administrators of the cluster make entries: they may read everything, and write nothing.
		if err := (reach.Scope{}).Check(cmp.Or(r.Method, http.MethodGet), r.Path); err != nil {
			return wrong(FieldPath, "%w", err)
		}
	}
	for _, header := range r.Headers {
		if !isToken(header.Key) {
			return wrong(FieldHeaders, "%q is not the name of a header", header.Key)
		}
		if strings.ContainsAny(header.Value, "\r\n\x00") {
			return wrong(FieldHeaders, "the value of %s has a line break: remove it", header.Key)
		}
	}
	if _, err := r.body(); err != nil {
		return err
	}
	_, err = r.roots()
	return err
}

// target returns the parsed URL or path.
func (r *Request) target() (*url.URL, error) {
	if (r.URL == "") == (r.Path == "") {
		return nil, wrong(FieldURL, "give either a url or a urlPath")
	}
	if r.Path != "" {
		target, err := url.Parse(r.Path)
		if err != nil || !strings.HasPrefix(r.Path, "/") || target.Host != "" || strings.Contains(target.Path+"/", "/../") {
			return nil, wrong(FieldPath, "%q is not a path of the API: it begins with /api or /apis, as for kubectl get --raw", r.Path)
		}
		return target, nil
	}
	target, err := url.Parse(r.URL)
	if err != nil {
		var parsing *url.Error // Its text has the whole URL, which may have a password.
		if errors.As(err, &parsing) {
			err = parsing.Err
		}
		return nil, wrong(FieldURL, "is not a URL: %w", err)
	}
	if (target.Scheme != "https" && target.Scheme != "http") || target.Hostname() == "" {
		return nil, wrong(FieldURL, "is not like https://service.namespace/path")
	}
	return target, nil
}

// body returns what is posted; nil for GET.
func (r *Request) body() ([]byte, error) {
	if r.Method != http.MethodPost {
		return nil, nil
	}
	if r.Body != nil {
		return r.Body, nil
	}
	object := make(map[string]any, len(r.Data))
	for _, datum := range r.Data {
		object[datum.Key] = datum.Value
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, wrong(FieldData, "is not JSON: %w", err)
	}
	return data, nil
}

// roots returns nil for those of the system.
func (r *Request) roots() (*x509.CertPool, error) {
	if r.CABundle == "" {
		return nil, nil // As in tls.Config.
	}
	pool, found := x509.NewCertPool(), 0
	for rest := []byte(r.CABundle); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, wrong(FieldCABundle, "has a %q: only PEM blocks CERTIFICATE belong there", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, wrong(FieldCABundle, "certificate %d can't be read: %w", found+1, err)
		}
		pool.AddCert(certificate)
		found++
	}
	if found == 0 {
		return nil, wrong(FieldCABundle, "has no PEM certificate: it has to have -----BEGIN CERTIFICATE----- blocks")
	}
	return pool, nil
}

// isToken reports whether a text can be the name of a header.
func isToken(name string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return name != "" && strings.IndexFunc(name, other) < 0
}
