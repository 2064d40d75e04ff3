// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package apiserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

// BenchmarkWrites sends reports of 17 results to a server's handlers, without a connection, one after the other.
// cpu-ns is the processor time of all threads, which says more on a busy machine.
func BenchmarkWrites(b *testing.B) {
	server := startServer(b, "sqlite://"+filepath.Join(b.TempDir(), "docket.db")+"?synchronous=normal")
	kind := testkit.Must(sample.KindOf("PolicyReport"))(b)
	bodies := make([]map[string]any, 16)
	for i := range bodies {
		bodies[i] = sample.Cluster{Seed: 1, Now: time.Now()}.Report(kind, i, 17).Object
	}
	var created int
	create := func(b *testing.B) (string, []byte) {
		name := fmt.Sprintf("report-%d", created)
		created++
		metadata := bodies[created%len(bodies)]["metadata"].(map[string]any) // A sample has metadata.
		metadata["name"], metadata["namespace"] = name, "a"
		metadata["annotations"] = map[string]any{"example.com/count": "0"}
		body := encode(b, bodies[created%len(bodies)])
		return reportsPath("a", name), write(b, server.Generic.Handler, http.MethodPost, reportsPath("a", ""), body)
	}
	b.Run("create", func(b *testing.B) {
		measure(b, func() { create(b) })
	})
	b.Run("update-metadata", func(b *testing.B) {
		path, live := create(b)
		var count int
		annotation := func() []byte { return fmt.Appendf(nil, `"example.com/count":"%d"`, count) }
		measure(b, func() {
			before := annotation()
			count++
			live = write(b, server.Generic.Handler, http.MethodPut, path, bytes.Replace(live, before, annotation(), 1))
		})
	})
	b.Run("update-result", func(b *testing.B) {
		path, live := create(b)
		words := [][]byte{[]byte(`"result":"pass"`), []byte(`"result":"fail"`)}
		var count int
		measure(b, func() {
			count++
			live = bytes.Replace(live, words[count%2], words[1-count%2], 1)
			live = write(b, server.Generic.Handler, http.MethodPut, path, live)
		})
	})
}

// measure runs something and says what processor time it takes.
func measure(b *testing.B, do func()) {
	b.ReportAllocs()
	start := processorTime(b)
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	testkit.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func encode(b *testing.B, value any) []byte {
	return testkit.Must(json.Marshal(value))(b)
}

func write(b *testing.B, handler http.Handler, method, path string, body []byte) []byte {
	request := httptest.NewRequestWithContext(b.Context(), method, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+testToken)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if recorder.Code >= http.StatusMultipleChoices {
		b.Fatalf("%s %s: %d %s", method, path, recorder.Code, recorder.Body)
	}
	return recorder.Body.Bytes()
}
