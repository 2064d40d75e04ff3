// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"log/slog"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// Not parallel: klog's logger is global.
func TestDatabaseLogger(t *testing.T) {
	var got []string
	klog.SetLogger(funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{}))
	t.Cleanup(klog.ClearLogger)
	logger := databaseLogger().With("cluster", "east")
	logger.Debug("left out")
	logger.Info("listening", "n", 1)
	logger.Warn("lost", "error", slog.AnyValue("gone"))
	want := []string{
		`"level"=0 "msg"="listening" "cluster"="east" "n"=1`,
		`"msg"="lost" "error"=null "cluster"="east" "error"="gone"`,
	}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
}
