// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

// compressAbove is the size of lists that are sent as they are, in the library too.
const compressAbove = 128 << 10

var compressors = sync.Pool{New: func() any {
	// The only error is of a level that there isn't.
	compressor, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return compressor
}}

// withCompression compresses lists in the library's place, which takes twice the processor time for it with Go's gzip:
// clients of Kubernetes ask for compression by default. The library does not see that they did.
func withCompression(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || info.Verb != "list" || !acceptsGzip(r) {
			next.ServeHTTP(w, r)
			return
		}
		r = r.WithContext(r.Context())
		r.Header = r.Header.Clone()
		r.Header.Del("Accept-Encoding")
		list := &compressedList{out: w, status: http.StatusOK}
		next.ServeHTTP(list, r)
		// Not deferred: a list that is cut off by a panic must not end well.
		if err := list.close(); err != nil {
			klog.V(4).InfoS("The end of a list could not be sent", "err", err)
		}
	})
}

// acceptsGzip decides as the library does.
func acceptsGzip(r *http.Request) bool {
	for accepted := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(accepted) == "gzip" {
			return utilfeature.DefaultFeatureGate.Enabled(features.APIResponseCompression)
		}
	}
	return false
}

// compressedList keeps the beginning of an answer until it is known whether it is large enough.
type compressedList struct {
	out    http.ResponseWriter
	status int
	begin  []byte
	packed *gzip.Writer
}

func (l *compressedList) Header() http.Header { return l.out.Header() }

func (l *compressedList) WriteHeader(status int) { l.status = status }

func (l *compressedList) Write(p []byte) (int, error) {
	if l.packed == nil {
		if len(l.begin)+len(p) <= compressAbove {
			l.begin = append(l.begin, p...)
			return len(p), nil
		}
		l.Header().Set("Content-Encoding", "gzip")
		l.Header().Del("Content-Length")
		l.Header().Add("Vary", "Accept-Encoding")
		l.out.WriteHeader(l.status)
		l.packed, _ = compressors.Get().(*gzip.Writer)
		l.packed.Reset(l.out)
		begin := l.begin
		l.begin = nil
		if _, err := l.packed.Write(begin); err != nil {
			return 0, err
		}
	}
	return l.packed.Write(p)
}

// close ends the answer.
func (l *compressedList) close() error {
	if l.packed == nil {
		l.out.WriteHeader(l.status)
		_, err := l.out.Write(l.begin)
		return err
	}
	err := l.packed.Close()
	l.packed.Reset(nil)
	compressors.Put(l.packed)
	return err
}
