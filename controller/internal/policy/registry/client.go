// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jellydator/ttlcache/v3"
	"golang.org/x/sync/singleflight"

	"github.com/docket-project/docket/controller/internal/policy/bounds"
)

const (
	// DefaultAge is how long answers are used.
	DefaultAge = 10 * time.Minute
	// DefaultTimeout is how long an answer may take.
	DefaultTimeout = 10 * time.Second

	// MaxManifest is how many bytes a manifest may have.
	MaxManifest = 4 << 20
	// MaxBlob is how many bytes a blob may have: a configuration, a layer with a signature.
	MaxBlob = 8 << 20
	// MaxToken is how many bytes the answer of a token server may have.
	MaxToken = 1 << 20

	// missingAge is how long the answer counts that something is missing: signatures follow their image.
	missingAge = time.Minute
	// failureAge is how long a registry that fails is not asked for the same; for anything, if it does not answer at all.
	failureAge = 30 * time.Second
	// maxHeaders is how many bytes the headers of an answer may have.
	maxHeaders = 64 << 10
	// maxRefusal is how many bytes of an answer that is no success are looked at.
	maxRefusal = 64 << 10
	// decodings is how often the libraries decode an answer.
	decodings = 3
	// maxKept is how many bytes all answers that are kept may have, and maxKeptAnswer one of them.
	maxKept       = 32 << 20
	maxKeptAnswer = 1 << 20
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
	// Public, if not nil, returns an error for addresses that are not public, nor allowed all the same. It is asked where
	// a registry's answer leads to another host, and for all requests of namespaced policies.
	Public func(netip.Addr) error
	// Age is how long answers are used; [DefaultAge] if zero.
	Age time.Duration
	// Timeout is how long an answer may take; [DefaultTimeout] if zero.
	Timeout time.Duration
}

// Client asks registries and keeps their answers. It is safe for concurrent use.
type Client struct {
	age, timeout time.Duration
	transports   transports
	// reading is what is read at one time.
	reading bounds.Budget
	answers *ttlcache.Cache[string, *answer]
	// away has the errors of registries that don't answer.
	away    *ttlcache.Cache[string, error]
	flights singleflight.Group
}

// answer is what a registry has said. It never changes.
type answer struct {
	status int
	header http.Header
	body   []byte
	// length is the length of the body, which answers to HEAD don't have.
	length int64
	// cost is what it takes to decode it.
	cost int64
	// err is set instead if the answer can't be used.
	err error
}

// NewClient returns a client that has asked nothing yet.
func NewClient(config Config) *Client {
	return &Client{
		age: cmp.Or(config.Age, DefaultAge), timeout: cmp.Or(config.Timeout, DefaultTimeout),
		transports: newTransports(config),
		answers: ttlcache.New(
			ttlcache.WithDisableTouchOnHit[string, *answer](),
			ttlcache.WithMaxCost(maxKept, func(item ttlcache.CostItem[string, *answer]) uint64 {
				return uint64(len(item.Key) + len(item.Value.body) + answerBytes)
			}),
		),
		away: ttlcache.New(ttlcache.WithDisableTouchOnHit[string, error](), ttlcache.WithCapacity[string, error](maxAway)),
	}
}

