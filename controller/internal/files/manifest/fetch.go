// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// fetchTime bounds a download with all its redirects.
	fetchTime = time.Minute
	// maxRedirects is the usual number.
	maxRedirects = 10
)

// Fetcher returns a function for [Loader.Fetch] that downloads files over HTTPS, with transport, or the default one if it is nil. Redirects to anything but HTTPS are
// refused, as are addresses with a password, which others on the machine could see in the list of processes.
func Fetcher(ctx context.Context, transport http.RoundTripper) func(address string) (io.ReadCloser, error) {
	client := &http.Client{
		Timeout: fetchTime, Transport: transport,
		CheckRedirect: func(r *http.Request, before []*http.Request) error {
			if len(before) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return checkAddress(r.URL)
		},
	}
	return func(address string) (io.ReadCloser, error) {
		parsed, err := url.Parse(address)
		if err == nil {
			err = checkAddress(parsed)
		}
		if err != nil {
			return nil, withoutAddress(err)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, withoutAddress(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, withoutAddress(err)
		}
		if response.StatusCode != http.StatusOK {
			return nil, errors.Join(fmt.Errorf("the server answers %s", response.Status), response.Body.Close())
		}
		return response.Body, nil
	}
}

func checkAddress(address *url.URL) error {
	switch {
	case address.Scheme != "https":
		return fmt.Errorf("%s:// is refused; use https://", address.Scheme)
	case address.User != nil:
		return errors.New("an address with a user or password is refused; download the file, and name that")
	}
	return nil
}

// withoutAddress drops the address from an error of net/http: the caller names it, and it may have a secret.
func withoutAddress(err error) error {
	var located *url.Error
	if errors.As(err, &located) {
		return located.Err
	}
	return err
}

// isAddress reports whether a path is an address.
func isAddress(path string) bool {
	return strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://")
}

// redacted is an address for people, without what may be a secret: a user, a password, and the query.
func redacted(address string) string {
	address, _, _ = strings.Cut(address, "?")
	before, after, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	host, path, _ := strings.Cut(after, "/")
	return before + "://" + host[strings.LastIndex(host, "@")+1:] + "/" + path
}
