// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/jellydator/ttlcache/v3"
	"golang.org/x/sync/singleflight"
)

const (
	// DefaultAge is how long answers are used.
	DefaultAge = 10 * time.Minute
	// DefaultTimeout is how long an answer may take.
	DefaultTimeout = 10 * time.Second

	// missingAge is how long it counts that something is not there: signatures follow their image.
	missingAge = time.Minute
	// failureAge is how long a registry that fails is not asked for the same; for anything, if it
	// does not answer at all.
	failureAge = 30 * time.Second
	// maxAnswer is how many bytes an answer may have. Attestations are the largest.
	maxAnswer = 32 << 20
	// maxKept is how many bytes all answers that are kept may have, and maxKeptAnswer one of them.
	maxKept       = 64 << 20
	maxKeptAnswer = 8 << 20
	// answerBytes is what an answer takes beside its body, headers included.
	answerBytes = 2 << 10
	// maxAway is how many registries are remembered that don't answer.
	maxAway      = 1000
	maxRedirects = 3
	dialTimeout  = 5 * time.Second
)

// apiPrefix is that of all paths of registries but those that give tokens.
const apiPrefix = "/v2/"

// Config is what a [Client] works with. The zero Config is good.
type Config struct {
	// Control, if not nil, decides to which addresses connections may be made, as that of a dialer.
	Control func(network, address string, connection syscall.RawConn) error
	// Age is how long answers are used; [DefaultAge] if zero.
	Age time.Duration
	// Timeout is how long an answer may take; [DefaultTimeout] if zero.
	Timeout time.Duration
}

// Client asks registries and keeps their answers. It is safe for concurrent use.
type Client struct {
	age, timeout time.Duration
	http         *http.Client
	answers      *ttlcache.Cache[string, *answer]
	// away has the errors of registries that don't answer.
	away    *ttlcache.Cache[string, error]
	flights singleflight.Group
}

// answer is what a registry has said. It never changes.
type answer struct {
	status int
	header http.Header
	body   []byte
	// length is that of the body, which answers to HEAD don't have.
	length int64
	// err is set instead if the answer can't be used.
	err error
}

// NewClient returns a client that has asked nothing yet.
func NewClient(config Config) *Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: config.Control}
	return &Client{
		age: cmp.Or(config.Age, DefaultAge), timeout: cmp.Or(config.Timeout, DefaultTimeout),
		http: &http.Client{
			CheckRedirect: redirect,
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				DialContext:         dialer.DialContext,
				ForceAttemptHTTP2:   true,
				IdleConnTimeout:     time.Minute,
				TLSHandshakeTimeout: dialTimeout,
			},
		},
		answers: ttlcache.New(
			ttlcache.WithDisableTouchOnHit[string, *answer](),
			ttlcache.WithMaxCost(maxKept, func(item ttlcache.CostItem[string, *answer]) uint64 {
				return uint64(len(item.Key) + len(item.Value.body) + answerBytes)
			}),
		),
		away: ttlcache.New(ttlcache.WithDisableTouchOnHit[string, error](), ttlcache.WithCapacity[string, error](maxAway)),
	}
}

var errRedirect = errors.New("it redirects too often, or from https to http")

// redirect is asked before each redirect. Registries keep large answers elsewhere.
func redirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || via[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return errRedirect
	}
	return nil
}

var errWrites = errors.New("policies write nothing to registries")

// ask returns the answer to a request, which may be an earlier one. Those who have other credentials
// must have another scope.
func (c *Client) ask(scope string, request *http.Request) (*answer, error) {
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	if !strings.HasPrefix(request.URL.Path, apiPrefix) {
		// A token: it is not kept, since it expires.
		return c.fetch(request.Context(), request)
	}
	if !reads {
		return nil, errWrites
	}
	if request.Header.Get("Range") != "" {
		return c.fetch(request.Context(), request)
	}
	key := strings.Join([]string{scope, request.Method, request.URL.String(), strings.Join(request.Header.Values("Accept"), ",")}, "\x00")
	if item := c.answers.Get(key); item != nil {
		requests.WithLabelValues(resultKept).Inc()
		return item.Value(), item.Value().err
	}
	// Who asks first may go before the answer is there, and others wait for it.
	flight := c.flights.DoChan(key, func() (any, error) {
		out, err := c.fetch(context.WithoutCancel(request.Context()), request)
		if err == nil {
			c.keep(key, request.URL.Path, out)
		}
		return out, err
	})
	select {
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	case result := <-flight:
		out, _ := result.Val.(*answer)
		if result.Err == nil {
			result.Err = out.err
		}
		return out, result.Err
	}
}

// keep keeps an answer as long as it is good.
func (c *Client) keep(key, path string, out *answer) {
	var age time.Duration
	switch {
	case out.err != nil || out.status >= http.StatusInternalServerError || out.status == http.StatusTooManyRequests:
		age = failureAge
	case out.status == http.StatusNotFound:
		age = missingAge
	case out.status == http.StatusOK, path == apiPrefix && out.status == http.StatusUnauthorized: // It says where tokens are.
		age = c.age
	default:
		return // Such as that a token has expired.
	}
	if len(out.body) <= maxKeptAnswer {
		c.answers.Set(key, out, min(age, c.age))
	}
}

// fetch asks the registry, unless it has not answered lately.
func (c *Client) fetch(ctx context.Context, request *http.Request) (*answer, error) {
	host := request.URL.Scheme + "://" + request.URL.Host
	if item := c.away.Get(host); item != nil {
		requests.WithLabelValues(resultAway).Inc()
		return nil, item.Value()
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer in %s", c.timeout))
	defer cancel()
	out, err := c.send(request.Clone(limited))
	switch {
	case err == nil:
		requests.WithLabelValues(resultOf(out)).Inc()
		return out, nil
	case errors.Is(err, errRedirect):
		requests.WithLabelValues(resultFailed).Inc()
		return &answer{err: err}, nil
	case ctx.Err() != nil: // The one who asks has gone: that says nothing about the registry.
		return nil, err
	case limited.Err() != nil:
		err = context.Cause(limited)
	}
	requests.WithLabelValues(resultFailed).Inc()
	err = fmt.Errorf("registry %s: %w", request.URL.Host, err)
	c.away.Set(host, err, min(failureAge, c.age))
	return nil, err
}

// send reads the whole answer. Errors have no address that a redirect has led to: it may have a secret.
func (c *Client) send(request *http.Request) (*answer, error) {
	response, err := c.http.Do(request) // Policies name the registries; the transport refuses addresses that must not be reached.
	if err != nil {
		var located *url.Error
		if errors.As(err, &located) {
			err = located.Err
		}
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // Nothing is lost: it is read to its end.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	out := &answer{status: response.StatusCode, header: response.Header, body: body, length: response.ContentLength}
	if len(body) > maxAnswer {
		return &answer{err: fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)}, nil
	}
	return out, nil
}
