// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// MaxBody bounds the body of a request, in bytes: questions are small.
const MaxBody = 64 << 10

// forwarded are the headers that pass in each direction. No others do: what a page could send must not become who asks.
var (
	forwardedRequest  = []string{"Accept", "Content-Type"}
	forwardedResponse = []string{"Content-Type", "Retry-After", "Warning"}
)

// newProxy returns a handler that sends requests to the server of the cluster. The reason for a failure names
// addresses, so only the browser of the person who started the console sees it.
func newProxy(transport http.RoundTripper, server *url.URL, forTeam bool) http.Handler {
	return &httputil.ReverseProxy{
		Transport: transport,
		// The browser sees an answer that breaks off, and says so.
		ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: server.Scheme, Host: server.Host, Path: server.Path})
			r.Out.Header = pick(r.In.Header, forwardedRequest)
		},
		ModifyResponse: func(response *http.Response) error {
			response.Header = pick(response.Header, forwardedResponse)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			cause := err.Error()
			if forTeam {
				cause = "the log of the console says why"
				if r.Context().Err() == nil { // The browser waits.
					klog.FromContext(r.Context()).Error(err, "The cluster can't be asked")
				}
			}
			writeStatus(w, http.StatusBadGateway, metav1.StatusReasonServiceUnavailable, "the cluster can't be asked: "+cause)
		},
	}
}

// onlyAllowed passes short requests on that may go to the cluster.
func onlyAllowed(kinds reported, proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !kinds.allow(r) {
			writeStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the console does not forward this request")
			return
		}
		if r.ContentLength > MaxBody || r.ContentLength < 0 {
			writeStatus(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, "the question is too long")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		proxy.ServeHTTP(w, r)
	})
}

func pick(from http.Header, names []string) http.Header {
	to := http.Header{}
	for _, name := range names {
		if values := from.Values(name); len(values) > 0 {
			to[name] = values
		}
	}
	return to
}

// writeStatus answers as the API of a cluster does.
func writeStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	writeJSON(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // An error says that the browser has gone.
}
