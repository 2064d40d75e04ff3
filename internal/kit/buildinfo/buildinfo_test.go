// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromBuild(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	tests := map[string]struct {
		build *debug.BuildInfo
		want  Info
	}{
		"nothing recorded": {
			want: Info{"devel", "unknown", "1970-01-01T00:00:00Z", fallbackLibrary, runtime.Version(), platform},
		},
		"go install of a version": {
			build: &debug.BuildInfo{
				Main: debug.Module{Version: "v0.2.0"},
				Deps: []*debug.Module{{Path: "k8s.io/api", Version: "v0.1.0"}, {Path: library, Version: "v0.36.3"}},
			},
			want: Info{"v0.2.0", "unknown", "1970-01-01T00:00:00Z", "v1.36.3", runtime.Version(), platform},
		},
		"changed work tree": {
			build: &debug.BuildInfo{
				Main: debug.Module{Version: "(devel)"},
				Settings: []debug.BuildSetting{
					{Key: "vcs.modified", Value: "true"},
					{Key: "vcs.revision", Value: "abc"},
					{Key: "vcs.time", Value: "2026-11-01T00:00:00Z"},
				},
			},
			want: Info{"devel", "abc-dirty", "2026-11-01T00:00:00Z", fallbackLibrary, runtime.Version(), platform},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, fromBuild(test.build)); diff != "" {
				t.Errorf("build information differs (-want +got):\n%s", diff)
			}
		})
	}
}
