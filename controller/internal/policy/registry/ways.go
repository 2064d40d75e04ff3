// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// way says where a request may lead. The author of a pod names the registry, which says where its answers point to.
type way struct {
	// public lets connections be made to public addresses only, and to those that are allowed beside.
	public bool
	// plain lets registries be asked over plain HTTP.
	plain bool
}

var (
	errRedirect = errors.New("it redirects too often, or not to https")
	// errElsewhere says nothing about the registry itself.
	errElsewhere = errors.New("where it redirects to")
	errWrites    = errors.New("policies write nothing to registries")
	errPlain     = errors.New("it is asked over https only")
)

// transports are the ways out of the process.
type transports struct {
	open, public http.RoundTripper
	// check says whether an address is public, or allowed; nil if all are.
	check func(netip.Addr) error
	// proxy says which proxy a request goes to.
	proxy func(*http.Request) (*url.URL, error)
}

func newTransports(config Config) transports {
	out := transports{check: config.Public, proxy: http.ProxyFromEnvironment}
	out.open = transport(http.ProxyFromEnvironment, config.Control)
	out.public = transport(nil, func(network, address string, connection syscall.RawConn) error {
		if config.Public != nil {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address %q: %w", address, err)
			}
			if err := config.Public(target.Addr()); err != nil {
				return err
			}
		}
		if config.Control != nil {
			return config.Control(network, address, connection)
		}
		return nil
	})
	return out
}

func transport(proxy func(*http.Request) (*url.URL, error), control func(network, address string, connection syscall.RawConn) error) http.RoundTripper {
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, Control: control}).DialContext,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        time.Minute,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeaders,
	}
}

// send sends a request over a way. A proxy looks up names and connects for itself: what can be checked before is the
// name, and an address in its place.
func (t *transports) send(request *http.Request, public bool) (*http.Response, error) {
	if !public || t.check == nil {
		return t.open.RoundTrip(request)
	}
	proxy, err := t.proxy(request)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return t.public.RoundTrip(request)
	}
	if err := t.checkName(request.URL.Hostname()); err != nil {
		return nil, err
	}
	return t.open.RoundTrip(request)
}

// checkName refuses names and addresses that nobody has in public.
func (t *transports) checkName(host string) error {
	if address, err := netip.ParseAddr(host); err == nil {
		return t.check(address)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	for _, suffix := range []string{".svc", ".local", ".localhost", ".internal"} {
		if strings.HasSuffix(name, suffix) {
			return fmt.Errorf("%s is not a public name, and there is a proxy that would look it up", host)
		}
	}
	if !strings.Contains(name, ".") {
		return fmt.Errorf("%s is not a full name, and there is a proxy that would look it up", host)
	}
	return nil
}

// follow sends a request, and follows redirects: registries keep large answers elsewhere. Where they lead to another
// host, it has to be a public one, and gets no credentials.
func (c *Client) follow(ctx context.Context, request *http.Request, w way) (*http.Response, error) {
	public := w.public
	for hop := 0; ; hop++ {
		response, err := c.transports.send(request, public)
		if err != nil && hop > 0 {
			return nil, fmt.Errorf("%w: %w", errElsewhere, err)
		}
		if err != nil {
			return nil, err
		}
		if response.StatusCode < http.StatusMultipleChoices || response.StatusCode >= http.StatusBadRequest || response.Header.Get("Location") == "" {
			return response, nil
		}
		_ = response.Body.Close() // Nothing of it is used.
		next, err := response.Location()
		if err != nil || hop >= maxRedirects || next.Scheme != "https" && (next.Scheme != "http" || request.URL.Scheme != "http") {
			return nil, errRedirect
		}
		header := request.Header.Clone()
		if next.Host != request.URL.Host {
			public = true
			header.Del("Authorization")
			header.Del("Cookie")
		}
		if request, err = http.NewRequestWithContext(ctx, request.Method, next.String(), nil); err != nil {
			return nil, errRedirect
		}
		request.Header = header
	}
}
