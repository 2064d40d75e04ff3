// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary stand in for an extension server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// serve is `serve MODE PORT CERT KEY PROXYCA DIR`.
func serve(arguments []string) int {
	mode, port, certificate, key, proxyCA, dir := arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]
	fmt.Printf("pid=%d dir=%s kubeconfig=%s\n", os.Getpid(), dir, os.Getenv("KUBECONFIG"))
	if mode == "broken" {
		fmt.Fprintln(os.Stderr, "the database is gone")
		return 3
	}
	crash := make(chan os.Signal, 1)
	signal.Notify(crash, syscall.SIGUSR2)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	authority, readErr := os.ReadFile(proxyCA)
	listener, listenErr := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil || readErr != nil || listenErr != nil {
		fmt.Fprintln(os.Stderr, err, readErr, listenErr)
		return 1
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	server := httptest.NewUnstartedServer(extensionHandler(mode))
	server.Listener = listener
	server.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots, MinVersion: tls.VersionTLS12}
	if mode != "own certificate" {
		server.TLS.Certificates = []tls.Certificate{pair}
	}
	server.StartTLS()
	select {
	case <-crash:
		return 5
	case <-end:
		fmt.Println("ending in order")
		return 0
	case <-time.After(10 * time.Minute): // Of a test that was killed.
		return 1
	}
}

// extensionHandler serves an empty list of things to the aggregator. It says so on its
// output if it is shown a token. The group has another name for the mode "other".
func extensionHandler(mode string) http.Handler {
	mux := http.NewServeMux()
	answers := map[string]string{
		"/healthz":                               `ok`,
		"/apis":                                  `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"things.example.com","versions":[{"groupVersion":"things.example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"things.example.com/v1","version":"v1"}}]}`,
		"/apis/things.example.com/v1":            `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"things.example.com/v1","resources":[{"name":"things","singularName":"thing","namespaced":false,"kind":"Thing","verbs":["list"]}]}`,
		"/openapi/v3/apis/things.example.com/v1": `{"openapi":"3.0.0","info":{"title":"Things","version":"v1"},"paths":{"/apis/things.example.com/v1/things":{}}}`,
		"/apis/things.example.com/v1/things":     `{"kind":"ThingList","apiVersion":"things.example.com/v1","metadata":{},"items":[]}`,
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			fmt.Println("LEAKED a token")
		}
		path := r.URL.Path
		if mode == "other" {
			path = strings.Replace(path, "others.example.com", "things.example.com", 1)
		}
		answer, ok := answers[path]
		if mode == "other" {
			answer = strings.ReplaceAll(answer, "things.example.com", "others.example.com")
		}
		switch {
		case !ok:
			http.NotFound(w, r)
		case r.URL.Path != "/healthz" && (len(r.TLS.PeerCertificates) == 0 || r.Header.Get("X-Remote-User") == ""):
			http.Error(w, "who are you?", http.StatusForbidden)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
		}
	})
	return mux
}
