// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/tools/producers"
	"github.com/docket-project/docket/test/record"
)

// TestRecordings repeats what programs have said to a cluster with CustomResourceDefinitions: the
// answers are the same on every engine. How they were recorded is in the documentation of package record.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../test/record/testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			recording := testkit.Must(record.Load(file))(t)
			t.Cleanup(func() { noteRecording(t, recording) })
			for engine, database := range enginesFor(t) {
				t.Run(engine, func(t *testing.T) {
					t.Parallel()
					replayRecording(t, recording, database(t))
				})
			}
		})
	}
}

func replayRecording(t *testing.T, recording *record.Recording, databaseURL string) {
	t.Helper()
	replayer := testkit.Must(record.NewReplayer(startServer(t, databaseURL).config))(t)
	differences, err := replayer.Replay(t.Context(), recording)
	for _, difference := range differences {
		t.Error(difference)
	}
	if err != nil {
		t.Error(err)
	}
}

// noteRecording adds a line to the table of programs, where that is asked for.
func noteRecording(t *testing.T, recording *record.Recording) {
	t.Helper()
	folder, header := producers.Folder(), recording.Header
	if folder == "" || t.Failed() {
		return
	}
	var day producers.Date
	testkit.NoError(t, day.UnmarshalText([]byte(header.Recorded)))
	testkit.NoError(t, producers.Write(folder, producers.Run{
		Program: header.Program, Version: header.Version, Source: header.Source, Way: producers.Recording, Did: header.Did,
		Engines: []string{"SQLite", "PostgreSQL", "etcd"}, Date: day,
		Result: fmt.Sprintf("as with CRDs: %d requests, the same answers", len(recording.Exchanges)),
	}))
}