// ask returns the answer to a request, which may be an earlier one. Other credentials need another scope.
func (c *Client) ask(scope string, w way, request *http.Request) (*answer, error) {
	if request.URL.Scheme != "https" && !w.plain {
		return nil, fmt.Errorf("registry %s: %w", request.URL.Host, errPlain)
	}
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	if !strings.HasPrefix(request.URL.Path, apiPrefix) {
		// A token: it is not kept, since it expires.
		return c.unkept(request, w)
	}
	if !reads {
		return nil, errWrites
	}
	if request.Header.Get("Range") != "" {
		return c.unkept(request, w)
	}
	key := strings.Join([]string{scope, fmt.Sprint(w), request.Method, request.URL.String(), strings.Join(request.Header.Values("Accept"), ",")}, "\x00")
	if item := c.answers.Get(key); item != nil {
		requests.WithLabelValues(resultKept).Inc()
		return item.Value(), item.Value().err
	}
	// Who asks first may go before the answer is there, and others wait for it.
	flight := c.flights.DoChan(key, func() (any, error) {
		out, err := c.fetch(context.WithoutCancel(request.Context()), request, w)
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

// unkept asks for what nobody else gets.
func (c *Client) unkept(request *http.Request, w way) (*answer, error) {
	out, err := c.fetch(request.Context(), request, w)
	if err == nil {
		err = out.err
	}
	return out, err
}

// keep keeps an answer as long as it is good.
func (c *Client) keep(key, path string, out *answer) {
	var age time.Duration
	switch {
	case bounds.Busy(out.err):
		return
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
func (c *Client) fetch(ctx context.Context, request *http.Request, w way) (*answer, error) {
	host := fmt.Sprintf("%v %s://%s", w, request.URL.Scheme, request.URL.Host)
	if item := c.away.Get(host); item != nil {
		requests.WithLabelValues(resultAway).Inc()
		return nil, item.Value()
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer in %s", c.timeout))
	defer cancel()
	out, err := c.send(limited, request.Clone(limited), w)
	switch {
	case err == nil:
		requests.WithLabelValues(resultOf(out)).Inc()
		return out, nil
	case ctx.Err() != nil: // The one who asks has gone: that says nothing about the registry.
		return nil, err
	case errors.Is(err, errRedirect), errors.Is(err, errElsewhere):
		requests.WithLabelValues(resultFailed).Inc()
		return &answer{err: fmt.Errorf("registry %s: %w", request.URL.Host, err)}, nil
	case limited.Err() != nil:
		err = context.Cause(limited)
	}
	requests.WithLabelValues(resultFailed).Inc()
	err = fmt.Errorf("registry %s: %w", request.URL.Host, err)
	c.away.Set(host, err, min(failureAge, c.age))
	return nil, err
}

// send reads the whole answer. Errors have no address that a redirect has led to: it may have a secret.
func (c *Client) send(ctx context.Context, request *http.Request, w way) (*answer, error) {
	response, err := c.follow(ctx, request, w)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // Nothing is lost: it is read to its end.
	what, limit := boundOf(request.URL.Path)
	if response.ContentLength > limit && request.Method != http.MethodHead {
		return &answer{err: bounds.TooLong(what, limit)}, nil
	}
	ctx, account := c.reading.Open(ctx)
	defer account.Close()
	read, err := bounds.Read(ctx, response.Body, limit, what)
	if bounds.Exceeded(err) {
		return &answer{err: err}, nil
	}
	if err != nil {
		return nil, err
	}
	body := read.Bytes()
	out := &answer{status: response.StatusCode, header: response.Header, body: body, length: response.ContentLength}
	if out.status < http.StatusOK || out.status >= http.StatusMultipleChoices {
		out.header, out.body = refusal(response.Header, body)
		out.length = int64(len(out.body))
	}
	out.cost = decodings * new(bounds.Scanner).Cost(out.body)
	return out, nil
}

// boundOf returns what is read from a path, and how many bytes it may have.
func boundOf(path string) (what string, limit int64) {
	switch {
	case !strings.HasPrefix(path, apiPrefix):
		return "the answer with a token", MaxToken
	case strings.Contains(path, "/blobs/"):
		return "a configuration or an attestation", MaxBlob
	default:
		return "a manifest", MaxManifest
	}
}

// refusal returns the harmless part of an answer that is no success. The author of a pod can name any server as its
// registry, and reads in a report what the answer leads to.
func refusal(header http.Header, body []byte) (http.Header, []byte) {
	kept := http.Header{"Content-Type": {"application/json"}}
	if challenge := header.Values("Www-Authenticate"); len(challenge) > 0 {
		kept["Www-Authenticate"] = challenge
	}
	var said struct {
		Errors []struct {
			Code string `json:"code"`
		} `json:"errors"`
	}
	if len(body) > maxRefusal || json.Unmarshal(body, &said) != nil {
		said.Errors = nil
	}
	said.Errors = slices.DeleteFunc(said.Errors, func(e struct {
		Code string `json:"code"`
	}) bool {
		return !slices.Contains(codes, e.Code)
	})
	if len(said.Errors) == 0 {
		return kept, nil
	}
	out, _ := json.Marshal(said) //nolint:errchkjson // They are texts.
	return kept, out
}

// codes are the error codes in the specification of distributions and in Docker's.
var codes = []string{
	"BLOB_UNKNOWN", "BLOB_UPLOAD_INVALID", "BLOB_UPLOAD_UNKNOWN", "DIGEST_INVALID", "MANIFEST_BLOB_UNKNOWN", "MANIFEST_INVALID", "MANIFEST_UNKNOWN",
	"NAME_INVALID", "NAME_UNKNOWN", "SIZE_INVALID", "UNAUTHORIZED", "DENIED", "UNSUPPORTED", "TOOMANYREQUESTS", "UNKNOWN", "UNAVAILABLE",
}
