// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// peak is the most that the objects on the heap took while it ran, in bytes.
func peak(run func()) uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var most uint64
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	})
	run()
	close(stop)
	ended.Wait()
	return most
}

// TestManyFiles: 10,000 files are read and evaluated with progress on lines of their own, in a few hundred MB. It is
// not parallel: the heap is that of all tests.
func TestManyFiles(t *testing.T) {
	const (
		files = 10_000
		limit = 400 << 20
	)
	dir := writeFiles(t, map[string]string{"policy.yaml": labelPolicy})
	for i := range files {
		folder := filepath.Join(dir, "resources", fmt.Sprint(i%100))
		testkit.NoError(t, os.MkdirAll(folder, 0o700))
		text := strings.ReplaceAll(badPod, "name: bad", fmt.Sprintf("name: pod-%d", i))
		if i%10 > 0 {
			text = strings.ReplaceAll(goodPod, "name: good", fmt.Sprintf("name: pod-%d", i))
		}
		testkit.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i)+".yaml"), []byte(text), 0o600))
	}
	var got answer
	if most := peak(func() {
		got = command(t, "", "scan", "--policy", dir+"/policy.yaml", "--resource", dir+"/resources")
	}); most > limit {
		t.Errorf("the heap had %d MiB, more than %d MiB", most>>20, limit>>20)
	}
	if got.code != filescan.ExitFindings || !strings.Contains(got.err, "1 policy, 10000 resources: 9000 pass, 1000 fail") {
		t.Errorf("exit code %d\n%s", got.code, got.err)
	}
	if !strings.Contains(got.err, "scan  10000/10000  100%") || strings.ContainsAny(got.err, "\r[") {
		t.Errorf("progress:\n%s", got.err)
	}
}
