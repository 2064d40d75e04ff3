// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	askInterval = 100 * time.Millisecond
	askTimeout  = 5 * time.Second
	// maxAnswer bounds what is read from a server that is not yet known to behave.
	maxAnswer = 4 << 20
	// refusals of a new server may be about what it hasn't read yet, for this long.
	refusalGrace = 15 * time.Second
)

// errRefused: the server does not answer anonymous requests.
var errRefused = errors.New("the server refuses to list its group versions")

// asker asks the server, over TLS with the certificate that was made for it, and
// without the user's credentials.
type asker struct {
	base      string
	state     string // folder that was looked into for the aggregator's certificate
	anonymous *http.Client
	proxy     *http.Client // asks as the aggregator does; nil where that can't be done
}

func newAsker(p *workspace, e *endpoint) (*asker, error) {
	roots := x509.NewCertPool()
	roots.AddCert(p.ca.Certificate)
	config := &tls.Config{RootCAs: roots, ServerName: p.serverName, MinVersion: tls.VersionTLS12}
	a := &asker{base: "https://" + p.address(), state: e.state, anonymous: newClient(config)}
	certificate, key, ok := e.proxyCertificate()
	if !ok {
		return a, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the aggregator's certificate in %s: %w", e.state, err)
	}
	config = config.Clone()
	config.Certificates = []tls.Certificate{pair}
	a.proxy = newClient(config)
	return a, nil
}

func newClient(config *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
		Timeout:   askTimeout,
		// A new server has no reason to redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// waitUntilAnswers returns when the server says that it is healthy, or that it has no
// /healthz or does not show it. It does not ask /readyz: some servers are ready only after their
// first use.
func (a *asker) waitUntilAnswers(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, askInterval, true, func(ctx context.Context) (bool, error) {
		code, body, err := a.get(ctx, a.anonymous, "/healthz")
		switch {
		case untrusted(err):
			return false, fmt.Errorf("the server does not present the certificate that was created for it: %w; pass it with {cert} and {key}", err)
		case err != nil:
			last = err
		case code >= http.StatusInternalServerError:
			last = fmt.Errorf("/healthz answers %d: %s", code, shorten(body))
		default:
			return true, nil
		}
		return false, nil
	})
	if err != nil && last != nil && ctx.Err() != nil {
		return errors.Join(err, last)
	}
	return err
}

// untrusted reports whether the server has a certificate other than the one it was given.
func untrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.As(err, &unknown) || errors.As(err, &name)
}

// groupVersions asks the server what it serves. The error is errRefused if it does not
// answer unknown clients.
func (a *asker) groupVersions(ctx context.Context) ([]schema.GroupVersion, error) {
	limited, cancel := context.WithTimeout(ctx, refusalGrace)
	defer cancel()
	var last error
	var body []byte
	err := wait.PollUntilContextCancel(limited, askInterval, true, func(ctx context.Context) (bool, error) {
		code, answer, err := a.get(ctx, a.best(), "/apis")
		switch {
		case err != nil:
			last = err
		case code == http.StatusUnauthorized || code == http.StatusForbidden:
			last = errRefused
			// With no name to give, a second question has the same answer.
			return a.proxy == nil, nil
		case code != http.StatusOK:
			last = fmt.Errorf("/apis answers %d: %s", code, shorten(answer))
		default:
			last, body = nil, answer
			return true, nil
		}
		return false, nil
	})
	if last != nil {
		return nil, last
	}
	if err != nil {
		return nil, err
	}
	return parseGroups(body)
}

func parseGroups(body []byte) ([]schema.GroupVersion, error) {
	var list metav1.APIGroupList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("/apis of the server is not a list of API groups: %w", err)
	}
	var versions []schema.GroupVersion
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			if group.Name != "" && version.Version != "" {
				versions = append(versions, schema.GroupVersion{Group: group.Name, Version: version.Version})
			}
		}
	}
	if len(versions) == 0 {
		return nil, errors.New("/apis of the server lists no group versions; name what it serves with --group-version")
	}
	return versions, nil
}

// best returns the client that gets the fullest answers.
func (a *asker) best() *http.Client {
	if a.proxy == nil {
		return a.anonymous
	}
	return a.proxy
}

// get asks for a path. The proxy's client is the aggregator itself.
func (a *asker) get(ctx context.Context, client *http.Client, path string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", "application/json")
	if client == a.proxy {
		// Who the aggregator is when it asks for itself, in Kubernetes as in Docket.
		request.Header.Set("X-Remote-User", "system:kube-aggregator")
		request.Header.Set("X-Remote-Group", "system:masters")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, nil, err
	}
	if len(body) > maxAnswer {
		return 0, nil, fmt.Errorf("the answer to %s is larger than %d bytes", path, maxAnswer)
	}
	return response.StatusCode, body, nil
}

func shorten(body []byte) string { return string(body[:min(len(body), keptWidth)]) }
